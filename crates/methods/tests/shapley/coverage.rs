//! How often a value ± t standard errors holds the exact Shapley value: 95 % is what t is chosen for.

use crate::games::{Closed, Polynomial, adaptive, fixed, gloves, majority, random};
use exegete_methods::Effort;
use exegete_methods::perturbation::{ShapleyShares, exact_shap, kernel_shap, permutation_shap};

/// Repetitions.
const TIMES: u64 = 2000;

type Value = Box<dyn Fn(&[bool]) -> f64>;

/// Each with its name and number of players.
fn games() -> Vec<(&'static str, usize, Value)> {
    let curved = |players, size, seed| {
        let polynomial = Polynomial::random(players, 4, size, seed);
        Box::new(move |there: &[bool]| polynomial.at(there)) as Value
    };
    vec![
        ("almost additive", 8, curved(8, 0.05, 1)),
        ("multilinear of 6", 6, curved(6, 0.7, 2)),
        ("multilinear of 8", 8, curved(8, 0.7, 3)),
        ("majority", 8, Box::new(majority(&[4, 3, 3, 3, 2, 2, 2, 2]))),
        ("gloves", 8, Box::new(gloves(3))),
    ]
}

/// The share of intervals over players and repetitions that hold the exact value, and the mean of the samples.
fn coverage(
    (name, players, value): &(&str, usize, Value),
    t: f64,
    run: impl Fn(&mut Closed<&Value>, u64) -> ShapleyShares,
) -> f64 {
    let exact = exact_shap::shares(&mut Closed::new(*players, value), 12).unwrap().values;
    let (mut held, mut samples) = (0, 0);
    for seed in 0..TIMES {
        let found = run(&mut Closed::new(*players, value), seed);
        samples += found.samples;
        let bars = found.values.iter().zip(&found.errors).zip(&exact);
        held += bars.filter(|((value, error), exact)| (*value - *exact).abs() <= t * *error + 1e-12).count();
    }
    let held = held as f64 / (TIMES * *players as u64) as f64;
    println!("{name}: {:.1} % held with {:.0} samples", 100.0 * held, samples as f64 / TIMES as f64);
    held
}

fn permutations(effort: Effort) -> impl Fn(&mut Closed<&Value>, u64) -> ShapleyShares {
    move |game, seed| permutation_shap::shares(game, &effort, &mut random(seed)).unwrap()
}

fn sets(effort: Effort) -> impl Fn(&mut Closed<&Value>, u64) -> ShapleyShares {
    move |game, seed| kernel_shap::shares(game, &effort, &mut random(seed)).unwrap()
}

#[test]
fn at_a_fixed_count() {
    for game in games() {
        // Student's t with 63 degrees of freedom.
        let held = coverage(&game, 1.998, permutations(fixed(64)));
        assert!((0.93..=0.97).contains(&held), "permutation_shap, {}: {held}", game.0);
        // 12 pairs drawn of 6 players beside all sets of one or five, and 22 of 8 players beside those of one or seven.
        let (samples, t) = if game.1 == 6 { (36, 2.201) } else { (60, 2.080) };
        let held = coverage(&game, t, sets(fixed(samples)));
        assert!((0.93..=0.97).contains(&held), "kernel_shap, {}: {held}", game.0);
    }
}

/// Error bars of half their length hold too little: the bounds above can be missed.
#[test]
fn bars_that_are_too_short_are_seen() {
    let game = &games()[1];
    let short = |shares: ShapleyShares| ShapleyShares {
        errors: shares.errors.iter().map(|e| e / 2.0).collect(),
        ..shares
    };
    let by_order = permutations(fixed(64));
    assert!(coverage(game, 1.998, |game, seed| short(by_order(game, seed))) < 0.8);
    let by_fit = sets(fixed(36));
    assert!(coverage(game, 2.201, |game, seed| short(by_fit(game, seed))) < 0.85);
}

/// Samples that are added until the errors are small stop too soon where the errors are small by chance.
#[test]
fn stopping_by_the_errors_costs_a_little() {
    for game in games() {
        let held = coverage(&game, 2.0, permutations(adaptive(0.05, 4000)));
        assert!(held > 0.88, "permutation_shap, {}: {held}", game.0);
        // As if not all sets could be asked for.
        let budget = if game.1 == 6 { 60 } else { 200 };
        let held = coverage(&game, 2.0, sets(adaptive(0.05, budget)));
        assert!(held > 0.88, "kernel_shap, {}: {held}", game.0);
    }
}
