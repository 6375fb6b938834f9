//! The ways from a baseline to a text: closed forms, and golden models against replacing rows one by one.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use exegete_core::{Array, Change, Driver, Edit, Example, Model, Pick, Row, Rules, Site, Target};
use exegete_engine::{Op, Tape, Tensor, Unary, Var};
use exegete_methods::{Baseline, ConfiguredMethod, Method, Question, RawAttribution, RawScores, Settings};
use exegete_models::{LoadOptions, load};
use exegete_testkit::{Formula, Net, Of, check, close, golden};

fn explained(method: &str, set: &[&str], job: &Question<'_>) -> RawAttribution {
    ConfiguredMethod::new(method, Settings::parse(set).unwrap()).unwrap().explain(job).unwrap()
}

fn elements(explained: &RawAttribution) -> Vec<f64> {
    let RawScores::Elements(Array { data, .. }, _) = &explained.scores else { panic!("{explained:?}") };
    data.iter().map(|&x| f64::from(x)).collect()
}

/// The scores of a way for the first tokens of a model of numbers, with Σ scores and what they claim to sum to.
fn scores(model: &dyn Model, row: Row, baseline: &str, set: &[&str]) -> (Vec<f64>, f64) {
    let driver = Driver::default();
    let baselines = vec![baseline.parse().unwrap()];
    let job = Question { baselines, ..Question::new(model, &driver, row, Target::class(0)) };
    let explained = explained("integrated_gradients", set, &job);
    (elements(&explained), explained.claim.unwrap().difference)
}

/// x₁x₂ at (3, 2); the last two vectors are a baseline.
fn product() -> Formula {
    Formula::new(&[[3.0], [2.0], [1.0], [-1.0]], |tape, x| Formula::product(tape, &x, 0..2))
}

const TIGHT: &str = "tolerance=1e-7";
const SEQUENTIAL: &str = "path=sequential";

#[test]
fn a_product_of_two_tokens() {
    let near = |baseline: &str, set: &[&str], expected: [f64; 2]| {
        let (found, claimed) = scores(&product(), Formula::row(2), baseline, set);
        close(&format!("{baseline} {set:?}"), &found, &expected, Of::Size(1.0), 1e-5);
        let sum: f64 = expected.iter().sum();
        close("claimed", &[claimed], &[sum], Of::Size(1.0), 1e-5);
    };
    near("zero", &[TIGHT], [3.0, 3.0]);
    near("zero", &[SEQUENTIAL, TIGHT], [6.0, 6.0]);
    near("text:2 3", &[TIGHT], [1.0, 6.0]);
    near("text:2 3", &[SEQUENTIAL, TIGHT], [4.0, 9.0]);
    // A slope that does not change is integrated exactly by every rule.
    for rule in ["gauss_legendre", "trapezoid", "left", "right", "middle"] {
        near("text:2 3", &[SEQUENTIAL, "steps=3", &format!("rule={rule}")], [4.0, 9.0]);
    }
    let (model, driver) = (product(), Driver::default());
    let baselines = vec![Baseline::Zero, "text:2 3".parse().unwrap()];
    let job = Question { baselines, ..Question::new(&model, &driver, Formula::row(2), Target::class(0)) };
    let both = explained("integrated_gradients", &[SEQUENTIAL, TIGHT], &job);
    close("both baselines", &elements(&both), &[5.0, 7.5], Of::Size(1.0), 1e-5);
}

/// The two walks that sequential integrated gradients are not: tokens that switch one after the other, and a token alone
/// among baselines. Both give other numbers on the product.
#[test]
fn planted_walks_differ() {
    let (model, driver) = (product(), Driver::default());
    let job = Question::new(&model, &driver, Formula::row(2), Target::class(0));
    // F where each token has the text's number or the baseline's (1, −1).
    let value = |text: [bool; 2]| {
        let other = [1.0, -1.0];
        let mut row = Formula::row(2);
        for (token, _) in text.iter().enumerate().filter(|(_, text)| !**text) {
            let change = Change::Set(Array::new([1], vec![other[token]]).unwrap());
            let at = vec![Pick::Only(vec![token])];
            row = row.edit(Edit { site: Site::named("embed.word"), at, change });
        }
        job.read(&[row], &[], &[]).unwrap().pop().unwrap().value
    };
    let [none, first, second, both] = [[false; 2], [true, false], [false, true], [true; 2]].map(value);
    let expected = [4.0, 9.0];
    close("one at a time", &[both - second, both - first], &expected, Of::Size(1.0), 1e-6);
    for fault in [[first - none, both - first], [first - none, second - none]] {
        assert!(check("a fault", &fault[..], &expected[..], Of::Size(1.0), 0.5).is_err(), "{fault:?}");
    }
}

