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

#[test]
fn a_planted_nan_another_length_and_nothing_are_failures() {
    let case = &golden::training().unwrap()[0];
    let right = weights(&steps(case, plain(), 1).1);
    let right: Vec<(String, Array)> = right
        .iter()
        .map(|(name, _)| (name.clone(), case.values[&format!("one/after/{name}")].clone()))
        .collect();
    let red = |weights: &[(String, Array)]| differences(case, "one", weights, &[]).check(LIMIT).is_err();
    let last = right.len() - 1;
    let with = |value: Array| {
        let mut weights = right.clone();
        weights[last].1 = value;
        weights
    };
    let shape = &right[last].1.shape;
    assert!(!red(&right) && red(&[]));
    assert!(red(&with(Array::full(shape.clone(), f32::NAN))));
    assert!(red(&with(Array::zeros([0]))) && red(&with(Array::zeros([right[last].1.len() + 1]))));
}

#[test]
fn one_step_is_pytorchs() {
    let cases = golden::training().unwrap();
    assert_eq!(cases.len(), 3);
    for case in &cases {
        let settings = TrainingSettings { rate: case.adamw.rate, decay: case.adamw.decay, ..plain() };
        let trainer = trainer(Start::Folder(folder(&case.folder)), settings.clone());
        let batch = samples(&trainer, &case.batches[0]);
        let batch: Vec<&Sample> = batch.iter().collect();
        let (_, gradients) = trainer.gradient(&batch, &[0; 4]).unwrap();
        let mut comparison = Comparison::default();
        for ((name, shape), gradient) in learner(&trainer).parameters().iter().zip(&gradients) {
            let found = Array::new(shape.clone(), gradient.to_vec()).unwrap();
            comparison.compare(name, &found, &case.values[&format!("one/gradient/{name}")], Of::Each(1.0));
        }
        println!("{}: gradients {:?}", case.folder, comparison.worst());
        comparison.assert_within(LIMIT);
        let (done, after) = steps(case, settings, 1);
        let losses: Vec<f64> = done.iter().map(|step| step.loss).collect();
        close("loss", &losses, &case.values["one/loss"].data, Of::Size(1.0), LIMIT);
        let after = differences(case, "one", &weights(&after), &case.skip);
        println!("{}: after one step {:?}", case.folder, after.worst());
        after.assert_within(LIMIT);
    }
}

#[test]
fn three_steps_with_clipping_and_decay_are_pytorchs() {
    for case in &golden::training().unwrap() {
        let golden::AdamW { rate, decay, clip } = case.adamw;
        let right = TrainingSettings { rate, decay, clip: Some(clip), ..plain() };
        let (done, after) = steps(case, right.clone(), 3);
        let losses: Vec<f64> = done.iter().map(|step| step.loss).collect();
        let norms: Vec<f64> = done.iter().map(|step| step.norm).collect();
        close("losses", &losses, &case.values["three/losses"].data, Of::Size(1.0), LIMIT);
        close("norms", &norms, &case.values["three/norms"].data, Of::Each(1.0), LIMIT);
        let after = differences(case, "three", &weights(&after), &case.skip);
        println!("{}: after three steps {:?}", case.folder, after.worst());
        after.assert_within(LIMIT);
        // Each of these must show.
        for wrong in [
            TrainingSettings { decay: 0.02, ..right.clone() },
            TrainingSettings { rate: 1.02 * rate, ..right.clone() },
            TrainingSettings { clip: None, ..right },
        ] {
            let after = weights(&steps(case, wrong, 3).1);
            differences(case, "three", &after, &case.skip).assert_beyond(LIMIT);
        }
        let sgd = TrainingSettings {
            rate: case.sgd.rate,
            decay: case.sgd.decay,
            optimiser: Optimiser::Sgd { momentum: case.sgd.momentum },
            ..plain()
        };
        let after = differences(case, "sgd", &weights(&steps(case, sgd, 3).1), &[]);
        println!("{}: after three steps of SGD {:?}", case.folder, after.worst());
        after.assert_within(LIMIT);
    }
}

/// Three steps of an optimiser from the recorded start, along the recorded gradients.
fn recorded_steps(file: &Value, optimiser: Optimiser, decay: f64) -> Vec<f64> {
    let numbers = |value: &Value| serde_json::from_value::<Vec<f64>>(value.clone()).unwrap();
    let ctx = Context::<f64>::new(1);
    let start = numbers(&file["start"]);
    let mut moments = optimiser.moments(start.len());
    let mut value = Tensor::new(1, start.len(), start);
    let mut after = Vec::new();
    for (step, gradient) in (1..).zip(file["gradients"].as_array().unwrap()) {
        let gradient = ParamGrad::Dense(Tensor::new(1, value.cols(), numbers(gradient)));
        let update = Update { rate: file["rate"].as_f64().unwrap(), decay, scale: 1.0, step };
        value = optimiser.step(&ctx, &update, (&value, &gradient), &mut moments);
        after.extend_from_slice(value.data());
    }
    after
}

