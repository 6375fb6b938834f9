//! How often a value ± t standard errors holds the exact Shapley value.

use crate::games::{Closed, Polynomial, gloves, majority};
use exegete_methods::perturbation::{Effort, Shares, exact_shap, kernel_shap, permutation_shap};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

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
        ("majority", 8, Box::new(majority(&[5, 4, 4, 3, 3, 2, 2, 2]))),
        ("gloves", 8, Box::new(gloves(3))),
    ]
}

/// The share of intervals over players and repetitions that hold the exact value, and the mean of the samples.
fn coverage(players: usize, value: &Value, t: f64, run: impl Fn(&mut Closed<&Value>, u64) -> Shares) -> (f64, f64) {
    let exact = exact_shap::shares(&mut Closed::new(players, value), 12).unwrap().values;
    let (mut held, mut samples) = (0, 0);
    for seed in 0..TIMES {
        let found = run(&mut Closed::new(players, value), seed);
        samples += found.samples;
        let bars = found.values.iter().zip(&found.errors).zip(&exact);
        held += bars.filter(|((value, error), exact)| (*value - *exact).abs() <= t * *error + 1e-12).count();
    }
    (held as f64 / (TIMES * players as u64) as f64, samples as f64 / TIMES as f64)
}

fn random(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

#[test]
fn permutations_at_a_fixed_count() {
    // Student's t at 97.5 % with 39 degrees of freedom.
    for (name, players, value) in games() {
        let (held, _) = coverage(players, &value, 2.0227, |game, seed| {
            permutation_shap::shares(game, &Effort::fixed(40), &mut random(seed)).unwrap()
        });
        println!("permutation_shap, {name}: {held:.4}");
        // assert!((0.93..=0.97).contains(&held), "{name}: {held}");
    }
}

#[test]
fn sets_at_a_fixed_count() {
    for samples in [40, 60, 100] {
    for (name, players, value) in games() {
        let (held, _) = coverage(players, &value, 2.0, |game, seed| {
            kernel_shap::shares(game, &Effort::fixed(samples), &mut random(seed)).unwrap()
        });
        println!("kernel_shap {samples}, {name}: {held:.4}");
        // assert!((0.93..=0.97).contains(&held), "{name}: {held}");
    }}
}
#[test]
fn adaptive() {
    for tolerance in [0.02, 0.05, 0.1] {
    for (name, players, value) in games() {
        let effort = Effort { tolerance, budget: 100_000, samples: None };
        let (held, n) = coverage(players, &value, 1.96, |game, seed| {
            permutation_shap::shares(game, &effort, &mut random(seed)).unwrap()
        });
        println!("permutation {tolerance}, {name}: {held:.4} {n}");
        let effort = Effort { tolerance, budget: 200, samples: None };
        let (held, n) = coverage(players, &value, 1.96, |game, seed| {
            kernel_shap::shares(game, &effort, &mut random(seed)).unwrap()
        });
        println!("kernel {tolerance}, {name}: {held:.4} {n}");
    }}
}
