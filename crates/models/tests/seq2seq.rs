//! Models that write: `golden/seq2seq` against what PyTorch computed, under the conformance suite, and in training.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use exegete_core::conformance::{ConformanceSubject, check};
use exegete_core::{
    Array, Change, Driver, Edit, Example, Label, Model, Outputs, Pick, Plan, Quantity, Row, Rules, Scores,
    Seed, Site, Target,
};
use exegete_engine::Optimiser;
use exegete_models::small::{SEQUENCE_TO_SEQUENCE, SmallConfig};
use exegete_models::train::{
    Data, Event, Metric, Reduction, Sample, Start, TrainedHead, Trainer, TrainingLoss, TrainingRun,
    TrainingSettings, evaluate, fit,
};
use exegete_models::{LoadOptions, Precision, load};
use exegete_testkit::{Comparison, Of, close, golden};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

const LIMIT: f64 = 1e-5;
const EXACT_LIMIT: f64 = 4e-7;
const KINDS: [&str; 4] = ["bahdanau", "luong", "uniform", "none"];

#[derive(Deserialize)]
struct Described {
    inputs: Vec<[String; 2]>,
    targets: Vec<Vec<usize>>,
    losses: Vec<f64>,
    greedy: Vec<Vec<usize>>,
    rate: f64,
    clip: f64,
    steps: BTreeMap<String, Vec<f64>>,
}

struct Case {
    folder: PathBuf,
    described: Described,
    values: BTreeMap<String, Array>,
}

impl Case {
    fn read(name: &str) -> Self {
        let folder = golden::root().join("../seq2seq").join(name);
        let text = std::fs::read_to_string(folder.join("golden.json")).unwrap();
        let values = golden::tensors(&folder.join("golden.safetensors")).unwrap();
        Self { described: serde_json::from_str(&text).unwrap(), folder, values }
    }

    fn open(&self, precision: Precision) -> Arc<dyn Model> {
        load(&self.folder, &LoadOptions { precision, threads: 2 }).unwrap()
    }

    fn examples(&self) -> Vec<Example> {
        self.described.inputs.iter().map(|[source, target]| Example::pair(source, target)).collect()
    }

    fn rows(&self, model: &dyn Model) -> Vec<Row> {
        let row = |example: &Example| Row::new(model.encoded(example).unwrap());
        self.examples().iter().map(row).collect()
    }

    fn labels(&self) -> Vec<Label> {
        let label = |target: &Vec<usize>| Label::Tokens(target.iter().map(|&word| Some(word)).collect());
        self.described.targets.iter().map(label).collect()
    }
}

/// All values and gradients of some rows, as the golden file names them; the gradients of one logit at the last place.
fn found(model: &dyn Model, rows: &[Row], first: usize) -> BTreeMap<String, Array> {
    let open = model.open().unwrap();
    let sites: Vec<Site> = open.sites().iter().map(|info| info.site).collect();
    let pass = open.forward(rows, &Plan::gradient(sites.clone())).unwrap();
    let seed = |row: usize| {
        let mut cotangent = Array::zeros(pass.logits()[row].shape.clone());
        let (places, words) = (cotangent.shape[0], cotangent.shape[1]);
        cotangent.data[(places - 1) * words + 5] = 1.0;
        Seed { row, site: Site::named("logits"), cotangent }
    };
    let seeds: Vec<Seed> = (0..rows.len()).map(seed).collect();
    let slopes = pass.backward(&seeds, &sites, Rules::Gradient).unwrap();
    let mut found = BTreeMap::new();
    for (site, slopes) in sites.iter().zip(slopes) {
        for (row, slope) in slopes.into_iter().enumerate() {
            let input = first + row;
            found.insert(format!("{input}.{site}"), pass.value(*site, row).unwrap());
            if site.name() != "logits" {
                found.insert(format!("{input}.grad.{site}"), slope);
            }
        }
    }
    found
}

/// Everything recorded of sites must be found, and everything found recorded.
fn compare(case: &Case, found: &BTreeMap<String, Array>) -> Comparison {
    let of_sites = |name: &&String| name.starts_with(|c: char| c.is_ascii_digit());
    let expected: Vec<&String> = case.values.keys().filter(of_sites).collect();
    assert_eq!(found.keys().collect::<Vec<_>>(), expected, "{}", case.folder.display());
    let mut comparison = Comparison::default();
    for (name, found) in found {
        let expected = &case.values[name];
        assert_eq!(found.shape, expected.shape, "{name}");
        comparison.compare(name, found, expected, Of::Largest(1.0));
    }
    comparison
}

