//! What a run starts from: every family, heads of other sizes, every loss.

use super::*;

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