/// A text with a number that is NaN has no scores that agree with anything, whatever the way.
#[test]
fn a_planted_nan_is_noticed() {
    let model = Formula::new(&[[f64::NAN], [3.0]], |tape, x| Formula::product(tape, &x, 0..2));
    let driver = Driver::default();
    let baselines = vec!["zero".parse().unwrap()];
    let job = Question { baselines, ..Question::new(&model, &driver, Formula::row(2), Target::class(0)) };
    for set in [&["steps=8"][..], &["steps=8", SEQUENTIAL]] {
        let settings = Settings::parse(set).unwrap();
        let method = ConfiguredMethod::new("integrated_gradients", settings).unwrap();
        // Either the model refuses to go on, or the scores are no numbers.
        let found = method.explain(&job).map(|found| elements(&found));
        let near = |found: Vec<f64>| check("NaN", &found, &[1.5, 1.5], Of::Size(1.0), f64::MAX).is_ok();
        assert!(!found.is_ok_and(near), "{set:?}");
    }
}

/// min(1, x₁ + x₂): words that can stand for each other hide each other, as in leave-one-out.
#[test]
fn redundant_words_hide_each_other() {
    let net = Net::saturating::<2>();
    let (straight, _) = scores(&net, Net::row(&[1.0, 1.0]), "zero", &[]);
    close("straight", &straight, &[0.5, 0.5], Of::Size(1.0), 0.01);
    let (sequential, claimed) = scores(&net, Net::row(&[1.0, 1.0]), "zero", &[SEQUENTIAL]);
    close("sequential", &sequential, &[0.0, 0.0], Of::Size(1.0), 1e-6);
    assert_eq!(claimed, 0.0, "nothing claims F(x) − F(x′) = 1");
}

/// x₁₁x₁₂x₂₁x₂₂ of two tokens with two units each.
#[test]
fn units_share_what_their_token_brings() {
    let model = Formula::new(&[[1.0, 2.0], [3.0, 0.5]], |tape, x| Formula::product(tape, &x, 0..4));
    let (straight, _) = scores(&model, Formula::row(2), "zero", &[TIGHT]);
    close("straight", &straight, &[0.75; 4], Of::Size(1.0), 1e-5);
    let (sequential, claimed) = scores(&model, Formula::row(2), "zero", &[SEQUENTIAL, TIGHT]);
    close("sequential", &sequential, &[1.5; 4], Of::Size(1.0), 1e-5);
    close("claimed", &[claimed], &[6.0], Of::Size(1.0), 1e-6);
}

/// tanh(x₁ + 2x₂)·x₃.
fn curved(tape: &mut Tape<f64>, x: Var<f64>) -> Var<f64> {
    let weight = Tensor::new(1, 3, vec![1.0, 2.0, 0.0]);
    let sum = tape.apply(Op::Linear, [x.clone(), weight.into()]);
    let bent = tape.apply(Op::Unary(Unary::Tanh), [sum]);
    let third = Formula::column(tape, &x, 2);
    tape.apply(Op::Mul, [bent, third])
}

#[test]
fn a_curved_function() {
    let model = Formula::new(&[[0.5], [-0.3], [2.0]], curved);
    let expected = [0.874_763_1, -1.123_570_3, -0.199_336_0];
    for set in [&[SEQUENTIAL, TIGHT][..], &[SEQUENTIAL, "steps=50"]] {
        let (found, claimed) = scores(&model, Formula::row(3), "zero", set);
        close(&format!("{set:?}"), &found, &expected, Of::Size(1.0), 1e-5);
        close("claimed", &[claimed], &[expected.iter().sum::<f64>()], Of::Size(1.0), 1e-5);
    }
    let (straight, claimed) = scores(&model, Formula::row(3), "zero", &[TIGHT]);
    let ends = [straight.iter().sum(), claimed];
    close("straight", &ends, &[expected[2]; 2], Of::Size(1.0), 1e-5);
}

