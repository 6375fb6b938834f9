//! Training against PyTorch's optimisers, and what every run must keep: its seed, its place, its names.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use exegete_core::{Array, Example, Label, Learner, Model, Site, Task, Token, task};
use exegete_engine::{Context, Op, ParamGrad, Tensor, Unary, Update};
use exegete_models::loss::{Forward, supervised};
use exegete_models::train::*;
use exegete_models::{LoadOptions, load};
use exegete_testkit::golden::{self, Labelled, Training};
use exegete_testkit::{Comparison, Of, check, close};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

mod goals;
mod runs;
mod starts;
mod steps;

fn plain() -> TrainingSettings {
    TrainingSettings { dropout: Some(0.0), clip: None, threads: 2, ..TrainingSettings::default() }
}

fn folder(name: &str) -> PathBuf {
    golden::root().join(name)
}

fn trainer(start: Start, settings: TrainingSettings) -> Trainer {
    let labels = ["negative", "neutral", "positive"].map(str::to_owned).to_vec();
    Trainer::new(
        &start,
        &TrainedHead { task: &task::CLASSIFICATION, labels },
        settings,
        TrainingLoss::default(),
    )
    .unwrap()
}

fn samples(trainer: &Trainer, rows: &[Labelled]) -> Vec<Sample> {
    let sample = |row: &Labelled| trainer.sample(&Example::text(&row.text), Label::Class(row.label)).unwrap();
    rows.iter().map(sample).collect()
}

fn learner(trainer: &Trainer) -> &dyn Learner {
    trainer.model().learner().unwrap()
}

fn weights(trainer: &Trainer) -> Vec<(String, Array)> {
    let learner = learner(trainer);
    learner
        .parameters()
        .into_iter()
        .map(|(name, _)| (name.clone(), learner.parameter(&name).unwrap()))
        .collect()
}

/// Steps with a constant rate; the losses before each, and the trainer after.
fn steps(case: &Training, settings: TrainingSettings, count: usize) -> (Vec<TrainingStep>, Trainer) {
    let mut trainer = trainer(Start::Folder(folder(&case.folder)), settings);
    let mut done = Vec::new();
    for batch in &case.batches[..count] {
        let batch = samples(&trainer, batch);
        let batch: Vec<&Sample> = batch.iter().collect();
        done.push(trainer.step(&batch, &vec![0; batch.len()], 1.0).unwrap());
    }
    (done, trainer)
}

/// What all parameters differ by from the recorded ones.
fn differences(case: &Training, stage: &str, weights: &[(String, Array)], skip: &[String]) -> Comparison {
    let mut comparison = Comparison::default();
    for (name, value) in weights.iter().filter(|(name, _)| !skip.contains(name)) {
        let place = format!("{stage} of {}, {name}", case.folder);
        let expected = &case.values[&format!("{stage}/after/{name}")];
        comparison.compare(&place, value, expected, Of::Each(1.0));
    }
    comparison
}

/// `docs/accuracy.md` says 1e-5, of parameters and so of what they are made from.
const LIMIT: f64 = 1e-5;

/// Sentences whose class is the one word they hold of three.
fn separable(count: usize) -> Vec<Labelled> {
    let (words, marks) = (["the film", "a plot", "music", "it was", "and"], ["slow", "warm", "honest"]);
    let row = |i: usize| {
        let label = i % 3;
        let text = format!("{} {} {}", words[i / 3 % 5], marks[label], words[i / 15 % 5]);
        Labelled { text, label }
    };
    (0..count).map(row).collect()
}

fn tiny(epochs: usize) -> TrainingSettings {
    TrainingSettings { epochs, batch: 8, rate: 3e-3, threads: 2, ..TrainingSettings::default() }
}

fn run(
    settings: TrainingSettings,
    train: &[Labelled],
    dev: &[Labelled],
    output: &Path,
) -> (Trainer, Vec<Epoch>) {
    run_from(Start::Scratch(folder("bert-sequence")), settings, train, dev, output)
}

fn run_from(
    start: Start,
    settings: TrainingSettings,
    train: &[Labelled],
    dev: &[Labelled],
    output: &Path,
) -> (Trainer, Vec<Epoch>) {
    let mut trainer = trainer(start, settings);
    let data = Data { train: samples(&trainer, train), dev: samples(&trainer, dev) };
    let run = TrainingRun { output, save_every: 3, metric: Metric::Accuracy, stop: Arc::default() };
    let epochs = fit(&mut trainer, &data, &run, &mut |_| Ok(())).unwrap();
    (trainer, epochs)
}
