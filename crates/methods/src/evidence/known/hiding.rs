//! The default level: what hiding words says.

use super::Bench;
use exegete_core::report::Checks;
use exegete_core::task::{self, Task};

/// Twenty words that sum to 1.6: three speak loudly for "positive", a few against it, the others little.
const TEXT: &str = "p5 n20 p10 p90 n2 p4 n1 p70 a p3 n15 p8 p2 n4 p30 p1 n30 p6 b p3";

fn bench() -> Bench {
    Bench::new(&task::CLASSIFICATION, 1.0, TEXT, "predicted")
}

/// Some order that has nothing to do with the weights.
fn unrelated(count: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * 7 + 3) % 19) as f64 / 19.0 - 0.5).collect()
}

fn random_mean(erasure: &exegete_core::report::Erasure) -> f64 {
    erasure.random.iter().map(|drop| drop.mean).sum::<f64>() / erasure.random.len() as f64
}

/// What must hold of a right explanation, by measure.
fn sound(checks: &Checks) -> [bool; 5] {
    let comp = checks.comprehensiveness.as_ref().unwrap();
    let suff = checks.sufficiency.as_ref().unwrap();
    let tau = checks.leave_one_out.as_ref().unwrap().tau.unwrap();
    let flip = checks.flip.as_ref().unwrap();
    [
        comp.own.mean > random_mean(comp) && random_mean(comp) > comp.reversed.mean,
        suff.own.mean < random_mean(suff) && random_mean(suff) < suff.reversed.mean,
        tau > 0.99,
        flip.units == [3, 7],
        checks.verdict.as_ref().unwrap().failures.is_empty(),
    ]
}

#[test]
fn the_truth_passes_and_its_inverse_fails_every_measure() {
    let bench = bench();
    let oracle = bench.oracle();
    assert_eq!(sound(&bench.check(&oracle, true)), [true; 5]);
    let inverted: Vec<f64> = oracle.iter().map(|v| -v).collect();
    assert_eq!(sound(&bench.check(&inverted, true)), [false; 5]);
}

#[test]
fn the_truth_beats_an_unrelated_order_on_every_measure() {
    let bench = bench();
    let oracle = bench.oracle();
    let (right, other) = (bench.check(&oracle, true), bench.check(&unrelated(oracle.len()), true));
    let comp = |checks: &Checks| checks.comprehensiveness.as_ref().unwrap().own.mean;
    let suff = |checks: &Checks| checks.sufficiency.as_ref().unwrap().own.mean;
    let tau = |checks: &Checks| checks.leave_one_out.as_ref().unwrap().tau.unwrap();
    let tried = |checks: &Checks| checks.flip.as_ref().unwrap().tried;
    assert!(comp(&right) > comp(&other) && suff(&right) < suff(&other));
    assert!(tau(&right) > tau(&other) && tried(&right) < tried(&other));
}

#[test]
fn the_numbers_are_those_of_the_definition() {
    let bench = Bench::new(&task::CLASSIFICATION, 1.0, "p100 a n50 b", "class:positive:logit");
    let checks = bench.check(&bench.oracle(), true);
    let p = |sum: f64| 1.0 / (1.0 + (-2.0 * sum).exp());
    let hiding = checks.hiding.unwrap();
    assert_eq!((hiding.masker.as_str(), hiding.target.as_str()), ("delete", "class:positive:prob"));
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} is not {b}");
    near(hiding.value, p(0.5));
    // Bins of 1, 1, 1, 1 and 2 of four words; the order is p100, a, b, n50.
    let comp = checks.comprehensiveness.unwrap();
    comp.own.values.iter().for_each(|&drop| near(drop, p(0.5) - p(-0.5)));
    near(comp.reversed.values[0], p(0.5) - p(1.0));
    let suff = checks.sufficiency.unwrap();
    suff.own.values.iter().for_each(|&drop| near(drop, p(0.5) - p(1.0)));
    near(suff.reversed.values[4], p(0.5) - p(-0.5));
    let loo = checks.leave_one_out.unwrap();
    [p(0.5) - p(-0.5), 0.0, p(0.5) - p(1.0), 0.0].iter().zip(&loo.drops).for_each(|(a, b)| near(*a, *b));
    near(loo.tau.unwrap(), 1.0);
    let flip = checks.flip.unwrap();
    // The three words that are not the one found.
    assert_eq!((flip.units.as_slice(), flip.random_sets), ([0].as_slice(), 3));
    near(flip.random_share, 0.0);
    // Bins of 1, 1, 1, 1 and 2 words: the mean over single words, and over all six pairs.
    let single = p(0.5) - (p(-0.5) + 2.0 * p(0.5) + p(1.0)) / 4.0;
    let pairs = p(0.5) - (p(-0.5) * 2.0 + p(0.0) + p(0.5) + p(1.0) * 2.0) / 6.0;
    [single, single, single, single, pairs]
        .iter()
        .zip(&comp.random[0].values)
        .for_each(|(a, b)| near(*a, *b));
    near(flip.after.1, p(0.5));
    assert_eq!((flip.before.0.as_str(), flip.after.0.as_str()), ("positive", "negative"));
}

