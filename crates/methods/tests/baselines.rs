//! What baselines promise, on golden models of several families.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use exegete_core::{Driver, Encoded, Example, Model, Row, Target};
use exegete_methods::{
    Baseline, ConfiguredMethod, METHODS, Method, Needs, Question, RawAttribution, Settings,
};
use exegete_models::{LoadOptions, load};
use exegete_testkit::golden;
use std::sync::Arc;

const TEXT: &str = "a film that is not so bad";

fn models() -> Vec<Arc<dyn Model>> {
    let options = LoadOptions { threads: 1, ..LoadOptions::default() };
    let names = ["bert-sequence", "roberta-sequence", "distilbert-sequence", "albert-sequence"];
    names.iter().map(|name| load(&golden::root().join(name), &options).unwrap()).collect()
}

fn encoded(model: &dyn Model) -> Encoded {
    model.encoded(&Example::text(TEXT)).unwrap()
}

/// The scores of each token, and what they found on the way.
fn scores(
    model: &dyn Model,
    encoded: Encoded,
    method: &str,
    baseline: Baseline,
) -> (Vec<f64>, RawAttribution) {
    let driver = Driver::default();
    let job = Question {
        baselines: vec![baseline],
        ..Question::new(model, &driver, Row::new(encoded), Target::class(1))
    };
    let chosen = ConfiguredMethod::new(method, Settings::default()).unwrap();
    let explained = chosen.explain(&job).unwrap_or_else(|error| panic!("{method}: {error}"));
    (explained.tokens(&job).unwrap().unwrap(), explained)
}

/// The methods that compare a text with something.
fn comparing() -> Vec<&'static str> {
    let inside = METHODS.iter().filter(|info| info.needs == Needs::Inside);
    let compares = |name: &&str| {
        let chosen = ConfiguredMethod::new(name, Settings::default());
        chosen.is_ok_and(|chosen| !chosen.baselines().is_empty())
    };
    inside.map(|info| info.name).filter(compares).collect()
}

/// Methods whose scores are a product with x − x′.
const DIFFERENCES: [&str; 4] = ["integrated_gradients", "deep_lift", "deep_lift_shap", "gradient_shap"];

#[test]
fn special_tokens_that_keep_their_vectors_score_exactly_nothing() {
    assert!(comparing().len() >= 6, "{:?}", comparing());
    for model in models() {
        let encoded = encoded(&*model);
        let special: Vec<bool> = encoded.tokens.iter().map(|token| token.special).collect();
        assert!(special.contains(&true) && special.contains(&false));
        for method in comparing() {
            let name = format!("{} {method}", model.card().name);
            let (found, _) = scores(&*model, encoded.clone(), method, Baseline::ZeroContent);
            assert!(found.iter().all(|score| score.is_finite()), "{name}: {found:?}");
            if !DIFFERENCES.contains(&method) {
                continue;
            }
            let (all, _) = scores(&*model, encoded.clone(), method, Baseline::Zero);
            for (token, &special) in special.iter().enumerate() {
                assert_eq!(found[token] == 0.0, special, "{name}, token {token}: {found:?}");
                // Zero vectors for all tokens would fail here.
                assert!(all[token] != 0.0, "{name}, token {token}: {all:?}");
            }
        }
    }
}

#[test]
fn a_text_of_special_tokens_only_is_its_own_baseline() {
    for model in models() {
        let mut encoded = encoded(&*model);
        encoded.tokens.retain(|token| token.special);
        for method in DIFFERENCES {
            let name = format!("{} {method}", model.card().name);
            let (found, explained) = scores(&*model, encoded.clone(), method, Baseline::ZeroContent);
            assert_eq!(found, vec![0.0; encoded.len()], "{name}");
            assert_eq!(explained.claim.unwrap().difference, 0.0, "{name}");
            let (_, other) = scores(&*model, encoded.clone(), method, Baseline::Zero);
            assert!(other.claim.unwrap().difference != 0.0, "{name}: zero for all is another baseline");
        }
    }
}

#[test]
fn a_baseline_is_written_as_it_is_read() {
    for name in ["zero", "zero-content", "pad", "mask", "mean", "text:a b"] {
        assert_eq!(name.parse::<Baseline>().unwrap().to_string(), name);
    }
    let error = "zero_content".parse::<Baseline>().unwrap_err().to_string();
    assert!(error.contains("zero-content"), "{error}");
}
