//! One and three training steps of every folder of `golden/small` against what PyTorch's made of it.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use exegete_core::{Array, Example, Label};
use exegete_engine::Optimiser;
use exegete_models::train::{Reduction, Sample, Start, TrainedHead, Trainer, TrainingLoss, TrainingSettings};
use exegete_models::{LoadOptions, load};
use exegete_testkit::{Comparison, Of, golden};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const LIMIT: f64 = 1e-5;

#[derive(Deserialize)]
struct Described {
    inputs: Vec<Vec<String>>,
    labels: Vec<usize>,
}

type Recorded = BTreeMap<String, Array>;

fn recorded() -> Recorded {
    golden::tensors(&golden::root().join("../small_steps.safetensors")).unwrap()
}

fn folders() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(golden::root().join("../small")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn name(folder: &Path) -> &str {
    folder.file_name().unwrap().to_str().unwrap()
}

/// As `golden/small.py` trains: every setting is strong enough to show after a step.
fn settings(folder: &Path, recorded: &Recorded) -> TrainingSettings {
    let own = |place: &&String| place.starts_with(&format!("{}/", name(folder)));
    let attends = recorded.keys().filter(own).any(|place| place.contains("attention."));
    TrainingSettings {
        optimiser: Optimiser::adam(true),
        rate: 0.01,
        decay: 0.1,
        decay_attention: if attends { 0.05 } else { 0.0 },
        clip: Some(1.0),
        head_norm: (name(folder) == "kim").then_some(0.5),
        reduction: Reduction::Sum,
        dropout: Some(0.0),
        threads: 2,
        ..TrainingSettings::default()
    }
}

fn samples(folder: &Path, trainer: &Trainer) -> Vec<Sample> {
    let text = std::fs::read_to_string(folder.join("golden.json")).unwrap();
    let Described { inputs, labels } = serde_json::from_str(&text).unwrap();
    let example = |texts: &Vec<String>| match &texts[..] {
        [text] => Example::text(text),
        [first, second] => Example::pair(first, second),
        _ => panic!("{texts:?}"),
    };
    let sample = |(texts, label)| trainer.sample(&example(texts), Label::Class(label)).unwrap();
    inputs.iter().zip(labels).map(sample).collect()
}

/// What three steps differ by from the recorded ones: the loss before each, all parameters after the first and the last.
fn differences(folder: &Path, recorded: &Recorded, settings: TrainingSettings) -> Comparison {
    let model = load(folder, &LoadOptions::default()).unwrap();
    let head = TrainedHead { task: model.card().task, labels: model.card().labels.clone() };
    let start = Start::Folder(folder.to_owned());
    let mut trainer = Trainer::new(&start, &head, settings, TrainingLoss::default()).unwrap();
    let samples = samples(folder, &trainer);
    let batch: Vec<&Sample> = samples.iter().collect();
    let (mut comparison, mut losses, mut compared) = (Comparison::default(), Vec::new(), 0);
    for step in [1, 2, 3] {
        losses.push(trainer.step(&batch, &vec![0; batch.len()], 1.0).unwrap().loss as f32);
        let learner = trainer.model().learner().unwrap();
        for (parameter, _) in learner.parameters().iter().filter(|_| step != 2) {
            let place = format!("{}/after{step}/{parameter}", name(folder));
            let found = learner.parameter(parameter).unwrap();
            comparison.compare(&place, &found, &recorded[&place], Of::Each(1.0));
            compared += 1;
        }
    }
    let place = format!("{}/losses", name(folder));
    comparison.compare(&place, &Array::new([3], losses).unwrap(), &recorded[&place], Of::Each(1.0));
    let own = recorded.keys().filter(|place| place.starts_with(&format!("{}/", name(folder)))).count();
    assert_eq!(compared + 1, own, "{}", name(folder));
    comparison
}

#[test]
fn one_and_three_steps_of_every_kind_are_pytorchs() {
    let (recorded, folders) = (recorded(), folders());
    assert_eq!(folders.len(), 27);
    for folder in folders {
        differences(&folder, &recorded, settings(&folder, &recorded)).assert_within(LIMIT);
    }
}

/// One NaN in one parameter after a step, or in a loss.
#[test]
fn a_planted_nan_is_noticed() {
    let recorded = recorded();
    let folder = folders().into_iter().find(|folder| name(folder) == "lstm-additive").unwrap();
    let own = |place: &&String| place.starts_with("lstm-additive/");
    for place in recorded.keys().filter(own).step_by(5).chain(["lstm-additive/losses".to_owned()].iter()) {
        let mut spoilt = recorded.clone();
        *spoilt.get_mut(place).unwrap().data.last_mut().unwrap() = f32::NAN;
        let found = differences(&folder, &spoilt, settings(&folder, &recorded));
        assert!(found.check(f64::MAX).is_err(), "{place}");
    }
}

/// Each of these must show in every kind that it is about.
#[test]
fn a_wrong_step_shows() {
    let recorded = recorded();
    for folder in folders() {
        let right = settings(&folder, &recorded);
        let (attends, kim) = (right.decay_attention != 0.0, right.head_norm.is_some());
        let wrong = [
            (true, TrainingSettings { rate: 0.0102, ..right.clone() }),
            (true, TrainingSettings { decay: 0.102, ..right.clone() }),
            (attends, TrainingSettings { decay_attention: 0.1, ..right.clone() }),
            // Gradients of some kinds are shorter than the limit, but none is as short as this one.
            (true, TrainingSettings { clip: Some(0.001), ..right.clone() }),
            (kim, TrainingSettings { head_norm: None, ..right.clone() }),
            (true, TrainingSettings { optimiser: Optimiser::ADAM_W, ..right }),
        ];
        for (at, (_, wrong)) in wrong.into_iter().enumerate().filter(|(_, (about, _))| *about) {
            let seen = differences(&folder, &recorded, wrong).check(LIMIT).is_err();
            assert!(seen, "{}: wrong setting {at} was not noticed", name(&folder));
        }
    }
}