/// Without a tolerance of its own the default must do on whole models: each token's sum is F(x) − F(its row zeroed).
#[test]
fn tokens_of_golden_models_get_what_zeroing_their_rows_takes() {
    for (folder, site) in [
        ("bert-sequence", "embed.word"),
        ("roberta-sequence", "embed.word"),
        ("distilbert-sequence", "layer.0.out"),
    ] {
        let options = LoadOptions { threads: 1, ..LoadOptions::default() };
        let model = load(&golden::root().join(folder), &options).unwrap();
        let (driver, row) = (
            Driver::default(),
            Row::new(model.encoded(&Example::text("a film that is not so bad")).unwrap()),
        );
        let site: Site = site.parse().unwrap();
        let (baselines, tokens) = (vec![Baseline::Zero], row.encoded.len());
        let job =
            Question { site, baselines, ..Question::new(&*model, &driver, row.clone(), Target::class(1)) };
        let start = job.read(&job.baseline_rows().unwrap(), &[site], &[]).unwrap().remove(0).values.remove(0);
        let width = start.len() / tokens;
        let whole = job.read_own(&[], &[], Rules::Gradient).unwrap().value;
        let without = |token: usize| {
            let own = start.data[token * width..][..width].to_vec();
            let change = Change::Set(Array::new([width], own).unwrap());
            row.clone().edit(Edit { site, at: vec![Pick::Only(vec![token])], change })
        };
        let rows: Vec<Row> = (0..tokens).map(without).collect();
        let expected: Vec<f64> =
            job.read(&rows, &[], &[]).unwrap().into_iter().map(|found| whole - found.value).collect();
        let before = driver.spent();
        let found = explained("integrated_gradients", &[SEQUENTIAL], &job);
        let spent = driver.spent().since(before).backward_rows;
        let values = found.tokens(&job).unwrap().unwrap();
        close(&format!("{folder} {site}"), &values, &expected, Of::Largest(0.0), 0.01);
        let claim = found.claim.as_ref().unwrap().difference;
        close("claimed", &[claim], &[expected.iter().sum::<f64>()], Of::Largest(1.0), 1e-4);
        let points = found.found["points"].as_u64().unwrap() as usize;
        // The text is the end of every path and is run once.
        assert_eq!(spent, points - tokens + 1, "{folder}: {points} points of {tokens} tokens");
        assert!(found.notes.is_empty(), "{:?}", found.notes);
    }
}

/// Rows that are their own baseline score nothing and are not run.
#[test]
fn special_tokens_that_stay_cost_nothing() {
    let options = LoadOptions { threads: 1, ..LoadOptions::default() };
    let model = load(&golden::root().join("bert-sequence"), &options).unwrap();
    let row = Row::new(model.encoded(&Example::text("a film that is not so bad")).unwrap());
    let special: Vec<bool> = row.encoded.tokens.iter().map(|token| token.special).collect();
    let kept = special.iter().filter(|special| **special).count();
    for (baseline, skipped) in
        [(Baseline::Zero, 0), (Baseline::ZeroContent, kept), (Baseline::Pad, kept), (Baseline::Mask, kept)]
    {
        let driver = Driver::default();
        let question = Question::new(&*model, &driver, row.clone(), Target::class(1));
        let job = Question { baselines: vec![baseline.clone()], ..question };
        let found = explained("integrated_gradients", &[SEQUENTIAL, "steps=4"], &job);
        let zeros =
            found.tokens(&job).unwrap().unwrap().iter().map(|&score| score == 0.0).collect::<Vec<_>>();
        let expected = if skipped > 0 { special.clone() } else { vec![false; special.len()] };
        assert_eq!(zeros, expected, "{baseline}");
        assert_eq!(found.found["points"], 4 * (special.len() - skipped), "{baseline}");
    }
}

#[test]
fn other_ways_are_refused_by_name() {
    let refused = |set: &str| {
        let settings = Settings::parse(&[set]).unwrap();
        ConfiguredMethod::new("integrated_gradients", settings).map(drop).unwrap_err().to_string()
    };
    assert_eq!(refused("path=discretised"), "path=discretised: must be one of straight, sequential");
    let (net, driver) = (Net::captum(), Driver::default());
    let job = Question::new(&net, &driver, Net::row(&[1.0, 2.0, 3.0]), Target::class(0));
    let job = Question { site: Site::named("layer.1.out"), baselines: vec![Baseline::Zero], ..job };
    let chosen = ConfiguredMethod::new("integrated_gradients", Settings::parse(&[SEQUENTIAL]).unwrap());
    let error = chosen.unwrap().explain(&job).unwrap_err().to_string();
    assert!(error.contains("layer.1.out has none"), "{error}");
}
