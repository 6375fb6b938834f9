//! The deep level, on scores that are right and on scores with a planted fault.

use super::Bench;
use super::findings::keeps;
use crate::evidence::Level;
use crate::raw_attribution::RawScores;
use crate::registry::{Meaning, Method};
use crate::{ConfiguredMethod, Question, RawAttribution, Reduce, Settings};
use exegete_core::report::Checks;
use exegete_core::{Array, Model, Result, Site, task};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Twelve words; F = Σ weight is linear, so that the gradient is the truth everywhere.
const TEXT: &str = "p5 n20 p10 p90 n2 p4 n1 p70 p7 p3 n15 p8";

/// Scores computed from the word vectors and their gradient, element by element.
struct Faulty(fn(f32, f32, usize) -> f32);

impl Method for Faulty {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        BTreeMap::new()
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        let row = std::slice::from_ref(&job.row);
        let words = [Site::named("embed.word")];
        let found = job.read(row, &words, &words)?.swap_remove(0);
        let x = &found.values[0];
        let slopes = &found.gradients[0];
        let score = |(i, (x, slope)): (usize, (&f32, &f32))| (self.0)(*x, *slope, i);
        let data = x.data.iter().zip(&slopes.data).enumerate().map(score).collect();
        Ok(RawAttribution::new(Array::new(x.shape.clone(), data)?, Reduce::Sum))
    }
}

fn deep(method: &dyn Method, meaning: Meaning) -> Checks {
    let bench = Bench::new(&task::CLASSIFICATION, 1.0, TEXT, "class:positive");
    let explained = RawAttribution { meaning: Some(meaning), ..method.explain(&bench.job()).unwrap() };
    let checks = bench.evidence().check(Level::Deep, &explained, Some(method), Checks::default()).unwrap();
    let verdict = checks.verdict.as_ref().unwrap();
    for finding in verdict.findings.iter().filter(|finding| finding.passed.is_some()) {
        assert_eq!(finding.passed, Some(keeps(finding)), "{finding:?}");
    }
    let failed = verdict.findings.iter().filter(|finding| finding.passed == Some(false)).count();
    assert_eq!(verdict.failures.len(), failed);
    checks
}

/// How the findings of a name were judged; none where it gave none.
fn passed(checks: &Checks, name: &str) -> Option<Option<bool>> {
    let findings = &checks.verdict.as_ref().unwrap().findings;
    findings.iter().find(|finding| finding.check == name).map(|finding| finding.passed)
}

fn failures(checks: &Checks) -> &[String] {
    &checks.verdict.as_ref().unwrap().failures
}

#[test]
fn the_gradient_of_a_linear_function_passes_everything() {
    let right = ConfiguredMethod::new("gradient_x_input", Settings::default()).unwrap();
    let checks = deep(&right, Meaning::TimesInput);
    assert!(failures(&checks).is_empty(), "{:?}", failures(&checks));
    for name in ["zero_scores", "distinct_scores", "chance", "infidelity", "stability", "sensitivity"] {
        assert_eq!(passed(&checks, name), Some(Some(true)), "{name}");
    }
    assert_eq!(
        ["deletion", "insertion"].map(|name| passed(&checks, name)),
        [Some(None); 2],
        "shown, not judged"
    );
    assert_eq!(passed(&checks, "randomisation"), None);
    let infidelity = checks.infidelity.unwrap();
    assert!(infidelity.value < 1e-6 * infidelity.zero && (infidelity.factor - 1.0).abs() < 1e-3);
    // Scores are a·x, so a ball of radius r moves n of them by at most a·r each.
    let sensitivity = checks.sensitivity.unwrap();
    let bound = sensitivity.radius * 12f64.sqrt();
    assert!(sensitivity.absolute > 0.2 * bound && sensitivity.absolute <= bound, "{sensitivity:?}");
    let stability = checks.stability.unwrap();
    assert_eq!((stability.same_decision, stability.samples), (5, 5));
    assert!(stability.worst <= stability.correlation && stability.correlation > 0.7, "{stability:?}");
    assert!(checks.randomisation.is_empty(), "the bag names no parameters");
}