#[test]
fn sentences() {
    let sentence = |text: &str, target: &str| {
        let bench = Bench::new(&task::CLASSIFICATION, 1.0, text, target);
        let sign = if target == "class:negative" { -1.0 } else { 1.0 };
        let values: Vec<f64> = bench.oracle().iter().map(|v| sign * v).collect();
        bench.check(&values, true).verdict.unwrap().sentence
    };
    assert_eq!(
        sentence("p100 a n50 b", "predicted"),
        "Removing \"p100\" alone turns positive (0.73) into negative (0.73); a random word does so in 0 % of cases."
    );
    assert_eq!(
        sentence("p60 a p70 n100", "predicted"),
        "Removing \"p70\" alone turns positive (0.65) into negative (0.69); a random word does so in 33 % of cases."
    );
    assert_eq!(
        sentence("p60 a p70 n20 b c", "predicted"),
        "Removing the 2 top words (\"p70\", \"p60\") turns positive (0.90) into negative (0.60); 2 random words do so in 0 % of cases."
    );
    assert_eq!(
        sentence("p60 p50 p70 p65", "predicted"),
        "Removing the top 2 words (\"p70\", \"p65\") lowers positive from 0.99 to 0.90; 2 random words lower it to 0.92 on average."
    );
    assert_eq!(
        sentence("p60", "predicted"),
        "Removing \"p60\", the only word, turns positive (0.77) into negative (0.50)."
    );
    assert_eq!(
        sentence("p60 n10 n5 a b", "class:negative"),
        "Removing the top 3 words (\"n10\", \"n5\", \"a\") lowers negative from 0.29 to 0.23; 3 random words raise it to 0.42 on average."
    );
}

#[test]
fn a_flip_that_takes_most_of_the_text_is_no_headline() {
    let text = (0..60).map(|i| if i < 40 { "p10" } else { "n1" }).collect::<Vec<_>>().join(" ");
    let bench = Bench::new(&task::CLASSIFICATION, 1.0, &text, "predicted");
    let checks = bench.check(&bench.oracle(), true);
    assert!(checks.flip.unwrap().units.len() > 30);
    assert_eq!(
        checks.verdict.unwrap().sentence,
        "Removing the top 6 words (\"p10\", \"p10\", \"p10\", \"p10\", \"p10\", …) lowers positive from 0.999 to 0.998; 6 random words leave it at 0.999 on average."
    );
}

#[test]
fn sizes_are_compared_with_sizes() {
    let bench = bench();
    let sizes: Vec<f64> = bench.oracle().iter().map(|v| v.abs()).collect();
    // Drops of a probability are not symmetric, so that the order of sizes is nearly, not fully, that of the weights.
    let tau = |signed| bench.check(&sizes, signed).leave_one_out.unwrap().tau.unwrap();
    assert!(tau(false) > 0.9 && tau(true) < 0.7, "{} {}", tau(false), tau(true));
}

/// Worked out by hand: F is the sum of ten weights, and bins hold 1, 1, 1, 2 and 5 words.
#[test]
fn erasure_of_a_sum() {
    // The value of a regression is the first output, −Σ w.
    let text = "n400 n300 n200 n100 a b c p100 p100 p200";
    let bench = Bench::new(&task::REGRESSION, 1.0, text, "class:0");
    let values: Vec<f64> = bench.oracle().iter().map(|w| -w).collect();
    let checks = bench.check(&values, true);
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} is not {b}");
    let (comp, suff) = (checks.comprehensiveness.unwrap(), checks.sufficiency.unwrap());
    near(comp.own.mean, 5.8);
    near(comp.reversed.mean, -2.6);
    near(suff.own.mean, 0.2);
    near(suff.reversed.mean, 8.6);
    // Single words cost 0.6 on average; of larger sets those drawn for the text are a sample.
    comp.random[0].values[..3].iter().for_each(|&drop| near(drop, 0.6));
    assert!((comp.random[0].mean - 1.2).abs() < 0.6, "{:?}", comp.random);
    assert!((suff.random[0].mean - 4.8).abs() < 1.5, "{:?}", suff.random);
}

