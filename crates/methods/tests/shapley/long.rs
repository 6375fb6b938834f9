//! Owen values of long texts within a budget.

use crate::games::{Closed, random};
use exegete_methods::perturbation::{Effort, Tree, partition_shap};

#[test]
fn explore() {
    for n in [64usize, 256, 512] {
        // A text of n words: few matter, some against, and what they say together saturates.
        let weights: Vec<f64> = (0..n)
            .map(|i| match i * 7919 % n {
                0 => 2.0,
                1 => -1.5,
                2 | 3 => 1.0,
                4 => -1.0,
                _ => 0.6 * (((i * 31) % 17) as f64 / 17.0 - 0.45) / (n as f64).sqrt(),
            })
            .collect();
        let value = |there: &[bool]| {
            let s: f64 = weights.iter().zip(there).filter(|(_, there)| **there).map(|(w, _)| w).sum();
            (0.7 * s).tanh() + 0.2 * f64::from(u8::from(there[0] && there[n / 2]))
        };
        let tree = Tree::of_levels(n, &[]);
        let whole = Effort { budget: 1 << 24, ..Effort::default() };
        let exact = partition_shap::shares(&mut Closed::new(n, value), &tree, &whole, &random(0)).unwrap().0;
        let scale = exact.values.iter().fold(0.0, |top: f64, v| top.max(v.abs()));
        let worst = |values: &[f64]| {
            values.iter().zip(&exact.values).fold(0.0, |top: f64, (a, b)| top.max((a - b).abs())) / scale
        };
        let rms = |values: &[f64]| {
            (values.iter().zip(&exact.values).map(|(a, b)| (a - b).powi(2)).sum::<f64>()).sqrt() / scale
        };
        for budget in [500] {
            let fixed =
                partition_shap::shares(&mut Closed::new(n, value), &tree, &Effort::fixed(budget), &random(0))
                    .unwrap();
            println!(
                "n {n} budget {budget} fixed: worst {:.3} rms {:.3} evenly {}",
                worst(&fixed.0.values),
                rms(&fixed.0.values),
                fixed.1
            );
            for seed in 0..4 {
                let effort = Effort { budget, ..Effort::default() };
                let mut game = Closed::new(n, value);
                let (thrifty, evenly) =
                    partition_shap::shares(&mut game, &tree, &effort, &random(seed)).unwrap();
                let held = thrifty
                    .values
                    .iter()
                    .zip(&thrifty.errors)
                    .zip(&exact.values)
                    .filter(|((v, e), x)| (*v - *x).abs() <= 2.0 * **e + 1e-9)
                    .count();
                let top = thrifty.errors.iter().fold(0.0, |top: f64, v| top.max(v.abs())) / scale;
                println!(
                    "   thrifty: rows {} calls {} worst {:.3} rms {:.3} evenly {evenly} held {:.2} error {top:.3} {}",
                    thrifty.rows,
                    game.calls,
                    worst(&thrifty.values),
                    rms(&thrifty.values),
                    held as f64 / n as f64,
                    thrifty.precise
                );
            }
        }
    }
}