#[test]
fn slopes_are_taken_as_they_are_and_products_divided() {
    let slope = Faulty(|_, slope, _| slope);
    let value = |meaning| deep(&slope, meaning).infidelity.map(|found| found.value / found.zero);
    assert!(value(Meaning::Slope).unwrap() < 1e-6);
    assert!(value(Meaning::TimesInput).unwrap() > 0.1, "not a product, so dividing is wrong");
    assert_eq!(value(Meaning::Other), None);
    let product = Faulty(|x, slope, _| x * slope);
    let value = |meaning| deep(&product, meaning).infidelity.unwrap().value;
    assert!(value(Meaning::TimesDifference) < 1e-6 * value(Meaning::Slope));
}

#[test]
fn planted_faults_are_found() {
    let found = |fault: fn(f32, f32, usize) -> f32, meaning, word: &str| {
        let checks = deep(&Faulty(fault), meaning);
        let failures = failures(&checks);
        assert!(failures.iter().any(|failure| failure.contains(word)), "{word}: {failures:?}");
    };
    found(|x, slope, _| -x * slope, Meaning::TimesInput, "upside down");
    found(|x, slope, _| -x * slope, Meaning::TimesInput, "the opposite");
    let compared = deep(&Faulty(|x, slope, _| -x * slope), Meaning::TimesDifference);
    assert!(failures(&compared).iter().all(|failure| !failure.contains("the opposite")));
    assert_eq!(passed(&compared, "infidelity"), Some(None), "it claims nothing about small steps");
    // Only what F does not depend on.
    found(|x, _, i| if i % 2 == 1 { x } else { 0.0 }, Meaning::Slope, "no more than chance");
    // A sign that hangs on digits far behind the point.
    found(|x, _, _| (1e4 * x).sin(), Meaning::Other, "times their size");
    found(|x, _, _| (1e4 * x).sin(), Meaning::Other, "changes the order");
}

#[test]
fn doubled_scores_are_forgiven_by_their_factor_alone() {
    let doubled = deep(&Faulty(|x, slope, _| 2.0 * x * slope), Meaning::TimesInput).infidelity.unwrap();
    assert!((doubled.factor - 0.5).abs() < 1e-3);
    assert!(doubled.scaled < 1e-6 * doubled.zero && (doubled.value / doubled.zero - 1.0).abs() < 1e-3);
}

#[test]
fn curves_fall_and_rise_by_rank() {
    let right = deep(&Faulty(|x, slope, _| x * slope), Meaning::Other);
    let wrong = deep(&Faulty(|x, slope, _| -x * slope), Meaning::Other);
    let (deletion, insertion) = (right.deletion.unwrap(), right.insertion.unwrap());
    assert!(deletion.area < deletion.random_area && insertion.area > insertion.random_area);
    let (deletion_wrong, insertion_wrong) = (wrong.deletion.unwrap(), wrong.insertion.unwrap());
    assert!(deletion_wrong.area > deletion_wrong.random_area);
    assert!(insertion_wrong.area < insertion_wrong.random_area);
    let p = |sum: f64| 1.0 / (1.0 + (-2.0 * sum).exp());
    for (curve, first, last) in [(&deletion, 1.59, 0.0), (&insertion, 0.0, 1.59)] {
        assert_eq!((curve.shares.len(), curve.shares[0], curve.shares[12]), (13, 0.0, 1.0));
        assert!((curve.values[0] - p(first)).abs() < 1e-6 && (curve.values[12] - p(last)).abs() < 1e-6);
        assert!((curve.random[0] - curve.values[0]).abs() < 1e-9);
    }
}

/// Scores that ignore the model: the longer the piece, the more.
struct Letters;

impl Method for Letters {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        BTreeMap::new()
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        let length = |token: &exegete_core::Token| token.piece.len() as f64;
        Ok(RawAttribution::of(RawScores::Tokens(job.encoded().tokens.iter().map(length).collect())))
    }
}

/// Notes how many parameters differ from the trained model's whenever it is asked to explain, and how far the word matrix's
/// mean and standard deviation are from its own.
struct Witness<'m> {
    trained: &'m dyn Model,
    changed: Mutex<Vec<usize>>,
    moments: Mutex<f64>,
}

impl Method for Witness<'_> {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        BTreeMap::new()
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        let (own, moved) = (self.trained.learner().unwrap(), job.model.learner().unwrap());
        let mut changed = 0;
        for (name, _) in own.parameters() {
            let (own, moved) = (own.parameter(&name)?, moved.parameter(&name)?);
            changed += usize::from(own != moved);
            if name.ends_with("word_embeddings.weight") {
                let ((mean, deviation), (other, spread)) = (moments(&own), moments(&moved));
                *self.moments.lock().unwrap() =
                    ((mean - other).abs() + (deviation - spread).abs()) / deviation;
            }
        }
        self.changed.lock().unwrap().push(changed);
        Letters.explain(job)
    }
}

