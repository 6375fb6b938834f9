//! Grad-CAM by hand: a table of activations, windows of a convolution, and the places that it refuses.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use exegete_core::report::Item;
use exegete_core::{Axis, Driver, Example, Model, Role, Row, Rules, Site, Target};
use exegete_engine::{Op, Tape, Tensor, Var};
use exegete_methods::{
    ConfiguredMethod, Method, Question, RawAttribution, RawScores, Request, Settings, SiteChoice, explain,
};
use exegete_models::{LoadOptions, load};
use exegete_testkit::{Formula, Of, check, close, golden};
use std::sync::Arc;

fn grad_cam(set: &[&str]) -> ConfiguredMethod {
    ConfiguredMethod::new("grad_cam", Settings::parse(set).unwrap()).unwrap()
}

fn tokens(explained: &RawAttribution) -> Vec<f64> {
    let RawScores::Tokens(scores) = &explained.scores else { panic!("{explained:?}") };
    scores.clone()
}

const SIZE: Of = Of::Size(1.0);
/// Four positions of three channels.
const A: [[f64; 3]; 4] = [[1.0, 0.0, 2.0], [3.0, 1.0, 0.0], [0.0, 4.0, 1.0], [2.0, 2.0, 2.0]];

/// 2·max_t A_t0 − max_t A_t1 + max_t A_t2.
fn largest(tape: &mut Tape<f64>, x: Var<f64>) -> Var<f64> {
    let [a, b, c] = [0, 1, 2].map(|channel| Formula::largest(tape, &x, (0..4).map(|t| 3 * t + channel)));
    let a = tape.apply(Op::Scale(2.0), [a]);
    let first = tape.apply(Op::Sub, [a, b]);
    tape.apply(Op::Add, [first, c])
}

/// Slopes are (2, −1, 1) at one position of four each, so that w = (.5, −.25, .25).
#[test]
fn a_table_by_hand() {
    let (model, driver) = (Formula::new(&A, largest), Driver::default());
    let job = Question::new(&model, &driver, Formula::row(4), Target::class(0));
    let plain = grad_cam(&["place=words", "relu=no"]).explain(&job).unwrap();
    close("without relu", &tokens(&plain), &[1.0, 1.25, -0.75, 1.0], SIZE, 1e-6);
    assert!(plain.signed() && plain.claim.is_none() && plain.notes.is_empty());
    let expected = [1.0, 1.25, 0.0, 1.0];
    let sizes = grad_cam(&["place=words"]).explain(&job).unwrap();
    close("default", &tokens(&sizes), &expected, SIZE, 1e-6);
    assert!(!sizes.signed() && sizes.notes[0].contains("not which way"), "{:?}", sizes.notes);
    // What gradient × activation would give, without the mean over positions.
    let site = [job.site];
    let read = job.read_own(&site, &site, Rules::Gradient).unwrap();
    let products = read.values[0].data.iter().zip(&read.gradients[0].data).map(|(a, g)| f64::from(a * g));
    let products: Vec<f64> = products.collect::<Vec<_>>().chunks(3).map(|row| row.iter().sum()).collect();
    close("gradient x activation", &products, &[2.0, 6.0, -4.0, 0.0], SIZE, 1e-6);
    assert!(check("a fault", &products[..], &expected[..], SIZE, 0.5).is_err());
}

/// One number of the table that is NaN, with and without the rectifier, which must not make 0 of it.
#[test]
fn a_planted_nan_is_noticed() {
    for row in 0..4 {
        let mut table = A;
        table[row][2] = f64::NAN;
        let (model, driver) = (Formula::new(&table, largest), Driver::default());
        let job = Question::new(&model, &driver, Formula::row(4), Target::class(0));
        for (set, expected) in [("relu=no", [1.0, 1.25, -0.75, 1.0]), ("relu=yes", [1.0, 1.25, 0.0, 1.0])] {
            // Either the model refuses to go on, or the scores are not those of the table.
            let found = grad_cam(&["place=words", set]).explain(&job).map(|found| tokens(&found));
            let near = found.is_ok_and(|found| check("NaN", &found, &expected[..], SIZE, f64::MAX).is_ok());
            assert!(!near, "row {row}, {set}");
        }
    }
}

