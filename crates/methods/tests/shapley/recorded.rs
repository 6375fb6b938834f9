//! The numbers that the shap package gives for the same games (golden/games.py).

use crate::games::{Closed, Polynomial, fixed, random};
use exegete_methods::perturbation::partition_shap::{self, SetCount};
use exegete_methods::perturbation::{ShapleyShares, Tree, exact_shap, kernel_shap, permutation_shap};
use exegete_testkit::{Of, check};
use serde_json::Value;

fn games() -> Vec<Value> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/games.json");
    let golden: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    golden["games"].as_array().unwrap().clone()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

fn indices(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(|number| number.as_u64().unwrap() as usize).collect()
}

/// The game as this side computes it.
fn closed(game: &Value) -> Closed<impl Fn(&[bool]) -> f64 + use<>> {
    let term = |term: &Value| (indices(&term[0]), term[1].as_f64().unwrap());
    let polynomial = Polynomial(game["terms"].as_array().unwrap().iter().map(term).collect());
    let sigmoid = game["sigmoid"].as_bool().unwrap();
    let link = move |x: f64| if sigmoid { 1.0 / (1.0 + (-x).exp()) } else { x };
    Closed::new(game["players"].as_u64().unwrap() as usize, move |there| link(polynomial.at(there)))
}

fn tree(game: &Value) -> Tree {
    let pair = |pair: &Value| <[usize; 2]>::try_from(indices(pair)).unwrap();
    let pairs: Vec<[usize; 2]> = game["tree"].as_array().unwrap().iter().map(pair).collect();
    Tree::of_pairs(pairs.len() + 1, &pairs).unwrap()
}

/// Whether the values are the recorded ones, and sum to the difference.
fn same(name: &Value, found: &ShapleyShares, expected: &Value) -> Result<(), String> {
    let name = name.to_string();
    check(&name, &found.values, &numbers(expected), Of::Size(1.0), 1e-6)?;
    let sum: f64 = found.values.iter().sum();
    check(&format!("{name}, sum"), &[sum], &[found.difference()], Of::Size(1.0), 1e-12).map(drop)
}

#[track_caller]
fn close(name: &Value, found: &ShapleyShares, expected: &Value) {
    assert_eq!(same(name, found, expected), Ok(()));
}

#[test]
fn a_planted_nan_another_length_and_nothing_are_failures() {
    let games = games();
    let game = games.iter().find(|game| game["exact"].is_array()).unwrap();
    let right = exact_shap::shares(&mut closed(game), 12).unwrap();
    let red = |change: fn(&mut Vec<f64>)| {
        let mut found = right.clone();
        change(&mut found.values);
        same(&game["name"], &found, &game["exact"]).is_err()
    };
    assert!(!red(|_| {}));
    assert!(red(|values| values[1] = f64::NAN) && red(|values| values.push(0.0)) && red(Vec::clear));
}

#[test]
fn exact_and_kernel_over_all_sets() {
    let mut compared = 0;
    for game in games().iter().filter(|game| game["exact"].is_array()) {
        let found = exact_shap::shares(&mut closed(game), 12).unwrap();
        close(&game["name"], &found, &game["exact"]);
        let found = kernel_shap::shares(&mut closed(game), &fixed(2000), &mut random(0)).unwrap();
        close(&game["name"], &found, &game["kernel"]);
        assert!(found.errors.iter().all(|&error| error == 0.0) && found.rows == 1 << found.values.len());
        compared += 1;
    }
    assert_eq!(compared, 3);
}

#[test]
fn permutations_where_any_are_exact() {
    let games = games();
    let game = games.iter().find(|game| game["permutation"].is_array()).unwrap();
    let found = permutation_shap::shares(&mut closed(game), &fixed(2), &mut random(0)).unwrap();
    close(&game["name"], &found, &game["permutation"]);
    // And where they are not, many come close, as their errors say.
    let curved = &games[0];
    let found = permutation_shap::shares(&mut closed(curved), &fixed(4000), &mut random(0)).unwrap();
    for ((value, error), exact) in found.values.iter().zip(&found.errors).zip(numbers(&curved["exact"])) {
        assert!((value - exact).abs() < 4.0 * error && *error < 0.01, "{value} ± {error}, exactly {exact}");
    }
}

#[test]
fn partitions_with_the_same_tree_and_count() {
    let mut unfinished = 0;
    for game in &games() {
        for run in game["partition"].as_array().unwrap() {
            let evaluations = run["evaluations"].as_u64().unwrap() as usize;
            let rows = SetCount::Fixed(evaluations);
            let (found, evenly) =
                partition_shap::shares(&mut closed(game), &tree(game), rows, random(0)).unwrap();
            close(&game["name"], &found, &run["values"]);
            unfinished += usize::from(evenly > 0);
            assert!(found.rows <= evaluations.max(3) + 1, "{}: {} rows", game["name"], found.rows);
        }
    }
    assert!(unfinished >= 10, "{unfinished}");
}