fn moments(values: &Array) -> (f64, f64) {
    let mean = |term: &dyn Fn(f64) -> f64| {
        values.data.iter().map(|&x| term(f64::from(x))).sum::<f64>() / values.len() as f64
    };
    let center = mean(&|x| x);
    (center, mean(&|x| (x - center).powi(2)).sqrt())
}

#[test]
fn what_is_random_stays_random_and_keeps_its_moments() {
    let folder = exegete_testkit::golden::root().join("bert-sequence");
    let model = exegete_models::load(&folder, &exegete_models::LoadOptions::default()).unwrap();
    let witness = Witness { trained: &*model, changed: Mutex::default(), moments: Mutex::default() };
    super::families::checked(&*model, "the film is not so bad", &witness);
    let changed = witness.changed.into_inner().unwrap();
    let cascade: Vec<usize> = changed.into_iter().filter(|&count| count > 0).collect();
    assert_eq!(cascade.len(), model.card().sizes.0[0].1 + 2, "head, layers, embeddings");
    assert!(cascade.windows(2).all(|pair| pair[1] > pair[0]), "{cascade:?}");
    assert!(*cascade.last().unwrap() > model.learner().unwrap().parameters().len() / 2, "{cascade:?}");
    let moved = witness.moments.into_inner().unwrap();
    assert!(moved > 0.0 && moved < 0.2, "{moved}");
}

#[test]
fn scores_that_ignore_the_model_are_found_by_random_parameters() {
    let folder = exegete_testkit::golden::root().join("bert-sequence");
    let model = exegete_models::load(&folder, &exegete_models::LoadOptions::default()).unwrap();
    let text = "the film is not so bad and it is a good film that we like";
    let last = |method: &dyn Method| {
        let found = super::families::checked(&*model, text, method);
        assert_eq!(found.randomisation.first().unwrap().down_to, "head");
        let ignored = failures(&found).iter().any(|failure| {
            failure.contains("hardly depend on the model") || failure.contains("with a random head")
        });
        (found.randomisation.last().unwrap().correlation, ignored)
    };
    assert_eq!(last(&Letters), (1.0, true));
    let right = ConfiguredMethod::new("gradient_x_input", Settings::default()).unwrap();
    let (correlation, ignored) = last(&right);
    assert!(correlation.abs() < 0.7 && !ignored, "{correlation}");
}

/// A random head moves what explains a class, fails what only claims to, and says nothing against what reads no class.
#[test]
fn a_random_head_is_a_finding_of_its_own() {
    let folder = exegete_testkit::golden::root().join("bert-sequence");
    let model = exegete_models::load(&folder, &exegete_models::LoadOptions::default()).unwrap();
    let text = "the film is not so bad and it is a good film that we like";
    let found = |method: &dyn Method| {
        let checks = super::families::checked(&*model, text, method);
        let verdict = checks.verdict.clone().unwrap();
        let finding = verdict.findings.iter().find(|found| found.check == "head_randomisation").unwrap();
        if finding.passed.is_some() {
            assert_eq!(
                (finding.threshold, finding.passed),
                (Some(1e-6), Some(keeps(finding))),
                "{finding:?}"
            );
        }
        let told = verdict.failures.iter().any(|failure| failure.starts_with("with a random head"));
        let says = checks.others["head_randomisation"]["says"].as_str().unwrap().to_owned();
        (finding.measured.unwrap(), finding.passed, told, says)
    };
    let (change, passed, told, _) = found(&Letters);
    assert_eq!((change, passed, told), (0.0, Some(false), true));
    let right = ConfiguredMethod::new("gradient_x_input", Settings::default()).unwrap();
    let (change, passed, told, says) = found(&right);
    assert!(change > 0.01 && passed == Some(true) && !told, "{change}");
    assert!(says.starts_with("with a random head the scores move by up to "), "{says}");
    for name in ["attention", "attention_rollout", "attention_norm"] {
        let attention = ConfiguredMethod::new(name, Settings::default()).unwrap();
        let (change, passed, told, says) = found(&attention);
        assert!(change <= 1e-6 && passed.is_none() && !told, "{name}: {change}");
        assert!(says.starts_with("the same for every class: cannot say why this one"), "{name}: {says}");
    }
}