#[test]
fn every_site_and_its_gradient_are_those_of_pytorch() {
    for case in KINDS.map(Case::read) {
        for (precision, limit) in [(Precision::F32, LIMIT), (Precision::F64, EXACT_LIMIT)] {
            let model = case.open(precision);
            let rows = case.rows(&*model);
            let alone = rows.iter().enumerate();
            let alone = alone.flat_map(|(i, row)| found(&*model, std::slice::from_ref(row), i)).collect();
            for found in [alone, found(&*model, &rows, 0)] {
                let worst = compare(&case, &found).check(limit);
                assert!(worst.is_ok(), "{}: {worst:?}", case.folder.display());
            }
        }
    }
}

/// A state that leaks from one packed sequence into another, and a score from the state after the step in the place of the one
/// before it: planted as edits, so that all that follows from them is wrong too, they turn the comparison red.
#[test]
fn planted_faults_show() {
    let case = Case::read("bahdanau");
    let model = case.open(Precision::F32);
    let rows = case.rows(&*model);
    let right = found(&*model, &rows, 0);
    assert!(compare(&case, &right).check(LIMIT).is_ok());
    let place = |name: &str, place: usize| {
        let value = &right[name];
        let width = value.shape[1];
        Array::new([1, width], value.data[place * width..][..width].to_vec()).unwrap()
    };
    let planted = |site: &'static str, wrong: Array| {
        let at = vec![Pick::Only(vec![0]), Pick::All];
        let edit = Edit { site: Site::named(site), at, change: Change::Set(wrong) };
        let mut rows = rows.clone();
        rows[0] = rows[0].clone().edit(edit);
        let found = found(&*model, &rows, 0);
        compare(&case, &found).assert_beyond(LIMIT);
        let mut moved = Comparison::default();
        moved.compare(site, &found["0.logits"], &right["0.logits"], Of::Size(1.0));
        moved.assert_beyond(LIMIT);
    };
    let leaked = place("2.decoder.0.hidden", case.described.targets[2].len() - 1);
    planted("decoder.0.hidden", leaked);
    planted("decoder.attn.scores", place("0.decoder.attn.scores", 1));
}

/// One NaN in one value or slope, and one in a loss.
#[test]
fn a_planted_nan_is_noticed() {
    for case in KINDS.map(Case::read) {
        let model = case.open(Precision::F32);
        let sound = found(&*model, &case.rows(&*model), 0);
        for name in sound.keys() {
            let mut faulty = sound.clone();
            *faulty.get_mut(name).unwrap().data.last_mut().unwrap() = f32::NAN;
            assert!(compare(&case, &faulty).check(f64::MAX).is_err(), "{}: {name}", case.folder.display());
        }
        let mut losses = case.described.losses.clone();
        losses[0] = f64::NAN;
        let found =
            exegete_testkit::check("losses", &losses, &case.described.losses, Of::Size(1.0), f64::MAX);
        assert!(found.is_err());
    }
}

#[test]
fn losses_and_what_is_written_are_those_of_pytorch() {
    for case in KINDS.map(Case::read) {
        let model = case.open(Precision::F32);
        let learner = model.learner().unwrap();
        let (losses, _) = learner.gradient(&case.rows(&*model), &case.labels(), &[]).unwrap();
        close("losses", &losses, &case.described.losses, Of::Size(1.0), LIMIT);
        for ([source, _], expected) in case.described.inputs.iter().zip(&case.described.greedy) {
            let encoded = model.encoded(&Example::text(source)).unwrap();
            let written = encoded.tokens.iter().filter(|token| token.type_id == 1);
            let written: Vec<usize> = written.map(|token| token.id as usize).collect();
            assert_eq!(written, *expected, "{} from {source:?}", case.folder.display());
        }
    }
}

