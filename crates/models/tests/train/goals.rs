//! Other goals than the labels: losses that are extended, and parts of a batch that add up.

use super::*;

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