/// Scores that are rounding beside F are none, whatever they rank; far larger ones are scores.
#[test]
fn rounding_is_no_score() {
    let bench = Bench::new(&task::CLASSIFICATION, 0.0, TEXT, "predicted");
    let scaled = |by: f64| -> Vec<f64> { bench.oracle().iter().map(|v| by * v).collect() };
    let tiny = bench.check(&scaled(4e-30), true);
    let found = tiny.leave_one_out.as_ref().unwrap();
    assert_eq!((found.tau, found.p_value), (None, None), "the order of rounding agrees with nothing");
    let tiny = tiny.verdict.unwrap();
    assert_eq!(tiny.failures, ["all scores are 0: they rank nothing"]);
    assert!(tiny.says_zero());
    let chance = |verdict: &exegete_core::report::Verdict| {
        verdict.findings.iter().find(|found| found.check == "chance").unwrap().passed
    };
    assert_eq!(chance(&tiny), None, "nothing moves F, so no ranking can be told from chance");
    let real = bench.check(&scaled(1e-3), true).verdict.unwrap();
    assert!(real.failures.is_empty() && !real.says_zero(), "{:?}", real.failures);
}

#[test]
fn scores_that_rank_nothing_or_do_not_fit_are_named() {
    let bench = bench();
    let equal = bench.check(&[0.5; 20], true).verdict.unwrap();
    assert_eq!(equal.failures[0], "all 20 scores are 0.5: they rank nothing");
    let scored = super::scored(&[1.0], true);
    assert!(bench.evidence().check(super::Level::Default, &scored, None, Checks::default()).is_err());
    let none = bench.evidence().check(super::Level::None, &scored, None, Checks::default()).unwrap();
    assert_eq!(none, Checks::default());
}

#[test]
fn claims_that_do_not_add_up_fail() {
    let bench = bench();
    let oracle = bench.oracle();
    let scored = super::scored(&oracle, true);
    for (difference, failures) in [(1.6, 0), (1.6 * 1.04, 0), (1.6 * 1.08, 1)] {
        let completeness = exegete_core::report::Completeness::new([1.6], difference);
        let claimed = Checks { completeness: Some(completeness), ..Checks::default() };
        let checks = bench.evidence().check(super::Level::Default, &scored, None, claimed).unwrap();
        assert_eq!(checks.verdict.unwrap().failures.len(), failures, "{difference}");
    }
}

#[test]
fn what_decides_nothing_flips_nothing() {
    for (task, target) in [
        (&task::REGRESSION as &dyn Task, "class:0"),
        (&task::ENCODER, "unit:logits[1]"),
        (&task::CLASSIFICATION, "unit:logits[1]"),
        (&task::CLASSIFICATION, "class:negative"),
    ] {
        let bench = Bench::new(task, 1.0, "p60 a n10", target);
        let checks = bench.check(&[-0.6, 0.0, 0.1], true);
        assert!(checks.flip.is_none(), "{task:?} {target}");
        assert!(checks.leave_one_out.is_some() && checks.verdict.is_some());
    }
}

fn long(words: usize) -> String {
    let word = |i: usize| format!("{}{}", if i.is_multiple_of(3) { 'n' } else { 'p' }, i * 37 % 29);
    (0..words).map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_budget_is_kept_for_any_length() {
    for (words, allowed) in
        [(1, 2), (2, 4), (5, 32), (20, 160), (50, 190), (51, 190), (100, 190), (200, 190), (510, 190)]
    {
        let bench = Bench::new(&task::CLASSIFICATION, 0.01, &long(words), "predicted");
        bench.check(&bench.oracle(), true);
        let rows = bench.driver.spent().forward_rows;
        // The costliest case: only the longest prefix flips, so that all are tried and random sets after them.
        let last = words.saturating_sub(2);
        let text = (0..words).map(|i| if i == last { "p99999" } else { "n1" }).collect::<Vec<_>>().join(" ");
        let bench = Bench::new(&task::CLASSIFICATION, 0.01, &text, "predicted");
        let scores: Vec<f64> = (0..words).map(|i| -(i as f64)).collect();
        let flip = bench.check(&scores, true).flip.unwrap();
        assert_eq!(flip.units.len(), words.saturating_sub(1).max(1));
        let most = bench.driver.spent().forward_rows;
        assert!(rows.max(most) <= allowed, "{words} words took {rows} rows, at most {most}");
    }
}

#[test]
fn every_set_is_run_once_and_shared() {
    let bench = bench();
    let oracle = bench.oracle();
    let mut evidence = bench.evidence();
    let first = bench.check_with(&mut evidence, &oracle, true);
    let rows = bench.driver.spent().forward_rows;
    assert_eq!(first.hiding.as_ref().unwrap().rows, rows);
    let again = bench.check_with(&mut evidence, &oracle, true);
    assert_eq!(bench.driver.spent().forward_rows, rows, "nothing is run twice");
    assert_eq!(again.comprehensiveness, first.comprehensiveness);
    let other = bench.check_with(&mut evidence, &unrelated(20), true);
    assert_eq!(other.comprehensiveness.unwrap().random, first.comprehensiveness.unwrap().random);
    assert!(bench.driver.spent().forward_rows < rows + 50);
}