/// What a model will hold is known before any of it is made.
#[test]
fn parameters_are_counted_before_they_are_made() {
    for case in KINDS.map(Case::read) {
        let learner = case.open(Precision::F32);
        let parameters = learner.learner().unwrap().parameters();
        let held: usize = parameters.iter().map(|(_, shape)| shape.iter().product::<usize>()).sum();
        let read = |name: &str| std::fs::read_to_string(case.folder.join(name)).unwrap();
        let [source, target] = ["vocab.txt", "vocab.target.txt"].map(|name| read(name).lines().count());
        let config = SmallConfig::parse("config.json", read("config.json")).unwrap();
        assert_eq!(config.parameters(source, target), held as u128, "{}", case.folder.display());
    }
}

#[test]
fn every_model_that_writes_conforms() {
    let mut all = Vec::new();
    for case in KINDS.map(Case::read) {
        let (fast, exact) = (case.open(Precision::F32), case.open(Precision::F64));
        let subject = ConformanceSubject { fast: &*fast, exact: &*exact, examples: &case.examples() };
        let failed = check(&subject).unwrap().into_iter().filter(|check| !check.passed);
        all.extend(failed.map(|check| format!("{}: {check:?}", case.folder.display())));
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

fn trainer_settings(case: &Case) -> TrainingSettings {
    TrainingSettings {
        optimiser: Optimiser::adam(false),
        rate: case.described.rate,
        decay: 0.0,
        clip: Some(case.described.clip),
        reduction: Reduction::Places,
        threads: 2,
        ..TrainingSettings::default()
    }
}

fn trainer(case: &Case, teacher_forcing: f64) -> Trainer {
    let settings = TrainingSettings { teacher_forcing, ..trainer_settings(case) };
    let head = TrainedHead { task: &SEQUENCE_TO_SEQUENCE, labels: Vec::new() };
    Trainer::new(&Start::Folder(case.folder.clone()), &head, settings, TrainingLoss::default()).unwrap()
}

fn samples(case: &Case, trainer: &Trainer) -> Vec<Sample> {
    let sample = |example: &Example| trainer.sample(example, Label::Tokens(Vec::new())).unwrap();
    case.examples().iter().map(sample).collect()
}

/// One and three steps, with the right words read and with the model's own.
#[test]
fn steps_are_those_of_pytorch() {
    for case in KINDS.map(Case::read) {
        for (how, forcing) in [("told", 1.0), ("own", 0.0)] {
            let mut trainer = trainer(&case, forcing);
            let samples = samples(&case, &trainer);
            let batch: Vec<&Sample> = samples.iter().collect();
            let mut comparison = Comparison::default();
            for (step, expected) in (1..).zip(&case.described.steps[how]) {
                let done = trainer.step(&batch, &[0; 3], 1.0).unwrap();
                close("loss", &[done.loss], &[*expected], Of::Size(1.0), LIMIT);
                let learner = trainer.model().learner().unwrap();
                for (name, _) in learner.parameters() {
                    let value = learner.parameter(&name).unwrap();
                    if let Some(expected) = case.values.get(&format!("{how}.after{step}.{name}")) {
                        comparison.compare(&format!("{step} {name}"), &value, expected, Of::Size(1.0));
                    }
                }
            }
            let worst = comparison.check(LIMIT);
            assert!(worst.is_ok(), "{} {how}: {worst:?}", case.folder.display());
        }
    }
}

/// Whether a model reads its own word is drawn once a batch and step: the same for any threads and any pieces, another for
/// another seed.
#[test]
fn draws_belong_to_the_batch() {
    let case = Case::read("luong");
    let step = |seed: u64, memory_bytes: usize| {
        let settings = TrainingSettings {
            teacher_forcing: 0.5,
            seed,
            memory_bytes,
            reduction: Reduction::Places,
            ..TrainingSettings::default()
        };
        let head = TrainedHead { task: &SEQUENCE_TO_SEQUENCE, labels: Vec::new() };
        let start = Start::Folder(case.folder.clone());
        let trainer = Trainer::new(&start, &head, settings, TrainingLoss::default()).unwrap();
        let samples = samples(&case, &trainer);
        trainer.gradient(&samples.iter().collect::<Vec<_>>(), &[0; 3]).unwrap().0
    };
    close("pieces", &step(1, 1), &step(1, 1 << 30), Of::Size(1.0), 1e-6);
    let seeds: Vec<f64> = (0..6).map(|seed| step(seed, 1 << 30)[2]).collect();
    let mut others = Comparison::default();
    others.compare("other seeds", &seeds[1..], &[seeds[0]; 5], Of::Size(1.0));
    others.assert_beyond(0.0);
}

/// A loss may read what the decoder attended to, in the order of places and words.
#[test]
fn losses_read_the_weights() {
    let case = Case::read("bahdanau");
    let probs = Site::named("decoder.attn.probs");
    let goal = TrainingLoss {
        name: "weights".to_owned(),
        reads: vec![probs],
        losses: Box::new(move |forward| {
            let rows = forward.rows.len();
            let weights = forward.value(probs)?;
            let all: usize = weights.value.data().len();
            let sum = forward.tape.apply(exegete_engine::Op::Reshape(1, all), [weights]);
            let sum = forward.tape.apply(exegete_engine::Op::RowSum, [sum]); // [1, 1]
            Ok(forward.tape.apply(exegete_engine::Op::Gather(vec![0; rows].into()), [sum]))
        }),
    };
    let head = TrainedHead { task: &SEQUENCE_TO_SEQUENCE, labels: Vec::new() };
    let settings = TrainingSettings { threads: 1, ..TrainingSettings::default() };
    let trainer = Trainer::new(&Start::Folder(case.folder.clone()), &head, settings, goal).unwrap();
    let samples = samples(&case, &trainer);
    let (losses, _) = trainer.gradient(&samples.iter().collect::<Vec<_>>(), &[0; 3]).unwrap();
    let places: usize = case.described.targets.iter().map(Vec::len).sum();
    close("weights sum to one a place", &[losses[0]], &[places as f64], Of::Size(1.0), 1e-5);
}

#[test]
fn accuracy_is_that_of_what_is_written() {
    let case = Case::read("uniform");
    let model = case.open(Precision::F32);
    let sample = |(row, label)| Sample { row, label };
    let samples: Vec<Sample> = case.rows(&*model).into_iter().zip(case.labels()).map(sample).collect();
    let metrics = evaluate(&*model, &samples, 1 << 30).unwrap();
    // Its own words, in as many steps as the target has, differ from the target's; places count, not rows.
    let (mut right, mut all) = (0, 0);
    for (greedy, target) in case.described.greedy.iter().zip(&case.described.targets) {
        all += target.len();
        right += greedy.iter().zip(target).filter(|(a, b)| a == b).count();
    }
    close("accuracy", &[metrics.accuracy.unwrap()], &[right as f64 / all as f64], Of::Size(1.0), 1e-12);
    let weighted = case.described.losses.iter().zip(&case.described.targets);
    let loss = weighted.map(|(loss, target)| loss * target.len() as f64).sum::<f64>() / all as f64;
    close("loss", &[metrics.loss], &[loss], Of::Size(1.0), LIMIT);
}

#[test]
fn answers_and_targets_are_those_of_the_text_that_is_run() {
    let case = Case::read("none");
    let model = case.open(Precision::F64);
    let [source, target] = &case.described.inputs[0];
    let given = &model.predict(&[Example::pair(source, target)]).unwrap()[0].scores;
    let Scores::Written { text, log_prob, words } = given else { panic!("{given:?}") };
    assert_eq!((text, words.len()), (target, 6));
    close("log-probability", &[*log_prob], &[-case.described.losses[0] * 6.0], Of::Size(1.0), 1e-5);
    let own = &model.predict(&[Example::text(source)]).unwrap()[0].scores;
    let Scores::Written { words, .. } = own else { panic!("{own:?}") };
    assert_eq!(words.len(), case.described.greedy[0].len());

    let encoded = model.encoded(&Example::pair(source, target)).unwrap();
    let logits = Driver::default().read_one(&*model, &Row::new(encoded.clone()), &Outputs).unwrap();
    let open = model.open().unwrap();
    let resolve = |text: &str| {
        let asked: Target = text.parse().unwrap();
        asked.resolve(model.card(), &encoded, &logits, None, &|word| open.output_id(word))
    };
    assert!(
        matches!(resolve("predicted").unwrap().quantity, Quantity::Token(0, word) if word.name == "#4" || word.name == "le")
    );
    let last = resolve("token:5=</s>:logprob").unwrap().value_of(model.card(), &logits).unwrap();
    assert!(last < 0.0);
    let loss = resolve("loss").unwrap().value_of(model.card(), &logits).unwrap();
    close("loss", &[loss], &[-case.described.losses[0]], Of::Size(1.0), 1e-5);
    let error = |text: &str| resolve(text).unwrap_err().to_string();
    assert!(error("token:6=le").contains("no place 6") && error("token:0=zzz").contains("not one entry"));
    assert!(error("class:1").contains("token:POS=WORD"));
}

#[test]
fn broken_folders_and_texts_are_told_in_one_line() {
    let case = Case::read("luong");
    let model = case.open(Precision::F32);
    let long = "film ".repeat(100_000);
    let told = model.predict(&[Example::text(&long)]).unwrap_err().to_string();
    assert!(told.contains("GiB") && !told.contains('\n'), "{told}");
    let told = Driver::default().read_one(
        &*model,
        &Row::new(model.encoded(&Example::pair(&long, &long)).unwrap()),
        &Outputs,
    );
    assert!(told.unwrap_err().to_string().contains("--memory"));
    for (example, expected) in [
        (Example::text(" "), "text is empty"),
        (Example::pair("a", " "), "target is empty"),
        (Example::pair(" ", "a"), "source is empty"),
    ] {
        let told = model.predict(&[example]).unwrap_err().to_string();
        assert!(told.contains(expected), "{told}");
    }
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(&case.folder).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    let error = || load(folder.path(), &LoadOptions::default()).map(|_| ()).unwrap_err().to_string();
    std::fs::remove_file(folder.path().join("vocab.target.txt")).unwrap();
    assert!(error().contains("holds no vocab.target.txt"), "{}", error());
    std::fs::write(folder.path().join("vocab.target.txt"), "<pad>\n<unk>\n<s>\n</s>\nle\n").unwrap();
    assert!(error().contains("decoder.embed.weight"), "{}", error());
    for (config, expected) in [
        (r#"{"kind": "seq2seq", "attention": "dot"}"#, "known are bahdanau, luong, uniform, none"),
        (r#"{"kind": "seq2seq", "directions": 1}"#, "both directions"),
        (r#"{"kind": "seq2seq", "layers": 2}"#, "one layer"),
        (r#"{"kind": "seq2seq", "labels": ["a", "b"]}"#, "no classes"),
        (r#"{"kind": "lstm", "head": "sequence", "labels": ["a", "b"]}"#, "no other kind"),
    ] {
        std::fs::write(folder.path().join("config.json"), config).unwrap();
        assert!(error().contains(expected), "{config}: {}", error());
    }
}

/// A run that is stopped between two saved states and taken up again draws what it would have drawn.
#[test]
fn a_run_that_goes_on_draws_the_same() {
    let case = Case::read("bahdanau");
    let trained = |stop_after: Option<usize>| {
        let output = tempfile::tempdir().unwrap();
        let settings =
            TrainingSettings { teacher_forcing: 0.5, epochs: 3, batch: 1, ..trainer_settings(&case) };
        let run = |stop_after: Option<usize>| {
            let head = TrainedHead { task: &SEQUENCE_TO_SEQUENCE, labels: Vec::new() };
            let start = Start::Folder(case.folder.clone());
            let mut trainer = Trainer::new(&start, &head, settings.clone(), TrainingLoss::default()).unwrap();
            let data = Data { train: samples(&case, &trainer), dev: samples(&case, &trainer) };
            let run = TrainingRun {
                output: output.path(),
                save_every: 0,
                metric: Metric::Loss,
                stop: Arc::default(),
            };
            fit(&mut trainer, &data, &run, &mut |event| match event {
                Event::Step { done, .. } if Some(*done) == stop_after => Err(exegete_core::Error::Stopped),
                _ => Ok(()),
            })
        };
        if stop_after.is_some() {
            assert_eq!(run(stop_after).unwrap_err(), exegete_core::Error::Stopped);
        }
        run(None).unwrap();
        std::fs::read(output.path().join("model.safetensors")).unwrap()
    };
    let whole = trained(None);
    assert!(whole == trained(Some(4)) && whole == trained(Some(7)), "the weights differ");
}
