//! Every small model of `golden/small` against what PyTorch computed for it, and under the conformance suite.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use exegete_core::conformance::{ConformanceSubject, check};
use exegete_core::{Array, Change, Edit, Example, Label, Model, Pick, Plan, Record, Row, Rules, Seed, Site};
use exegete_models::small::SmallConfig;
use exegete_models::{LoadOptions, Precision, load};
use exegete_testkit::{Comparison, Fault, Faulty, Of, check as within, close, golden};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Single precision, over sequences of at most fifteen steps.
const LIMIT: f64 = 1e-5;
const EXACT_LIMIT: f64 = 4e-7;

#[derive(Deserialize)]
struct Described {
    inputs: Vec<Vec<String>>,
    labels: Vec<usize>,
    losses: Vec<f64>,
}

struct Case {
    folder: PathBuf,
    examples: Vec<Example>,
    labels: Vec<usize>,
    losses: Vec<f64>,
    values: BTreeMap<String, Array>,
}

fn cases() -> Vec<Case> {
    let root = golden::root().join("../small");
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    assert!(folders.len() >= 27, "{} folders", folders.len());
    folders.into_iter().map(read).collect()
}

fn case(name: &str) -> Case {
    read(golden::root().join("../small").join(name))
}

fn read(folder: PathBuf) -> Case {
    let text = std::fs::read_to_string(folder.join("golden.json")).unwrap();
    let Described { inputs, labels, losses } = serde_json::from_str(&text).unwrap();
    let example = |texts: &Vec<String>| match &texts[..] {
        [text] => Example::text(text),
        [first, second] => Example::pair(first, second),
        _ => panic!("{texts:?}"),
    };
    let values = golden::tensors(&folder.join("golden.safetensors")).unwrap();
    Case { examples: inputs.iter().map(example).collect(), folder, labels, losses, values }
}

fn open(folder: &Path, precision: Precision) -> Arc<dyn Model> {
    load(folder, &LoadOptions { precision, threads: 2 }).unwrap()
}

fn rows(model: &dyn Model, case: &Case) -> Vec<Row> {
    case.examples.iter().map(|example| Row::new(model.open().unwrap().encode(example).unwrap())).collect()
}

