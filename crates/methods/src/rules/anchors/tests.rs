use super::*;
use crate::evidence::agrees;
use crate::search::planted::Planted;
use crate::{Masker, Words};
use exegete_core::Result;
use exegete_core::report::Bounded;
use exegete_core::task::REGRESSION;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

/// Whether the answer stays, by what is kept and the number of the draw.
type Stays<'s> = &'s dyn Fn(&[bool], u64) -> bool;

fn run(units: usize, search: &AnchorSearch, seed: u64, stays: Stays<'_>) -> Found {
    let mut ask = |draws: &[Draw]| -> Result<Vec<f64>> {
        let one = |(hidden, number): &Draw| {
            let kept: Vec<bool> = (0..units).map(|unit| !hidden.contains(&unit)).collect();
            if stays(&kept, *number) { 1.0 } else { -1.0 }
        };
        Ok(draws.iter().map(one).collect())
    };
    let random = ChaCha8Rng::seed_from_u64(seed);
    find(search, DrawSource { units, numbered: units > 99, random, ask: &mut ask }).unwrap()
}

/// The share of all texts under a rule that keep the answer.
fn precision(units: usize, rule: &[usize], stays: Stays<'_>) -> f64 {
    let free: Vec<usize> = (0..units).filter(|unit| !rule.contains(unit)).collect();
    let text = |bits: usize| {
        let mut kept = vec![true; units];
        free.iter().enumerate().for_each(|(i, &unit)| kept[unit] = bits >> i & 1 == 1);
        stays(&kept, 0)
    };
    let keeps = (0..1usize << free.len()).filter(|&bits| text(bits)).count();
    keeps as f64 / (1u64 << free.len()) as f64
}

/// The rule must be one of these in at least 99 of 100 searches; other seeds than those that any constant was chosen with.
fn check(units: usize, stays: Stays<'_>, rules: &[&[usize]]) {
    let found: Vec<Found> =
        (9000..9400).map(|seed| run(units, &AnchorSearch::default(), seed, stays)).collect();
    let is_right = |found: &Found| found.met && rules.contains(&found.conditions.as_slice());
    let wrong: Vec<_> =
        found.iter().filter(|found| !is_right(found)).map(|f| (&f.conditions, f.met)).collect();
    assert!(wrong.len() <= 4, "{units} units, {rules:?}: {wrong:?}");
}

#[test]
fn planted_rules_are_found() {
    for units in [6, 20] {
        check(units, &|kept, _| kept[3], &[&[3]]);
        check(units, &|kept, _| kept[1] && kept[4], &[&[1, 4]]);
        check(units, &|kept, _| kept[1] || kept[4], &[&[1], &[4]]);
        check(units, &|kept, _| kept[0] && kept[2] && kept[5], &[&[0, 2, 5]]);
        check(units, &|_, _| true, &[&[]]);
    }
}

#[test]
fn a_noisy_rule_is_found() {
    // Where the third unit stays, one text of 64 loses the answer; elsewhere all do.
    let noisy = |kept: &[bool], _: u64| match kept[2] {
        true => kept[5] || kept[6] || kept[7] || kept[8] || kept[9] || kept[10],
        false => false,
    };
    assert_eq!(precision(20, &[2], &noisy), 63.0 / 64.0);
    let found = (0..100).map(|seed| run(20, &AnchorSearch::default(), seed, &noisy));
    let right = found.filter(|found| found.met && found.conditions.contains(&2)).count();
    assert!(right >= 99, "{right} of 100");
}

/// A linear model whose weights fall off quickly, with the answer that it gives for the whole text.
fn linear(units: usize, seed: u64) -> impl Fn(&[bool], u64) -> bool {
    let mut random = ChaCha8Rng::seed_from_u64(1000 + seed);
    let mut weight = || {
        let sign = if random.random::<f64>() < 0.6 { 0.3 } else { -0.3 };
        sign * (1.0 / (random.random::<f64>() + 0.03) - 0.9).powf(0.8)
    };
    let weights: Vec<f64> = (0..units).map(|_| weight()).collect();
    let sum = move |kept: &[bool]| -> f64 {
        weights.iter().zip(kept).map(|(weight, kept)| if *kept { *weight } else { 0.0 }).sum()
    };
    let whole = sum(&vec![true; units]) > 0.0;
    move |kept: &[bool], _| (sum(kept) > 0.0) == whole
}

