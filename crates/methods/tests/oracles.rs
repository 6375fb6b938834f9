//! Published closed forms: toys whose answers are known to the last digit.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use exegete_core::{Array, Driver, Model, Row, Site, Target};
use exegete_methods::{
    Baseline, ConfiguredMethod, Masker, Method, Question, RawAttribution, RawScores, Settings, Words,
};
use exegete_testkit::{Net, Of, check};
use std::sync::Arc;

fn job<'a>(net: &'a Net, driver: &'a Driver, row: Row, site: &str, target: &str) -> Question<'a> {
    let target: Target = target.parse().unwrap();
    let logits = driver.read_one(net, &row, &exegete_core::Outputs).unwrap();
    let target = target.resolve(net.card(), &row.encoded, &logits, None, &|_| None).unwrap();
    let site: Site = site.parse().unwrap();
    Question { site, baselines: vec![Baseline::Zero], ..Question::new(net, driver, row, target) }
}

fn explained(method: &str, set: &[&str], job: &Question<'_>) -> RawAttribution {
    let chosen = ConfiguredMethod::new(method, Settings::parse(set).unwrap()).unwrap();
    chosen.explain(job).unwrap()
}

/// The scores of one method for numbers, at a site, for a target.
fn scores(net: &Net, method: &str, set: &[&str], x: &[f32], site: &str, target: &str) -> Vec<f32> {
    let driver = Driver::default();
    match explained(method, set, &job(net, &driver, Net::row(x), site, target)).scores {
        RawScores::Elements(Array { data, .. }, _) => data,
        RawScores::Tokens(tokens) | RawScores::Units(tokens) => tokens.iter().map(|&v| v as f32).collect(),
    }
}

#[track_caller]
fn close(found: &[f32], expected: &[f32], within: f32) {
    let near = check("scores", found, expected, Of::Size(1.0), within.into());
    assert!(near.is_ok(), "{near:?}: found {found:?}, expected {expected:?}");
}

#[test]
fn a_planted_nan_another_length_and_nothing_are_failures() {
    let red = |found: &[f32], expected: &[f32]| check("it", found, expected, Of::Size(1.0), 1.0).is_err();
    assert!(!red(&[1.0, 2.0], &[1.0, 2.0]));
    assert!(red(&[1.0, f32::NAN], &[1.0, 2.0]) && red(&[1.0], &[1.0, 2.0]) && red(&[], &[]));
}

const INPUT: &str = "embed.word";
const FIRST: &str = "class:out0";

#[test]
fn gradients_of_captums_model() {
    let net = Net::captum();
    let x = [0.0, 100.0, 0.0];
    close(&scores(&net, "saliency", &[], &x, INPUT, "unit:layer.2.out[0]"), &[4.0; 3], 1e-5);
    close(&scores(&net, "gradient_x_input", &[], &x, "layer.0.out", FIRST), &[0.0, 400.0, 0.0], 1e-4);
    let pre = scores(&net, "gradient_x_input", &[], &x, "layer.1.attn.out", FIRST);
    close(&pre, &[90.0, 101.0, 101.0, 101.0], 1e-4);
    let post = scores(&net, "gradient_x_input", &[], &[3.0, 4.0, 0.0], "layer.1.out", FIRST);
    close(&post, &[0.0, 8.0, 8.0, 8.0], 1e-4);
}

#[test]
fn conductance_of_captums_model() {
    let (net, x) = (Net::captum(), [0.0, 100.0, 0.0]);
    for (derivative, within) in [("derivative=exact", 0.1), ("derivative=difference", 0.41)] {
        let flow = |site: &str| scores(&net, "conductance", &["steps=500", derivative], &x, site, FIRST);
        close(&flow("layer.0.out"), &[0.0, 390.0, 0.0], within);
        close(&flow("layer.1.attn.out"), &[90.0, 100.0, 100.0, 100.0], within);
        close(&flow("layer.1.out"), &[90.0, 100.0, 100.0, 100.0], within);
        close(&flow("layer.2.out"), &[390.0, 0.0], within);
    }
    let through = |neuron: &str| scores(&net, "conductance", &["steps=500", neuron], &x, INPUT, FIRST);
    close(&through("through=layer.2.out[0]"), &[0.0, 390.0, 0.0], 0.1);
    close(&through("through=layer.1.attn.out[0]"), &[0.0, 90.0, 0.0], 0.1);
    // The integrated gradients *of* a neuron are another thing.
    let of = scores(&net, "integrated_gradients", &[], &x, INPUT, "unit:layer.1.attn.out[0]");
    close(&of, &[0.0, 100.0, 0.0], 1e-3);
}

#[test]
fn integrated_gradients_see_the_function_and_not_the_network() {
    for net in Net::invariance() {
        let found = scores(&net, "integrated_gradients", &[], &[3.0, 1.0], INPUT, "predicted");
        close(&found, &[1.5, -0.5], 0.015);
        let influence = scores(&net, "internal_influence", &["steps=2000"], &[3.0, 1.0], INPUT, "predicted");
        close(&influence, &[0.5, -0.5], 1e-3);
    }
    // Rules that go by the network's parts see its parts.
    for (method, set) in [("deep_lift", &[][..]), ("lrp", &["bias=spread"])] {
        let [first, second] =
            Net::invariance().map(|net| scores(&net, method, set, &[3.0, 1.0], INPUT, "predicted"));
        close(&first, &[1.5, -0.5], 1e-4);
        close(&second, &[2.0, -1.0], 1e-4);
    }
}