#[test]
fn three_steps_of_every_optimiser_are_pytorchs() {
    let text = std::fs::read_to_string(golden::root().join("../optimisers.json")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    let cases = file["cases"].as_array().unwrap();
    let optimiser = |case: &Value| match case["optimiser"].as_str().unwrap() {
        "sgd" => Optimiser::Sgd { momentum: case["momentum"].as_f64().unwrap() },
        "adamw" => Optimiser::ADAM_W,
        _ => Optimiser::adam(case["amsgrad"] == true),
    };
    let mut same = 0;
    for case in cases {
        let decay = case["decay"].as_f64().unwrap();
        let expected: Vec<Vec<f64>> = serde_json::from_value(case["after"].clone()).unwrap();
        let expected = expected.concat();
        let found = recorded_steps(&file, optimiser(case), decay);
        close(&case.to_string(), &found, &expected, Of::Size(1.0), 1e-12);
        // No other rule of the list passes for this one.
        let passes = |other: &&Value| {
            let found = recorded_steps(&file, optimiser(other), decay);
            check("another rule", &found, &expected, Of::Size(1.0), 1e-12).is_ok()
        };
        same += cases.iter().filter(passes).count();
    }
    // Each passes for itself under both decays; without decay, AdamW and Adam are one.
    assert_eq!((cases.len(), same), (7, 1 + 4 + 2 + 4 + 2 + 2 + 2));
}

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

#[test]
fn a_separable_toy_is_learned_and_shuffled_labels_are_not() {
    let output = tempfile::tempdir().unwrap();
    let rows = separable(75);
    let (train, dev) = rows.split_at(60);
    // NaN counts as the largest, and is not 1.
    let best =
        |epochs: &[Epoch]| epochs.iter().filter_map(|e| e.dev?.accuracy).map(f64::abs).max_by(f64::total_cmp);
    // The golden weights are large and random, which spares the toy the plateaus of a start near zero.
    let start = || Start::Folder(folder("bert-sequence"));
    for seed in 0..5 {
        let settings = TrainingSettings { seed, ..tiny(20) };
        let (_, learned) = run_from(start(), settings, train, dev, output.path());
        assert_eq!(best(&learned), Some(1.0), "seed {seed}: {learned:?}");
    }
    let shuffled: Vec<Labelled> = train
        .iter()
        .enumerate()
        // Every word gets every class equally often: nothing is left to learn.
        .map(|(i, row)| Labelled { text: row.text.clone(), label: (row.label + i / 3) % 3 })
        .collect();
    let (_, epochs) = run_from(start(), tiny(20), &shuffled, dev, output.path());
    assert!(epochs.last().unwrap().dev.unwrap().accuracy.unwrap() < 0.7, "{epochs:?}");
}

#[test]
fn a_seed_gives_the_same_weights_twice_and_another_does_not() {
    let output = tempfile::tempdir().unwrap();
    let rows = separable(30);
    let weights = |seed| weights(&run(TrainingSettings { seed, ..tiny(2) }, &rows, &[], output.path()).0);
    let (one, again, other) = (weights(1), weights(1), weights(2));
    assert!(one == again, "the same seed gave other weights");
    assert!(one != other, "another seed gave the same weights");
}

/// A run that stops between two saved states and is taken up again, at every place where it could stop.
#[test]
fn an_interrupted_run_reaches_the_same_weights() {
    let rows = separable(30);
    let whole = tempfile::tempdir().unwrap();
    let (expected, epochs) = run(tiny(2), &rows, &rows, whole.path());
    for stop_after in 1..8 {
        let folder_ = tempfile::tempdir().unwrap();
        let place = TrainingRun {
            output: folder_.path(),
            save_every: 3,
            metric: Metric::Accuracy,
            stop: Arc::default(),
        };
        let mut trainer = trainer(Start::Scratch(folder("bert-sequence")), tiny(2));
        let data = Data { train: samples(&trainer, &rows), dev: samples(&trainer, &rows) };
        let stopped = fit(&mut trainer, &data, &place, &mut |event| match event {
            Event::Step { done, .. } if *done == stop_after => {
                Err(exegete_core::Error::Request("stop".into()))
            }
            _ => Ok(()),
        });
        assert!(stopped.is_err());
        let (resumed, again) = run(tiny(2), &rows, &rows, folder_.path());
        assert!(weights(&expected) == weights(&resumed), "stopped after {stop_after} steps");
        assert_eq!(epochs.len(), again.len());
        assert_eq!(epochs.last().unwrap().dev, again.last().unwrap().dev);
        assert!(!folder_.path().join("training_state.safetensors").exists());
        let read = |dir: &Path| std::fs::read(dir.join("model.safetensors")).unwrap();
        assert!(read(whole.path()) == read(folder_.path()), "the saved models differ");
    }
}

/// The largest second moments and the halved rate are part of the state.
#[test]
fn an_interrupted_run_with_amsgrad_and_a_halved_rate_reaches_the_same_weights() {
    let rows = separable(30);
    let settings = || TrainingSettings {
        optimiser: Optimiser::adam(true),
        schedule: Schedule::Halve,
        class_weights: vec![1.0, 0.5, 2.0],
        keep: Keep::Last,
        ..tiny(4)
    };
    let whole = tempfile::tempdir().unwrap();
    let (expected, _) = run(settings(), &rows, &rows, whole.path());
    for stop_after in [2, 7, 14] {
        let output = tempfile::tempdir().unwrap();
        let place = TrainingRun {
            output: output.path(),
            save_every: 3,
            metric: Metric::Accuracy,
            stop: Arc::default(),
        };
        let mut begun = trainer(Start::Scratch(folder("bert-sequence")), settings());
        let data = Data { train: samples(&begun, &rows), dev: samples(&begun, &rows) };
        fit(&mut begun, &data, &place, &mut |event| match event {
            Event::Step { done, .. } if *done == stop_after => {
                Err(exegete_core::Error::Request("stop".into()))
            }
            _ => Ok(()),
        })
        .unwrap_err();
        let (resumed, _) = run(settings(), &rows, &rows, output.path());
        assert!(weights(&expected) == weights(&resumed), "stopped after {stop_after} steps");
    }
    // Without the maximum, the halving or the weights the same run ends elsewhere.
    for other in [
        TrainingSettings { optimiser: Optimiser::adam(false), ..settings() },
        TrainingSettings { schedule: Schedule::Constant, ..settings() },
        TrainingSettings { class_weights: Vec::new(), ..settings() },
    ] {
        let output = tempfile::tempdir().unwrap();
        assert!(weights(&expected) != weights(&run(other, &rows, &rows, output.path()).0));
    }
}

/// The loss of a row is multiplied by the weight of its class, and patience ends a run that gains nothing.
#[test]
fn class_weights_weigh_rows_and_patience_ends_a_run() {
    let rows = separable(3);
    let losses = |class_weights: Vec<f64>| {
        let trainer =
            trainer(Start::Folder(folder("bert-sequence")), TrainingSettings { class_weights, ..plain() });
        let batch = samples(&trainer, &rows);
        trainer.gradient(&batch.iter().collect::<Vec<_>>(), &[0; 3]).unwrap().0
    };
    let bare = losses(Vec::new());
    let expected: Vec<f64> = bare.iter().zip([1.0, 1.5, 0.25]).map(|(loss, weight)| loss * weight).collect();
    close("weighted losses", &losses(vec![1.0, 1.5, 0.25]), &expected, Of::Size(1.0), 1e-6);
    let output = tempfile::tempdir().unwrap();
    let still = TrainingSettings { rate: 1e-30, patience: Some(2), ..tiny(9) };
    let (_, epochs) = run(still, &separable(9), &rows, output.path());
    assert_eq!(epochs.len(), 3, "the first is the best, two bring nothing");
}

/// A sum over B rows is B times their mean, and so is its gradient; what is told stays the mean.
#[test]
fn a_summed_loss_has_the_summed_gradient() {
    let rows = separable(6);
    let of = |reduction| {
        let start = Start::Folder(folder("bert-sequence"));
        let trainer = trainer(start, TrainingSettings { reduction, ..plain() });
        let batch = samples(&trainer, &rows);
        let (losses, gradients) = trainer.gradient(&batch.iter().collect::<Vec<_>>(), &[0; 6]).unwrap();
        (losses, gradients.iter().flat_map(|gradient| gradient.to_vec()).collect::<Vec<f32>>())
    };
    let (mean, sum) = (of(Reduction::Mean), of(Reduction::Sum));
    let scaled: Vec<f32> = mean.1.iter().map(|slope| 6.0 * slope).collect();
    close("gradient", &sum.1, &scaled, Of::Size(1.0), LIMIT);
    close("losses", &sum.0, &mean.0, Of::Size(1.0), LIMIT);
    assert!(check("the mean's", &sum.1, &mean.1, Of::Size(1.0), LIMIT).is_err());
}

/// The rows of the head are held at their length after each step, and nothing else is.
#[test]
fn the_rows_of_the_head_can_be_kept_short() {
    let after = |head_norm| {
        let start = Start::Folder(folder("bert-sequence"));
        let mut trainer = trainer(start, TrainingSettings { head_norm, ..plain() });
        let batch = samples(&trainer, &separable(6));
        trainer.step(&batch.iter().collect::<Vec<_>>(), &[0; 6], 1.0).unwrap();
        weights(&trainer)
    };
    let (free, held) = (after(None), after(Some(0.01)));
    let lengths = |weights: &[(String, Array)]| {
        let (_, head) = weights.iter().find(|(name, _)| name == "classifier.weight").unwrap();
        let length = |row: &[f32]| row.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        head.data.chunks(head.shape[1]).map(length).collect::<Vec<f64>>()
    };
    assert!(lengths(&free).iter().all(|&length| length > 0.02), "{:?}", lengths(&free));
    close("lengths", &lengths(&held), &[0.01; 3], Of::Size(1.0), 1e-6);
    let changed: Vec<&str> = free
        .iter()
        .zip(&held)
        .filter_map(|(free, held)| (free.1 != held.1).then_some(free.0.as_str()))
        .collect();
    assert!(changed.contains(&"classifier.weight"));
    assert!(changed.iter().all(|name| name.contains("classifier") || name.contains("pooler")), "{changed:?}");
}

/// The best epoch or the last: where nothing gets better after the first, they are two models.
#[test]
fn the_best_or_the_last_epoch_is_written() {
    // Each dev row stands there with every class, so that the first epoch's accuracy is never exceeded.
    let dev: Vec<Labelled> =
        (0..3).flat_map(|label| separable(3).into_iter().map(move |row| Labelled { label, ..row })).collect();
    for (keep, kept) in [(Keep::Best, [true, false, false]), (Keep::Last, [true; 3])] {
        let output = tempfile::tempdir().unwrap();
        let settings = TrainingSettings { keep, bucketed: true, ..tiny(3) };
        let (trainer, epochs) = run(settings, &separable(30), &dev, output.path());
        assert_eq!(epochs.iter().map(|epoch| epoch.kept).collect::<Vec<_>>(), kept, "{keep:?}");
        let written = load(output.path(), &LoadOptions::default()).unwrap();
        let text = [Example::text("the film was slow")];
        let same = written.predict(&text).unwrap() == trainer.model().predict(&text).unwrap();
        assert_eq!(same, keep == Keep::Last, "{keep:?}");
    }
}

/// What only the rows show is refused before the first step.
#[test]
fn rows_that_cannot_be_measured_as_asked_are_refused() {
    let told = |settings: TrainingSettings, metric: Metric, dev: &[Labelled]| {
        let output = tempfile::tempdir().unwrap();
        let mut trainer = trainer(Start::Scratch(folder("bert-sequence")), settings);
        let data = Data { train: samples(&trainer, &separable(9)), dev: samples(&trainer, dev) };
        let run = TrainingRun { output: output.path(), save_every: 0, metric, stop: Arc::default() };
        fit(&mut trainer, &data, &run, &mut |_| Ok(())).map_err(|error| error.to_string())
    };
    let patient = TrainingSettings { patience: Some(1), ..tiny(1) };
    let halved = TrainingSettings { schedule: Schedule::Halve, ..tiny(1) };
    for settings in [patient, halved] {
        let error = told(settings, Metric::Accuracy, &[]).unwrap_err();
        assert!(error.contains("give a dev file"), "{error}");
    }
    let first = TrainingSettings { positive: Some(0), ..tiny(1) };
    assert!(told(tiny(1), Metric::Auc, &separable(2)).unwrap_err().contains("area under the curve"));
    assert!(told(first, Metric::Auc, &separable(2)).is_ok());
    assert!(told(tiny(1), Metric::Auc, &separable(3)).is_ok());
}

/// A run that is told to stop keeps every step, also those since the last saved state.
#[test]
fn a_stopped_run_loses_no_step() {
    let rows = separable(30);
    let whole = tempfile::tempdir().unwrap();
    let (expected, _) = run(tiny(2), &rows, &rows, whole.path());
    let data = |trainer: &Trainer| Data { train: samples(trainer, &rows), dev: samples(trainer, &rows) };
    for stop_after in 1..8 {
        let output = tempfile::tempdir().unwrap();
        let place = || TrainingRun {
            output: output.path(),
            save_every: 0,
            metric: Metric::Accuracy,
            stop: Arc::default(),
        };
        let (first, stop) = (place(), place().stop);
        let first = TrainingRun { stop: stop.clone(), ..first };
        let mut begun = trainer(Start::Scratch(folder("bert-sequence")), tiny(2));
        let own = data(&begun);
        let stopped = fit(&mut begun, &own, &first, &mut |event| {
            stop.fetch_or(
                matches!(event, Event::Step { done, .. } if *done == stop_after),
                Ordering::Relaxed,
            );
            Ok(())
        });
        assert_eq!(stopped, Err(exegete_core::Error::Stopped));
        assert!(!output.path().join("training.lock").exists());
        let (mut resumed, mut steps) = (trainer(Start::Scratch(folder("bert-sequence")), tiny(2)), None);
        let own = data(&resumed);
        fit(&mut resumed, &own, &place(), &mut |event| {
            if let Event::Resumed { steps: taken, .. } = event {
                steps = Some(*taken);
            }
            Ok(())
        })
        .unwrap();
        assert_eq!(steps, Some(stop_after));
        assert!(weights(&expected) == weights(&resumed), "stopped after {stop_after} steps");
    }
}

#[test]
fn a_folder_takes_one_run_at_a_time() {
    let (output, rows) = (tempfile::tempdir().unwrap(), separable(30));
    let place =
        TrainingRun { output: output.path(), save_every: 0, metric: Metric::Accuracy, stop: Arc::default() };
    let new = || trainer(Start::Scratch(folder("bert-sequence")), tiny(1));
    let data = Data { train: samples(&new(), &rows), dev: Vec::new() };
    let mut refused = 0;
    fit(&mut new(), &data, &place, &mut |event| {
        if matches!(event, Event::Step { .. }) {
            let error = fit(&mut new(), &data, &place, &mut |_| Ok(())).unwrap_err().to_string();
            assert!(error.contains("another run is training into this folder"), "{error}");
            refused += 1;
        }
        Ok(())
    })
    .unwrap();
    assert!(refused > 0);
    assert!(!output.path().join("training.lock").exists());
    assert!(fit(&mut new(), &data, &place, &mut |_| Ok(())).is_ok(), "the first is over");
}

#[test]
fn a_state_of_another_run_is_refused() {
    let output = tempfile::tempdir().unwrap();
    let rows = separable(30);
    let place =
        TrainingRun { output: output.path(), save_every: 1, metric: Metric::Accuracy, stop: Arc::default() };
    let mut first = trainer(Start::Scratch(folder("bert-sequence")), tiny(2));
    let data = Data { train: samples(&first, &rows), dev: Vec::new() };
    fit(&mut first, &data, &place, &mut |event| match event {
        Event::Step { done: 2, .. } => Err(exegete_core::Error::Request("stop".into())),
        _ => Ok(()),
    })
    .unwrap_err();
    for other in [TrainingSettings { seed: 9, ..tiny(2) }, TrainingSettings { rate: 1e-3, ..tiny(2) }] {
        let mut second = trainer(Start::Scratch(folder("bert-sequence")), other);
        let error = fit(&mut second, &data, &place, &mut |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains("a difference in: settings"), "{error}");
    }
    let changes: [fn(&mut Token); 3] =
        [|token| token.weight = Some(0.5), |token| token.type_id += 1, |token| token.id += 1];
    for change in changes {
        let mut second = trainer(Start::Scratch(folder("bert-sequence")), tiny(2));
        let mut data = Data { train: samples(&second, &rows), dev: Vec::new() };
        change(&mut Arc::make_mut(&mut data.train[3].row.encoded).tokens[1]);
        let error = fit(&mut second, &data, &place, &mut |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains("a difference in: training rows;"), "{error}");
    }
    std::fs::write(output.path().join("training_state.safetensors"), b"rubbish").unwrap();
    let mut second = trainer(Start::Scratch(folder("bert-sequence")), tiny(2));
    let error = fit(&mut second, &data, &place, &mut |_| Ok(())).unwrap_err().to_string();
    assert!(error.contains("training_state.safetensors"), "{error}");
}

/// The written folder is the model, under the names that transformers gives to a classifier of the family.
#[test]
fn every_family_trains_from_a_bare_encoder_and_is_written_under_the_right_names() {
    for family in ["bert", "roberta", "xlm-roberta", "distilbert", "electra", "albert"] {
        let output = tempfile::tempdir().unwrap();
        let mut trainer = trainer(Start::Folder(folder(&format!("{family}-bare"))), tiny(1));
        assert!(
            !trainer.fresh().is_empty()
                && trainer
                    .fresh()
                    .iter()
                    .all(|name| { name.contains("classifier") || name.contains("pooler") }),
            "{family}: {:?}",
            trainer.fresh()
        );
        let data = Data { train: samples(&trainer, &separable(9)), dev: Vec::new() };
        let place =
            TrainingRun { output: output.path(), save_every: 0, metric: Metric::Loss, stop: Arc::default() };
        fit(&mut trainer, &data, &place, &mut |_| Ok(())).unwrap();
        let written = load(output.path(), &LoadOptions::default()).unwrap();
        assert_eq!(written.card().warnings, Vec::<String>::new(), "{family}");
        let names = |model: &dyn Model| model.learner().unwrap().parameters();
        let golden = load(&folder(&format!("{family}-sequence")), &LoadOptions::default()).unwrap();
        assert_eq!(names(&*written), names(&*golden), "{family}");
        let text = [Example::text("the film was slow")];
        assert_eq!(written.predict(&text).unwrap(), trainer.model().predict(&text).unwrap(), "{family}");
    }
}

#[test]
fn a_head_of_another_size_starts_anew_and_one_that_fits_is_kept() {
    let start = || Start::Folder(folder("bert-sequence"));
    assert!(trainer(start(), plain()).fresh().is_empty());
    let head = TrainedHead { task: &task::CLASSIFICATION, labels: vec!["no".into(), "yes".into()] };
    let two = Trainer::new(&start(), &head, plain(), TrainingLoss::default()).unwrap();
    assert_eq!(two.fresh(), ["classifier.weight", "classifier.bias"]);
    let number = TrainedHead { task: &task::REGRESSION, labels: vec!["value".into()] };
    let number = Trainer::new(&start(), &number, plain(), TrainingLoss::default()).unwrap();
    assert_eq!(number.model().card().task.name(), "regression");
    let tags = TrainedHead { task: &task::TOKEN_CLASSIFICATION, labels: vec!["x".into()] };
    assert!(Trainer::new(&start(), &tags, plain(), TrainingLoss::default()).is_err());
}

/// Each loss falls, and its gradient is the slope of the loss.
#[test]
fn every_loss_can_be_trained() {
    type Make = fn(usize) -> Label;
    let cases: [(&'static dyn Task, &[&str], Make); 4] = [
        (&task::CLASSIFICATION, &["a", "b", "c"], |class| Label::Class(class)),
        (&task::CLASSIFICATION, &["a", "b", "c"], |class| {
            let share = |i| if i == class { 0.8 } else { 0.1 };
            Label::Soft((0..3).map(share).collect())
        }),
        (&task::MULTI_LABEL, &["a", "b", "c"], |class| {
            Label::Labels((0..3).map(|i| f32::from(u8::from(i != class))).collect())
        }),
        (&task::REGRESSION, &["value"], |class| Label::Value(class as f32)),
    ];
    for (task, labels, make) in cases {
        let head = TrainedHead { task, labels: labels.iter().map(|&l| l.to_owned()).collect() };
        let start = Start::Folder(folder("bert-bare"));
        let mut trainer =
            Trainer::new(&start, &head, TrainingSettings { rate: 1e-3, ..plain() }, TrainingLoss::default())
                .unwrap();
        let rows = separable(12);
        let sample = |row: &Labelled| trainer.sample(&Example::text(&row.text), make(row.label)).unwrap();
        let rows: Vec<Sample> = rows.iter().map(sample).collect();
        let batch: Vec<&Sample> = rows.iter().collect();
        let losses: Vec<f64> = (0..8).map(|_| trainer.step(&batch, &[0; 12], 1.0).unwrap().loss).collect();
        assert!(losses[7] < losses[0], "{task:?}: {losses:?}");
        let measured = evaluate(trainer.model(), &rows, 1 << 30).unwrap();
        let next = trainer.gradient(&batch, &[0; 12]).unwrap().0;
        let mean = next.iter().sum::<f64>() / 12.0;
        close(&format!("{task:?}"), &[measured.loss], &[mean], Of::Size(1.0), LIMIT);
    }
}

/// Cross-entropy and a term on the attention, written by the caller: weight·Σ p² over the row's own heads and tokens,
/// which is large where attention is sharp.
fn sharpened(probs: Site, weight: f32) -> TrainingLoss {
    let losses = move |forward: &mut Forward<'_, f32>| {
        let losses = supervised(forward)?;
        let attention = forward.value(probs)?; // ragged: [1, Σ N·T²], one row after another
        let squares = forward.tape.apply(Op::Unary(Unary::Square), [attention]);
        let pairs: Vec<usize> = forward.rows.iter().map(|row| row.encoded.len().pow(2)).collect();
        let (batch, all) = (pairs.len(), squares.value.cols());
        let heads = all / pairs.iter().sum::<usize>();
        // A row's elements have its weight in its own line, and everyone else's have none.
        let mut own = vec![0.0; batch * all];
        let mut start = 0;
        for (row, pairs) in pairs.iter().enumerate() {
            own[row * all + start..][..heads * pairs].fill(weight);
            start += heads * pairs;
        }
        let own = Tensor::new(batch, all, own);
        let penalties = forward.tape.apply(Op::Linear, [own.into(), squares]); // [B, 1]
        Ok(forward.tape.apply(Op::Add, [losses, penalties]))
    };
    TrainingLoss { name: format!("sharpness {weight}"), reads: vec![probs], losses: Box::new(losses) }
}

fn extended(goal: TrainingLoss, settings: TrainingSettings) -> Trainer {
    let head =
        TrainedHead { task: &task::CLASSIFICATION, labels: ["a", "b", "c"].map(str::to_owned).to_vec() };
    Trainer::new(&Start::Folder(folder("bert-sequence")), &head, settings, goal).unwrap()
}

/// A term written by the caller is trained like the loss itself.
#[test]
fn an_objective_can_be_extended() {
    let probs: Site = "layer.0.attn.probs".parse().unwrap();
    let sharpness = |weight: f32| {
        let mut trainer = extended(sharpened(probs, weight), TrainingSettings { rate: 3e-3, ..plain() });
        let rows = samples(&trainer, &separable(6));
        let batch: Vec<&Sample> = rows.iter().collect();
        let losses = trainer.gradient(&batch, &[0; 6]).unwrap().0;
        for _ in 0..10 {
            trainer.step(&batch, &[0; 6], 1.0).unwrap();
        }
        let open = trainer.model().open().unwrap();
        let pass =
            open.forward(std::slice::from_ref(&rows[0].row), &exegete_core::Plan::keep([probs])).unwrap();
        (losses, pass.value(probs, 0).unwrap().data.iter().map(|p| p * p).sum::<f32>())
    };
    let (plain, penalised, rewarded) = (sharpness(0.0), sharpness(1.0), sharpness(-1.0));
    assert!(plain.0.len() == 6 && penalised.0.len() == 6);
    assert!(penalised.0.iter().zip(&plain.0).all(|(with, without)| with > without), "a row has no penalty");
    assert!(penalised.1 < plain.1 && plain.1 < rewarded.1, "{penalised:?} {plain:?} {rewarded:?}");
    let unasked = TrainingLoss { reads: Vec::new(), ..sharpened(probs, 1.0) };
    let trainer = extended(unasked, self::plain());
    let rows = samples(&trainer, &separable(3));
    let error = trainer.gradient(&rows.iter().collect::<Vec<_>>(), &[0; 3]).unwrap_err().to_string();
    assert!(error.contains("layer.0.attn.probs"), "{error}");
}

/// The best epoch can be the one of the lowest goal, over rows held out or over its own steps, and a state says what it was for.
#[test]
fn the_best_epoch_is_chosen_by_the_goal_and_a_run_keeps_its_goal() {
    let probs: Site = "layer.0.attn.probs".parse().unwrap();
    // What is learned of one half is wrong of the other.
    let (rows, mut dev) = (separable(12), separable(9));
    dev.iter_mut().for_each(|row| row.label = (row.label + 1) % 3);
    let fitted = |weight: f32, metric: Metric, dev: &[Labelled], output: &Path, stop_after: usize| {
        // A rate at which losses go up and down.
        let settings = TrainingSettings { rate: 0.1, epochs: 8, batch: 4, patience: Some(8), ..plain() };
        let mut trainer = extended(sharpened(probs, weight), settings);
        let data = Data { train: samples(&trainer, &rows), dev: samples(&trainer, dev) };
        let run = TrainingRun { output, save_every: 1, metric, stop: Arc::default() };
        let epochs = fit(&mut trainer, &data, &run, &mut |event| match event {
            Event::Step { done, .. } if *done == stop_after => Err(exegete_core::Error::Stopped),
            _ => Ok(()),
        });
        let batch: Vec<&Sample> = data.dev.iter().collect();
        let losses = |batch: &[&Sample]| trainer.gradient(batch, &vec![0; batch.len()]).unwrap().0;
        epochs.map(|epochs| (epochs, if batch.is_empty() { Vec::new() } else { losses(&batch) }))
    };
    type Read = fn(&Epoch) -> f64;
    let cases: [(Metric, &[Labelled], Read); 2] = [
        (Metric::Goal, &dev, |epoch| epoch.dev.unwrap().goal.unwrap()),
        (Metric::TrainLoss, &[], |epoch| epoch.train_loss),
    ];
    for (metric, dev, read) in cases {
        let output = tempfile::tempdir().unwrap();
        let (epochs, after) = fitted(1.0, metric, dev, output.path(), usize::MAX).unwrap();
        let mut lowest = f64::INFINITY;
        for epoch in &epochs {
            assert_eq!(epoch.kept, read(epoch) < lowest, "{metric:?}: {epochs:?}");
            lowest = lowest.min(read(epoch));
        }
        assert!(epochs.iter().any(|epoch| !epoch.kept), "{metric:?}: every epoch was better");
        if metric == Metric::Goal {
            let mean = after.iter().sum::<f64>() / dev.len() as f64;
            let last = epochs.last().unwrap();
            close("goal of the dev rows", &[read(last)], &[mean], Of::Size(1.0), LIMIT);
            assert!((last.dev.unwrap().loss - mean).abs() > 1e-3, "the penalty is not in it");
        }
        let output = tempfile::tempdir().unwrap();
        assert_eq!(fitted(1.0, metric, dev, output.path(), 4).unwrap_err(), exegete_core::Error::Stopped);
        let error = fitted(2.0, metric, dev, output.path(), usize::MAX).unwrap_err().to_string();
        assert!(error.contains("a difference in: what is made small"), "{error}");
        let (again, _) = fitted(1.0, metric, dev, output.path(), usize::MAX).unwrap();
        assert_eq!(again.iter().map(read).collect::<Vec<_>>(), epochs.iter().map(read).collect::<Vec<_>>());
    }
    let error = fitted(1.0, Metric::Goal, &[], Path::new("nowhere"), 1).unwrap_err().to_string();
    assert!(error.contains("give a dev file"), "{error}");
    let error = fitted(f32::NAN, Metric::TrainLoss, &[], tempfile::tempdir().unwrap().path(), 9).unwrap_err();
    assert!(error.to_string().contains("diverged in step 1 of sharpness NaN"), "{error}");
}

/// Enough rows that three threads get a piece each: below 64 tokens a thread a batch stays whole.
const ROWS: usize = 45;

/// Losses and every parameter's gradient, of a batch that is cut as the settings say.
fn losses_and_gradients(goal: TrainingLoss, settings: TrainingSettings) -> (Vec<f64>, Vec<Vec<f32>>) {
    let trainer = extended(goal, settings);
    let rows = samples(&trainer, &separable(ROWS));
    assert!(rows.iter().map(|sample| sample.row.encoded.len()).sum::<usize>() >= 3 * 64);
    let (losses, gradients) = trainer.gradient(&rows.iter().collect::<Vec<_>>(), &[0; ROWS]).unwrap();
    (losses, gradients.iter().map(|gradient| gradient.to_vec()).collect())
}

/// What two ways of cutting one batch differ by, relative to each parameter's largest slope.
fn cuts_differ(found: &(Vec<f64>, Vec<Vec<f32>>), expected: &(Vec<f64>, Vec<Vec<f32>>)) -> Comparison {
    let mut comparison = Comparison::default();
    comparison.compare("losses", &found.0, &expected.0, Of::Each(1.0));
    assert_eq!(found.1.len(), expected.1.len());
    for (i, (found, expected)) in found.1.iter().zip(&expected.1).enumerate() {
        comparison.compare(&format!("parameter {i}"), found, expected, Of::Largest(1.0));
    }
    comparison
}

/// However a batch is cut into pieces, an objective that keeps to its rows has one gradient and one step.
#[test]
fn an_extended_objective_is_the_same_in_pieces() {
    let probs: Site = "layer.0.attn.probs".parse().unwrap();
    let goal = || sharpened(probs, 1.0);
    let cuts = [
        TrainingSettings { threads: 2, ..plain() },
        TrainingSettings { threads: 3, ..plain() },
        TrainingSettings { memory_bytes: 1, ..plain() },
    ];
    let whole = TrainingSettings { threads: 1, ..plain() };
    let expected = losses_and_gradients(goal(), whole.clone());
    let stepped = |settings: TrainingSettings| {
        // A step of plain descent moves by the gradient, where AdamW would follow the sign of rounding errors.
        let optimiser = Optimiser::Sgd { momentum: 0.0 };
        let mut trainer = extended(goal(), TrainingSettings { optimiser, rate: 0.1, ..settings });
        let rows = samples(&trainer, &separable(ROWS));
        trainer.step(&rows.iter().collect::<Vec<_>>(), &[0; ROWS], 1.0).unwrap();
        weights(&trainer)
    };
    let after = stepped(whole.clone());
    for cut in cuts {
        let difference = cuts_differ(&losses_and_gradients(goal(), cut.clone()), &expected);
        println!("{} threads, {} bytes: {:?}", cut.threads, cut.memory_bytes, difference.worst());
        difference.assert_within(LIMIT);
        for ((name, found), (_, expected)) in stepped(cut).iter().zip(&after) {
            close(name, found, expected, Of::Each(1.0), LIMIT);
        }
    }
    // A term of the whole batch on the first row breaks the promise, and is seen: each piece has a first row.
    let shared = || TrainingLoss {
        losses: Box::new(move |forward| {
            let losses = supervised(forward)?;
            let attention = forward.value(probs)?;
            let squares = forward.tape.apply(Op::Unary(Unary::Square), [attention]);
            let total = forward.tape.apply(Op::RowSum, [squares]); // [1, 1]
            let mut first = vec![0.0; forward.rows.len()];
            first[0] = 1.0;
            let first = Tensor::new(first.len(), 1, first);
            let penalties = forward.tape.apply(Op::Linear, [first.into(), total]); // [B, 1]
            Ok(forward.tape.apply(Op::Add, [losses, penalties]))
        }),
        ..goal()
    };
    let pieces = losses_and_gradients(shared(), TrainingSettings { threads: 2, ..plain() });
    cuts_differ(&pieces, &losses_and_gradients(shared(), whole)).assert_beyond(0.1);
}

/// A batch that does not fit the memory is cut, and a row's dropout does not depend on its company.
#[test]
fn parts_of_a_batch_add_up() {
    let noisy = TrainingSettings { dropout: None, ..plain() };
    let whole = trainer(Start::Folder(folder("bert-sequence")), noisy.clone());
    let cut = trainer(Start::Folder(folder("bert-sequence")), TrainingSettings { memory_bytes: 1, ..noisy });
    let still = trainer(Start::Folder(folder("bert-sequence")), plain());
    let rows = samples(&whole, &separable(7));
    let batch: Vec<&Sample> = rows.iter().collect();
    let keys: Vec<u64> = (0..7).map(|i| 1000 + i * 77).collect();
    let (one, two) = (whole.gradient(&batch, &keys).unwrap(), cut.gradient(&batch, &keys).unwrap());
    let other = still.gradient(&batch, &keys).unwrap();
    close("losses", &two.0, &one.0, Of::Size(1.0), LIMIT);
    assert!(check("dropout", &one.0, &other.0, Of::Size(1.0), 1e-3).is_err(), "dropout changes nothing");
    assert_eq!(one.1.len(), two.1.len());
    for (i, (a, b)) in one.1.iter().zip(&two.1).enumerate() {
        close(&format!("parameter {i}"), &b.to_vec(), &a.to_vec(), Of::Size(1.0), LIMIT);
    }
}

#[test]
fn settings_that_make_no_sense_are_refused_and_divergence_is_named() {
    let head = TrainedHead { task: &task::CLASSIFICATION, labels: vec!["a".into(), "b".into(), "c".into()] };
    for (wrong, told) in [
        (TrainingSettings { epochs: 0, ..plain() }, "epochs"),
        (TrainingSettings { batch: 0, ..plain() }, "batch"),
        (TrainingSettings { rate: f64::NAN, ..plain() }, "rate"),
        (TrainingSettings { layer_decay: 0.0, ..plain() }, "layer decay"),
        (TrainingSettings { warmup: 1.0, ..plain() }, "warm-up"),
        (TrainingSettings { decay: -1.0, ..plain() }, "decay"),
        (TrainingSettings { clip: Some(0.0), ..plain() }, "clipping"),
        (TrainingSettings { dropout: Some(1.0), ..plain() }, "dropout"),
        (TrainingSettings { decay_attention: f64::NAN, ..plain() }, "decay of attention"),
        (TrainingSettings { decay_attention: 0.1, ..plain() }, "no parameters 'attention.*'"),
        (TrainingSettings { class_weights: vec![1.0; 2], ..plain() }, "2 class weights for 3 classes"),
        (TrainingSettings { class_weights: vec![-1.0; 3], ..plain() }, "weight of a class"),
        (TrainingSettings { positive: Some(3), ..plain() }, "class 3 of a model with 3"),
        (TrainingSettings { patience: Some(0), ..plain() }, "patience"),
        (TrainingSettings { head_norm: Some(0.0), ..plain() }, "row of the head"),
    ] {
        let start = Start::Folder(folder("bert-sequence"));
        let error = Trainer::new(&start, &head, wrong, TrainingLoss::default()).err().unwrap().to_string();
        assert!(error.contains(told), "{told}: {error}");
    }
    let sgd = TrainingSettings { rate: 1e30, optimiser: Optimiser::Sgd { momentum: 0.0 }, ..plain() };
    let mut trainer = trainer(Start::Folder(folder("bert-sequence")), sgd);
    let rows = samples(&trainer, &separable(6));
    let batch: Vec<&Sample> = rows.iter().collect();
    let error = (0..4).find_map(|_| trainer.step(&batch, &[0; 6], 1.0).err()).unwrap().to_string();
    for told in ["diverged in step", "learning rate 1e30", "lower the rate"] {
        assert!(error.contains(told), "{error}");
    }
}