/// Rules that are said to be met and are not, of 200; and the mean number of draws.
fn broken_promises(search: &AnchorSearch) -> (usize, usize, usize) {
    let (mut met, mut broken, mut draws) = (0, 0, 0);
    for seed in 0..200 {
        let stays = linear(14, seed);
        let found = run(14, search, seed, &stays);
        let truth = precision(14, &found.conditions, &stays);
        met += usize::from(found.met);
        broken += usize::from(found.met && truth < search.threshold);
        draws += found.draws;
        assert!(!found.met || found.precision.low >= search.threshold);
        assert!(found.draws <= search.budget + search.batch, "{}", found.draws);
    }
    (met, broken, draws / 200)
}

#[test]
fn promises_are_kept_as_often_as_said() {
    let (met, broken, draws) = broken_promises(&AnchorSearch::default());
    assert!(met >= 180, "{met} of 200");
    assert!(broken * 20 <= met, "{broken} of {met}");
    assert!(draws < 500, "{draws}");
}

#[test]
fn a_looser_promise_is_broken_more_often() {
    let loose = AnchorSearch { delta: 0.95, ..AnchorSearch::default() };
    assert!(broken_promises(&loose).1 > broken_promises(&AnchorSearch::default()).1);
}

#[test]
fn a_low_threshold_forgives_more() {
    // Three texts of four keep the answer whatever stays.
    let stays = |kept: &[bool], _: u64| kept[1] || kept[4];
    let search = AnchorSearch { threshold: 0.5, ..AnchorSearch::default() };
    let found = (0..100).map(|seed| run(20, &search, seed, &stays));
    let empty = found.filter(|found| found.met && found.conditions.is_empty()).count();
    assert!(empty >= 90, "{empty} of 100");
}

#[test]
fn random_rules_are_what_draws_under_them_give() {
    // Of 12 units the answer needs the first and either of two others.
    let stays = |kept: &[bool], _: u64| kept[0] && (kept[1] || kept[2]);
    let pairs = (0..12).flat_map(|a| (a + 1..12).map(move |b| precision(12, &[a, b], &stays)));
    let truth = pairs.sum::<f64>() / 66.0;
    let search = AnchorSearch { most: 2, threshold: 0.9, ..AnchorSearch::default() };
    let random: Vec<Bounded> = (0..200).filter_map(|seed| run(12, &search, seed, &stays).random).collect();
    assert!(random.len() > 190, "{}", random.len());
    let mean = random.iter().map(|random| random.value).sum::<f64>() / random.len() as f64;
    assert!((mean - truth).abs() < 0.02, "{mean} is not {truth}");
    let inside = random.iter().filter(|random| random.low <= truth && truth <= random.high).count();
    assert!(inside * 20 >= random.len() * 19, "{inside} of {}", random.len());
    // Without the weights it would be the precision of the empty rule.
    assert!((mean - precision(12, &[], &stays)).abs() > 0.05);
}

#[test]
fn short_texts_are_counted_out() {
    let stays = |kept: &[bool], _: u64| kept[0] || (kept[1] && kept[2]);
    let found = run(3, &AnchorSearch { threshold: 0.7, ..AnchorSearch::default() }, 0, &stays);
    assert!(found.exact && found.met);
    assert_eq!((found.conditions, found.precision.low, found.draws), (vec![0], 1.0, 8));
    // {0}: 1; {1} and {2}: one half and a quarter more.
    assert_eq!(found.random.unwrap().value, (1.0 + 0.75 + 0.75) / 3.0);
    let values: Vec<f64> = found.steps.iter().map(|step| step.precision.value).collect();
    assert_eq!(values, [5.0 / 8.0, 1.0]);
    assert_eq!((found.keeps.len(), found.breaks.len()), (3, 0));
    let short = run(3, &AnchorSearch { most: 0, ..AnchorSearch::default() }, 0, &stays);
    assert!(!short.met && short.conditions.is_empty());
    let lone = run(0, &AnchorSearch::default(), 0, &|_, _| true);
    assert!(lone.met && lone.conditions.is_empty());
}

