//! Owen values of long texts within a budget.

use crate::games::{Closed, random};
use exegete_methods::perturbation::partition_shap::{SetCount, shares};
use exegete_methods::perturbation::{ShapleyShares, Tree};

/// A text of n words: a few speak for something or against it, the rest whisper, and together they saturate.
fn text(n: usize) -> Closed<impl Fn(&[bool]) -> f64> {
    let weight = |i: usize| match i * 7919 % n {
        0 => 2.0,
        1 => -1.5,
        2 | 3 => 1.0,
        4 => -1.0,
        _ => 0.6 * (((i * 31) % 17) as f64 / 17.0 - 0.45) / (n as f64).sqrt(),
    };
    let weights: Vec<f64> = (0..n).map(weight).collect();
    Closed::new(n, move |there| {
        let sum: f64 = weights.iter().zip(there).filter(|(_, there)| **there).map(|(weight, _)| weight).sum();
        (0.7 * sum).tanh() + 0.2 * f64::from(u8::from(there[0] && there[n / 2]))
    })
}

/// The root of the sum of squared differences, relative to the largest value; NaN where a value is.
fn apart(found: &ShapleyShares, exact: &ShapleyShares) -> f64 {
    assert_eq!(found.values.len(), exact.values.len());
    let largest = exact.values.iter().fold(0.0, |top: f64, value| top.max(value.abs()));
    let squares = found.values.iter().zip(&exact.values).map(|(f, e)| (f - e).powi(2));
    squares.sum::<f64>().sqrt() / largest
}

/// One context first gets much closer with the same rows than every context by its weight, as shap goes.
#[test]
fn a_budget_goes_further_with_one_context_first() {
    for (n, gain) in [(64, 2.0), (256, 4.0)] {
        let tree = Tree::of_levels(n, &[]);
        let run = |rows, seed| shares(&mut text(n), &tree, rows, random(seed)).unwrap();
        let (exact, evenly) = run(SetCount::Budget(usize::MAX), 0);
        assert_eq!((exact.rows as f64, evenly), (tree.cost(), 0));
        assert!(exact.errors.iter().all(|&error| error == 0.0));
        let other = apart(&run(SetCount::Fixed(500), 0).0, &exact);
        let seeds = 8;
        let (mut own, mut held) = (0.0, 0);
        for seed in 0..seeds {
            let (found, _) = run(SetCount::Budget(500), seed);
            own += apart(&found, &exact) / seeds as f64;
            assert!(
                found.rows <= 500 && (found.values.iter().sum::<f64>() - found.difference()).abs() < 1e-12
            );
            let bars = found.values.iter().zip(&found.errors).zip(&exact.values);
            held +=
                bars.filter(|((value, error), exact)| (*value - *exact).abs() <= 2.0 * *error + 1e-9).count();
        }
        let held = held as f64 / (n as u64 * seeds) as f64;
        println!(
            "{n} words: {own:.3} apart, by every context {other:.3}; {:.0} % within two errors",
            100.0 * held
        );
        assert!(own * gain < other, "{n}: {own} against {other}");
        assert!(held > 0.5, "{n}: {held}");
    }
}

/// The words that matter are found among 5,000, for and against.
#[test]
fn words_that_matter_are_found_in_long_texts() {
    let n = 5000;
    let levels = [50, 10].map(|words| (0..n).map(|i| i / words).collect::<Vec<_>>());
    let tree = Tree::of_levels(n, &levels);
    let matters = [(700, 1.0), (2501, -0.8), (2502, 0.9), (4999, 0.7)];
    let mut hits = 0;
    for seed in 0..5 {
        let mut game = Closed::new(n, |there: &[bool]| {
            let sum: f64 = matters.iter().filter(|(word, _)| there[*word]).map(|(_, weight)| weight).sum();
            sum.tanh()
        });
        let (found, _) = shares(&mut game, &tree, SetCount::Budget(500), random(seed)).unwrap();
        assert!(found.rows <= 500 && game.asked == found.rows);
        hits +=
            matters.iter().filter(|(word, weight)| found.values[*word] * weight > 0.2 * weight.abs()).count();
    }
    // The middle two stand side by side and nearly cancel.
    assert!(hits >= 16, "{hits} of 20");
}