/// All values and gradients of a batch, as the golden file names them.
fn found(model: &dyn Model, case: &Case, rows: &[Row], first: usize) -> BTreeMap<String, Array> {
    let open = model.open().unwrap();
    let sites: Vec<Site> = open.sites().iter().map(|info| info.site).collect();
    let pass = open.forward(rows, &Plan::gradient(sites.clone())).unwrap();
    let seed = |row: usize| {
        let mut cotangent = Array::zeros([model.card().labels.len()]);
        // The golden gradients are of the first class that is not ruled out.
        let class = if case.folder.file_name().unwrap().to_str().unwrap().starts_with("qa") {
            case.labels[first + row]
        } else {
            0
        };
        cotangent.data[class] = 1.0;
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

/// What a model will hold is known before any of it is made, and absurd sizes do not wrap around.
#[test]
fn parameters_are_counted_before_they_are_made() {
    for case in cases() {
        let model = open(&case.folder, Precision::F32);
        let held = |(_, shape): &(String, Vec<usize>)| shape.iter().product::<usize>() as u128;
        let held: u128 = model.learner().unwrap().parameters().iter().map(held).sum();
        let read = |name: &str| std::fs::read_to_string(case.folder.join(name)).unwrap();
        let config = SmallConfig::parse("config.json", read("config.json")).unwrap();
        assert_eq!(
            config.parameters(read("vocab.txt").lines().count(), 0),
            held,
            "{}",
            case.folder.display()
        );
    }
    let vast =
        SmallConfig::parse("c", r#"{"kind": "lstm", "hidden": 1000000, "labels": ["a", "b"]}"#).unwrap();
    assert!(vast.parameters(10, 0) > 8_000_000_000_000);
}

/// Everything recorded must be found, and everything found recorded.
fn compare(case: &Case, found: &BTreeMap<String, Array>) -> Comparison {
    let expected: BTreeMap<_, _> =
        case.values.iter().filter(|(name, _)| !name.starts_with("learned.")).collect();
    let place = case.folder.display();
    let names = |all: Vec<&String>| all.into_iter().cloned().collect::<Vec<_>>();
    assert_eq!(names(found.keys().collect()), names(expected.keys().copied().collect()), "{place}");
    let mut comparison = Comparison::default();
    for (name, expected) in expected {
        let found = Array { shape: expected.shape.clone(), data: found[name].data.clone() };
        comparison.compare(name, &found, expected, Of::Largest(1.0));
    }
    comparison
}

#[test]
fn every_site_and_its_gradient_are_those_of_pytorch() {
    for case in cases() {
        for (precision, limit) in [(Precision::F32, LIMIT), (Precision::F64, EXACT_LIMIT)] {
            let model = open(&case.folder, precision);
            let rows = rows(&*model, &case);
            let alone = rows
                .iter()
                .enumerate()
                .flat_map(|(i, row)| found(&*model, &case, std::slice::from_ref(row), i));
            for found in [alone.collect(), found(&*model, &case, &rows, 0)] {
                let worst = compare(&case, &found).check(limit);
                assert!(worst.is_ok(), "{}: {worst:?}", case.folder.display());
            }
        }
    }
}

/// One NaN in one value or slope, and one in a loss or a parameter's gradient.
#[test]
fn a_planted_nan_is_noticed() {
    for case in cases() {
        let model = open(&case.folder, Precision::F32);
        let sound = found(&*model, &case, &rows(&*model, &case), 0);
        for name in sound.keys() {
            let mut faulty = sound.clone();
            *faulty.get_mut(name).unwrap().data.last_mut().unwrap() = f32::NAN;
            assert!(compare(&case, &faulty).check(f64::MAX).is_err(), "{}: {name}", case.folder.display());
        }
        let mut losses = case.losses.clone();
        losses[0] = f64::NAN;
        assert!(within("losses", &losses, &case.losses, Of::Size(1.0), f64::MAX).is_err());
    }
}

#[test]
fn losses_and_the_gradients_of_all_parameters_are_those_of_pytorch() {
    for case in cases() {
        let model = open(&case.folder, Precision::F32);
        let learner = model.learner().unwrap();
        let names: Vec<String> = learner.parameters().into_iter().map(|(name, _)| name).collect();
        let labels: Vec<Label> = case.labels.iter().map(|&class| Label::Class(class)).collect();
        let (losses, gradients) = learner.gradient(&rows(&*model, &case), &labels, &names).unwrap();
        close("losses", &losses, &case.losses, Of::Size(1.0), LIMIT);
        for (name, gradient) in names.iter().zip(&gradients) {
            match case.values.get(&format!("learned.{name}")) {
                Some(expected) => {
                    close(
                        &format!("{} {name}", case.folder.display()),
                        gradient,
                        expected,
                        Of::Largest(1.0),
                        LIMIT,
                    );
                }
                None => assert_eq!(gradient.max_abs(), 0.0, "{name}"),
            }
        }
    }
}

#[test]
fn every_small_model_conforms() {
    let mut all = Vec::new();
    for case in cases() {
        let (fast, exact) = (open(&case.folder, Precision::F32), open(&case.folder, Precision::F64));
        let subject = ConformanceSubject { fast: &*fast, exact: &*exact, examples: &case.examples };
        let failed = check(&subject).unwrap().into_iter().filter(|check| !check.passed);
        all.extend(failed.map(|check| format!("{}: {check:?}", case.folder.display())));
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn planted_faults_are_found_in_a_small_model() {
    let case = case("lstm-additive");
    let (fast, exact) = (open(&case.folder, Precision::F32), open(&case.folder, Precision::F64));
    for fault in Fault::ALL {
        let (fast, exact) = (Faulty::new(fast.clone(), fault), Faulty::new(exact.clone(), fault));
        let checks =
            check(&ConformanceSubject { fast: &fast, exact: &exact, examples: &case.examples }).unwrap();
        assert!(checks.iter().any(|check| !check.passed), "{fault:?} went unseen");
    }
}

/// Weights can be imposed: all on the second word gives that word's state to the head, whatever else the text says.
#[test]
fn attention_weights_can_be_set() {
    let case = case("lstm-additive");
    let model = open(&case.folder, Precision::F32);
    let open = model.open().unwrap();
    let row = rows(&*model, &case).swap_remove(0);
    let states = Site::named("enc.out");
    let pooled = Site::named("pooled");
    let mut weights = Array::zeros([5]);
    weights.data[1] = 1.0;
    let edit = Edit { site: Site::named("attn.probs"), at: vec![Pick::All], change: Change::Set(weights) };
    let edited = Row { edits: vec![edit], ..row.clone() };
    let pass = open.forward(&[edited], &Plan::keep([states, pooled])).unwrap();
    let (states, pooled) = (pass.value(states, 0).unwrap(), pass.value(pooled, 0).unwrap());
    // The start marker comes first.
    close("context", &pooled.data, &states.data[2 * 8..3 * 8], Of::Size(1.0), 1e-6);
}

/// The head alone can be run again from the states.
#[test]
fn a_run_can_start_at_the_states() {
    for name in ["lstm-additive", "kim", "average-none", "gru-uniform-one-direction-two-layers"] {
        let case = case(name);
        let model = open(&case.folder, Precision::F32);
        let open = model.open().unwrap();
        let states = Site::named("enc.out");
        let rows = rows(&*model, &case);
        let whole = open.forward(&rows, &Plan::keep([states])).unwrap();
        let started = rows.iter().enumerate();
        let started: Vec<Row> = started
            .map(|(i, row)| Row { start: Some(whole.value(states, i).unwrap().into()), ..row.clone() })
            .collect();
        let plan = Plan { keep: Vec::new(), start: Some(states), record: Record::Nothing };
        let again = open.forward(&started, &plan).unwrap();
        for (again, whole) in again.logits().iter().zip(whole.logits()) {
            close(name, &again.data, &whole.data, Of::Size(1.0), 1e-6);
        }
    }
}

/// A text that brings along what another model's attention came to gets that model's answer, and what is taken out of it
/// leaves weights that sum to one again.
#[test]
fn imposed_weights_are_those_of_a_model_that_worked_them_out() {
    let own = case("lstm-additive");
    let config = std::fs::read_to_string(own.folder.join("config.json")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for file in ["model.safetensors", "vocab.txt"] {
        std::fs::copy(own.folder.join(file), folder.path().join(file)).unwrap();
    }
    let config = config.replace("\"additive\"", "\"imposed\"");
    std::fs::write(folder.path().join("config.json"), config).unwrap();
    let (model, imposed) = (open(&own.folder, Precision::F64), open(folder.path(), Precision::F64));
    let (inside, outside) = (model.open().unwrap(), imposed.open().unwrap());
    let probs = Site::named("attn.probs");
    for example in &own.examples {
        let row = Row::new(inside.encode(example).unwrap());
        let pass = inside.forward(std::slice::from_ref(&row), &Plan::keep([probs])).unwrap();
        let weights = Some(pass.value(probs, 0).unwrap().data);
        let given = Row::new(outside.encode(&Example { weights, ..example.clone() }).unwrap());
        let found = outside.forward(std::slice::from_ref(&given), &Plan::keep([probs])).unwrap();
        close("logits", &found.logits()[0].data, &pass.logits()[0].data, Of::Largest(0.0), LIMIT);
        let mut cut = (*given.encoded).clone();
        cut.tokens.remove(1);
        let left = outside.forward(&[Row::new(cut)], &Plan::keep([probs])).unwrap().value(probs, 0).unwrap();
        let sum: f32 = left.data.iter().sum();
        assert!(left.data.is_empty() || (sum - 1.0).abs() < 1e-6, "{sum}");
    }
}