/// Sums of neighbours: \[B, 4\] → \[B, 3\].
fn pairs(tape: &mut Tape<f64>, x: Var<f64>) -> Var<f64> {
    let weight = Tensor::new(3, 4, vec![1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
    tape.apply(Op::Linear, [x, weight.into()])
}

fn total(tape: &mut Tape<f64>, x: Var<f64>) -> Var<f64> {
    tape.apply(Op::RowSum, [x])
}

/// A convolution of width 2 without padding holds (1, 0, 2), and every slope is 1.
#[test]
fn windows_of_a_convolution_share_with_their_tokens() {
    let words = [[1.0], [0.0], [0.0], [2.0]];
    let model = Formula::new(&words, total).through("conv.2", Axis::Window(2), 1, pairs);
    let request = Request { methods: vec![grad_cam(&[])], ..Request::default() };
    let items = explain(&model, &Driver::default(), &Example::text("0 1 2 3"), &request).unwrap();
    let [Item::Attribution(found)] = &items[..] else { panic!("{items:?}") };
    assert_eq!(found.site, "conv.2", "without --site it looks at convolutions");
    close("windows", &found.token_values, &[0.5, 0.5, 1.0, 1.0], SIZE, 1e-6);
    assert!(found.checks.completeness.is_none());
}

fn bert() -> Arc<dyn Model> {
    let options = LoadOptions { threads: 1, ..LoadOptions::default() };
    load(&golden::root().join("bert-sequence"), &options).unwrap()
}

#[test]
fn without_convolutions_it_looks_at_the_last_layer() {
    let (model, driver) = (bert(), Driver::default());
    let row = Row::new(model.encoded(&Example::text("a film that is not so bad")).unwrap());
    let job = Question::new(&*model, &driver, row, Target::class(1));
    let site = |set: &[&str]| grad_cam(set).explain(&job).unwrap().site.unwrap().to_string();
    let last = model.open().unwrap().sites().with_role(Role::LayerOutput).last().unwrap().site.to_string();
    assert_eq!(site(&[]), last);
    assert_eq!(site(&["place=words"]), "embed.word");
    assert_eq!(site(&["noise=smooth", "noise_samples=3"]), last, "noise works around it");
    // Of a neuron in the first layer, nothing later can say anything, and the word vectors are not taken instead.
    let target = "unit:layer.0.out[1,2]".parse().unwrap();
    let inner = Question { target, ..job.clone() };
    let refused = grad_cam(&[]).explain(&inner).unwrap_err().to_string();
    assert!(refused.contains("none lies before unit:layer.0.out[1,2]"), "{refused}");
    assert!(grad_cam(&["place=words"]).explain(&inner).is_ok());
}

/// What Captum's `LayerGradCam` gives at each convolution of small models.
#[test]
fn convolutions_of_small_models_are_captums() {
    let text = std::fs::read_to_string(golden::root().join("../grad_cam.json")).unwrap();
    let recorded: serde_json::Value = serde_json::from_str(&text).unwrap();
    let cases = recorded["cases"].as_array().unwrap();
    assert!(cases.len() >= 18, "{}", cases.len());
    for case in cases {
        let folder = golden::root().join("../small").join(case["folder"].as_str().unwrap());
        let inputs = std::fs::read_to_string(folder.join("golden.json")).unwrap();
        let inputs: serde_json::Value = serde_json::from_str(&inputs).unwrap();
        let input = &inputs["inputs"][case["input"].as_u64().unwrap() as usize][0];
        let model = load(&folder, &LoadOptions { threads: 1, ..LoadOptions::default() }).unwrap();
        let row = Row::new(model.encoded(&Example::text(input.as_str().unwrap())).unwrap());
        let driver = Driver::default();
        let site = case["site"].as_str().unwrap().parse().unwrap();
        let job = Question { site, ..Question::new(&*model, &driver, row, Target::class(0)) };
        let expected: Vec<f64> =
            case["scores"].as_array().unwrap().iter().map(|score| score.as_f64().unwrap()).collect();
        let found = tokens(&grad_cam(&["relu=no"]).explain(&job).unwrap());
        let name = format!("{} {} {site}", case["folder"], case["input"]);
        close(&name, &found, &expected, Of::Largest(0.0), 1e-5);
        // With the rectifier that is on by default, what speaks against the target is gone.
        let cut: Vec<f64> = expected.iter().map(|score| score.max(0.0)).collect();
        let found = tokens(&grad_cam(&[]).explain(&job).unwrap());
        close(&name, &found, &cut, Of::Size(expected.iter().fold(0.0, |top: f64, s| top.max(s.abs()))), 1e-5);
    }
}

#[test]
fn places_without_channels_of_positions_are_refused_by_name() {
    let (model, driver) = (bert(), Driver::default());
    for (site, why) in [
        ("logits", "is the model's answer"),
        ("pooled", "has no positions"),
        ("layer.0.attn.probs", "relates positions to each other"),
    ] {
        let site: Site = site.parse().unwrap();
        let methods = vec![grad_cam(&[])];
        let request = Request { methods, site: SiteChoice::At(site), ..Request::default() };
        let refused = explain(&*model, &driver, &Example::text("a film"), &request).unwrap_err().to_string();
        assert!(refused.contains(&format!("{site} {why}")), "{refused}");
    }
}