#[test]
fn what_cannot_be_shown_is_not_claimed() {
    // A coin whatever is kept: only the number of the draw counts.
    let coin = |_: &[bool], number: u64| number.is_multiple_of(2);
    let found = run(120, &AnchorSearch { most: 3, ..AnchorSearch::default() }, 0, &coin);
    assert!(!found.met);
    assert!(found.precision.low < 0.5 && found.precision.high > 0.5, "{:?}", found.precision);
    assert!(!found.breaks.is_empty());
}

#[test]
fn the_same_seed_finds_the_same() {
    let stays = linear(14, 3);
    assert_eq!(run(14, &AnchorSearch::default(), 5, &stays), run(14, &AnchorSearch::default(), 5, &stays));
}

fn great(words: &[&str]) -> f64 {
    if words.contains(&"great") { 2.0 } else { -1.0 }
}

const LONG: &str = "it is a great and long film about two people who meet in the rain";

#[test]
fn a_report_states_the_rule() {
    let rule = Planted::new(great).rule(&[], "a great and long film", None);
    assert_eq!(
        (rule.conditions, rule.met, rule.precision.value, rule.precision.low),
        (vec![1], true, 1.0, 1.0)
    );
    assert_eq!((rule.coverage.value, rule.coverage.high), (0.5, 0.5));
    assert_eq!(rule.subject.params["exact"], true);
    assert_eq!((rule.keeps.len(), rule.breaks.len()), (3, 0));
    assert_eq!(
        rule.verdict.sentence,
        "While \"great\" stays, the model says positive in 100 % of all texts with other words removed; while 1 word at \
         random stays, in 60 %."
    );
    agrees(&rule.verdict, &[("precision", true), ("random_rules", true)]);
}

#[test]
fn a_report_says_how_sure_it_is() {
    let rule = Planted::new(great).rule(&[], LONG, None);
    assert_eq!((rule.conditions, rule.met, rule.precision.value), (vec![3], true, 1.0));
    assert!((0.95..1.0).contains(&rule.precision.low));
    let steps: Vec<usize> = rule.steps.iter().map(|step| step.conditions.len()).collect();
    assert_eq!(steps, [0, 1]);
    assert!(
        rule.verdict.sentence.contains("removed at random (at least 95 %, 95 % sure)"),
        "{:?}",
        rule.verdict
    );
    assert!(rule.random.unwrap().high < 0.95);
}

#[test]
fn words_may_be_drawn_instead() {
    let planted = Planted::new(great);
    let counts = [("good".to_owned(), 3.0), ("great".to_owned(), 1.0), ("dull".to_owned(), 4.0)];
    let masker = Masker::Sampled(Arc::new(Words::new(&planted, &counts).unwrap()));
    let rule = planted.rule(&[], LONG, Some(masker));
    assert_eq!((rule.conditions, rule.met), (vec![3], true));
    assert_eq!(rule.subject.params["masker"], "sampled");
    assert!(rule.verdict.sentence.contains("other words replaced"));
    assert!(rule.keeps.iter().all(|fields| fields[0].text.contains("great")));
}

#[test]
fn an_answer_that_always_stays_needs_no_rule() {
    let rule = Planted::new(|_| 1.0).rule(&[], LONG, None);
    assert!(rule.met && rule.conditions.is_empty() && rule.random.is_none());
    assert_eq!(rule.coverage.value, 1.0);
    assert!(rule.verdict.sentence.starts_with("Whatever stays, the model says positive in 100 % of texts"));
    agrees(&rule.verdict, &[("precision", true)]);
}

#[test]
fn a_rule_that_is_not_there_is_told() {
    // Two of three words are positive, so that each does as much: three of the four texts that it is in.
    let most = Planted::new(|words| if words.len() >= 2 { 1.0 } else { -1.0 });
    let rule = most.rule(&["most=1"], "a great film", None);
    assert_eq!((rule.met, rule.precision.low, rule.random.unwrap().value), (false, 0.75, 0.75));
    agrees(&rule.verdict, &[("precision", false), ("random_rules", false)]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let planted = Planted::new(great);
    for set in ["threshold=1", "delta=0", "beam=0", "budget=100", "most=0", "kind=x"] {
        assert!(planted.find("anchors", &[set], LONG, None).is_err(), "{set}");
    }
    let number = Planted::new(great).with_task(&REGRESSION);
    let error = number.find("anchors", &[], LONG, None).unwrap_err().to_string();
    assert!(error.contains("nothing is decided"), "{error}");
}
