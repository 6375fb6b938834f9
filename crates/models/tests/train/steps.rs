//! Single steps and three of them, against PyTorch's.

use super::*;

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