#[test]
fn saturation_hides_from_the_gradient_only() {
    let net = Net::saturating::<1>();
    for (x, slope) in [(1.0, 0.0), (2.0, 0.0), (3.0, 0.0), (0.0, 1.0), (-1.0, 1.0), (7.0, 0.0)] {
        close(&scores(&net, "saliency", &[], &[x], INPUT, "predicted"), &[slope], 1e-6);
    }
    close(&scores(&net, "integrated_gradients", &[], &[2.0], INPUT, "predicted"), &[1.0], 0.02);
    let both = Net::saturating::<2>();
    close(&scores(&both, "saliency", &[], &[1.0, 1.0], INPUT, "predicted"), &[0.0, 0.0], 1e-6);
    close(&scores(&both, "integrated_gradients", &[], &[1.0, 1.0], INPUT, "predicted"), &[0.5, 0.5], 0.01);
}

#[test]
fn small_closed_forms() {
    close(
        &scores(&Net::sigmoid(), "integrated_gradients", &[], &[1.0, 1.0], INPUT, "predicted"),
        &[0.190_398_5; 2],
        1e-5,
    );
    close(&scores(&Net::rescale(), "deep_lift", &[], &[1.0, 2.0], INPUT, "predicted"), &[2.0, 1.0], 1e-6);
    close(
        &scores(&Net::relevance(), "lrp", &["epsilon=1e-9"], &[1.0, 2.0, 3.0], INPUT, "predicted"),
        &[18.0, 36.0, 54.0],
        1e-3,
    );
}

/// Sums over two points of a slope that falls from 1 to 0 in the middle of the way.
#[test]
fn fixed_rules_are_what_they_are_called() {
    let net = Net::saturating::<1>();
    // F′ is 1 below x = 1 and 0 above: on the way to 2 the left sum with two points sees 1 and 1 (α = 0, ½).
    for (rule, expected) in [("left", 1.0), ("right", 0.0), ("middle", 1.0), ("trapezoid", 1.0)] {
        let set = [format!("rule={rule}"), "steps=2".into()];
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        let found = scores(&net, "integrated_gradients", &set, &[2.0], INPUT, "predicted");
        println!("{rule}: {found:?}");
        close(&found, &[expected], 1e-6);
    }
}

#[test]
fn hiding_numbers_of_captums_model() {
    let (net, x) = (Net::captum(), [20.0, 50.0, 30.0]);
    let check = |method: &str, set: &[&str], expected: &[f32]| {
        close(&scores(&net, method, set, &x, INPUT, FIRST), expected, 1e-3);
    };
    check("leave_one_out", &[], &[80.0, 200.0, 120.0]);
    check("occlusion", &["window=1"], &[80.0, 200.0, 120.0]);
    check("feature_ablation", &[], &[80.0, 200.0, 120.0]);
    check("feature_ablation", &["groups=0-1"], &[280.0, 280.0, 120.0]);
    // Hiding two of three leaves 30 or 20: 20 + 93 − 1 and 10 + 63 − 1, of 90 + 303 − 1.
    check("occlusion", &["window=2"], &[280.0, 300.0, 320.0]);
    let shapley = [76.6667, 196.6667, 116.6667];
    check("exact_shap", &[], &shapley);
    check("kernel_shap", &[], &shapley);
    close(&scores(&net, "permutation_shap", &["samples=1000"], &x, INPUT, FIRST), &shapley, 0.4);
    // In the tree (20 (50 30)), the last two come in together first.
    check("partition_shap", &[], &[75.0, 197.5, 117.5]);
}

/// A number that is always drawn is a baseline.
#[test]
fn hiding_behind_another_number() {
    let (net, driver) = (Net::captum(), Driver::default());
    let four = Masker::Sampled(Arc::new(Words::new(&net, &[("4".to_owned(), 1.0)]).unwrap()));
    let job = job(&net, &driver, Net::row(&[20.0, 50.0, 30.0]), INPUT, FIRST);
    let job = Question { masker: Some(four), ..job };
    let check = |method: &str, expected: &[f64]| {
        let found = explained(method, &["groups=0-1"], &job);
        let RawScores::Units(values) = found.scores else { panic!("{method} scores units") };
        exegete_testkit::close(method, &values, expected, Of::Size(1.0), 1e-3);
        assert!(found.errors.is_none_or(|errors| errors == [0.0; 3]), "one number has no spread");
    };
    check("feature_ablation", &[248.0, 248.0, 104.0]);
    check("feature_permutation", &[248.0, 248.0, 104.0]);
    let refused = ConfiguredMethod::new("feature_permutation", Settings::default()).unwrap();
    let error = refused.explain(&Question { masker: Some(Masker::Zero), ..job.clone() }).unwrap_err();
    assert!(error.to_string().contains("'zero'"), "{error}");
}
