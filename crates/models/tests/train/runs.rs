//! Whole runs: seeds, stops, states, which epoch is written, and what is refused.

use super::*;

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
