//! F while units are removed, best first, and while they are put back. V. Petsiuk, A. Das, K. Saenko, *RISE: randomized
//! input sampling for explanation of black-box models*, 2018.

use super::Level;
use super::check::{Check, Judged};
use super::ranking::{RANDOM, Rankings};
use crate::{PerturbedPredictions, Set};
use exegete_core::Result;
use exegete_core::report::Curve;

/// The most steps of a curve.
const STEPS: usize = 20;

/// What happens to the top-ranked units.
#[derive(Clone, Copy)]
enum Walk {
    Delete,
    Insert,
}

/// The deletion curve, where low is good. Neither curve fails anything: the erasures say the same with more rankings.
pub(super) const DELETION: Check = Check {
    name: "deletion",
    level: Level::Deep,
    sets: |look| sets(&look.rankings, Walk::Delete),
    measure: |look, checks| {
        let curve = checks.deletion.insert(curve(look.masked, &look.rankings, Walk::Delete)?);
        Ok(Judged::shown(Some(curve.area)).into())
    },
};

/// The insertion curve, where high is.
pub(super) const INSERTION: Check = Check {
    name: "insertion",
    level: Level::Deep,
    sets: |look| sets(&look.rankings, Walk::Insert),
    measure: |look, checks| {
        let curve = checks.insertion.insert(curve(look.masked, &look.rankings, Walk::Insert)?);
        Ok(Judged::shown(Some(curve.area)).into())
    },
};

fn sets(rankings: &Rankings, walk: Walk) -> Vec<Set> {
    let orders = [&rankings.own].into_iter().chain(&rankings.random);
    orders.flat_map(|order| hidden(order, walk)).collect()
}

fn curve(masked: &mut PerturbedPredictions<'_>, rankings: &Rankings, walk: Walk) -> Result<Curve> {
    let mut along = |order: &Vec<usize>| -> Result<Vec<f64>> {
        Ok(masked.outcomes(&hidden(order, walk))?.iter().map(|outcome| outcome.value).collect())
    };
    let values = along(&rankings.own)?;
    let mut random = vec![0.0; values.len()];
    for order in &rankings.random {
        random.iter_mut().zip(along(order)?).for_each(|(sum, value)| *sum += value / RANDOM as f64);
    }
    let units = rankings.own.len() as f64;
    let shares: Vec<f64> = counts(rankings.own.len()).iter().map(|&count| count as f64 / units).collect();
    let (area, random_area) = (area(&shares, &values), area(&shares, &random));
    Ok(Curve { shares, values, random, area, random_area })
}

/// How many units are removed or put back at each step, from none to all.
fn counts(units: usize) -> Vec<usize> {
    let steps = units.min(STEPS);
    (0..=steps).map(|step| (step * units + steps / 2) / steps.max(1)).collect()
}

fn hidden(order: &[usize], walk: Walk) -> Vec<Set> {
    let part = |count: usize| match walk {
        Walk::Delete => order[..count].to_vec(),
        Walk::Insert => order[count..].to_vec(),
    };
    counts(order.len()).into_iter().map(part).collect()
}

/// The mean of a piecewise straight line over shares from 0 to 1.
fn area(shares: &[f64], values: &[f64]) -> f64 {
    let pieces = shares.windows(2).zip(values.windows(2));
    pieces.map(|(share, value)| (share[1] - share[0]) * 0.5 * (value[0] + value[1])).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_go_from_none_to_all() {
        assert_eq!(counts(1), [0, 1]);
        assert_eq!(counts(3), [0, 1, 2, 3]);
        let many = counts(201);
        assert_eq!((many.len(), many[0], many[20]), (21, 0, 201));
    }

    #[test]
    fn the_area_of_a_triangle() {
        assert!((area(&[0.0, 0.5, 1.0], &[1.0, 0.0, 1.0]) - 0.5).abs() < 1e-12);
    }
}
