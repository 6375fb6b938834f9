//! How well an order of units fits their effects, and how many random orders fit as well.
//!
//! ```text
//! T = Σ a_i c_i    a = Φ⁻¹(rank / (n + 1)), ties at the mean of the places they take
//! p = (1 + #{T_b ≥ T}) / (B + 1) over B random orders; of few units #{T_π ≥ T} / n! over all of them
//! ```
//!
//! B. L. van der Waerden, *Order tests for the two-sample problem and their power*, 1952, has the scores; B. Phipson and G. K.
//! Smyth, *Permutation p-values should never be zero*, 2010, the 1 in p.

use crate::evidence::ranking::shuffled;
use crate::statistics::{compare, with_ties};
use rand_chacha::ChaCha8Rng;

/// B: how many random orders there are, of more units than can be counted out.
pub(crate) const ORDERS: usize = 1999;
/// n! of so many units is at most 2,000.
const COUNTED_UP_TO: usize = 6;
/// Sums of the same products in another order differ by less than this share of Σ|c|.
const SLACK: f64 = 1e-9;

/// Normal scores of values, ascending; those of tied values are the mean of the places they take.
pub(crate) fn normal_scores(values: &[f64]) -> Vec<f64> {
    let (values, places) = (with_ties(values), quantiles(values.len()));
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| compare(&values[a], &values[b]));
    let mut scores = vec![0.0; values.len()];
    let mut first = 0;
    for group in order.chunk_by(|&a, &b| compare(&values[a], &values[b]).is_eq()) {
        let last = first + group.len();
        let mean = places[first..last].iter().sum::<f64>() / group.len() as f64;
        group.iter().for_each(|&unit| scores[unit] = mean);
        first = last;
    }
    scores
}

/// Φ⁻¹(rank / (n + 1)) for the ranks 1 … n.
pub(crate) fn quantiles(count: usize) -> Vec<f64> {
    let upper = |rank: usize| quantile(rank as f64 / (count + 1) as f64);
    (1..=count).map(|rank| if 2 * rank > count { upper(rank) } else { -upper(count + 1 - rank) }).collect()
}

/// Φ⁻¹ of a share of one half or more, by Newton's steps from 0: Φ bends downward there, so none goes too far.
fn quantile(share: f64) -> f64 {
    const STEPS: usize = 60;
    let mut x = 0.0f64;
    for _ in 0..STEPS {
        let above = 0.5 * libm::erfc(x / std::f64::consts::SQRT_2) - (1.0 - share);
        let slope = (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let step = above / slope;
        x += step;
        if step.abs() < 1e-15 {
            break;
        }
    }
    x
}

/// Orders of units to compare with: all of few units, else random ones.
#[derive(Debug, Clone)]
pub(crate) struct Orders {
    units: usize,
    /// Which unit stands at each place, order after order.
    places: Vec<u32>,
    /// Whether they are all there are.
    pub(crate) exact: bool,
}

/// How many orders fit at least as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AsGood {
    /// Of those that there are.
    pub(crate) count: usize,
    /// How many there are.
    pub(crate) of: usize,
    /// Whether the order itself is among them.
    pub(crate) exact: bool,
}

impl AsGood {
    /// The chance that an order drawn without looking fits at least as well.
    pub(crate) fn p(self) -> f64 {
        match self.exact {
            true => self.count as f64 / self.of as f64,
            false => (1 + self.count) as f64 / (self.of + 1) as f64,
        }
    }
}

impl Orders {
    /// Those of so many units.
    pub(crate) fn new(units: usize, random: &mut ChaCha8Rng) -> Self {
        let exact = units <= COUNTED_UP_TO;
        let orders: Vec<Vec<usize>> = match exact {
            true => every_order(units),
            false => (0..ORDERS).map(|_| shuffled(units, random)).collect(),
        };
        Self { units, places: orders.into_iter().flatten().map(|unit| unit as u32).collect(), exact }
    }

    /// How many give a sum of products that is at least as large as that of the scores as they stand.
    pub(crate) fn as_good(&self, scores: &[f64], effects: &[f64]) -> AsGood {
        let least = fit(scores, effects) - SLACK * effects.iter().map(|c| c.abs()).sum::<f64>();
        let sum = |order: &[u32]| -> f64 {
            order.iter().zip(effects).map(|(&from, c)| scores[from as usize] * c).sum()
        };
        let orders = self.places.chunks(self.units.max(1));
        let count = orders.clone().filter(|order| sum(order) >= least).count();
        AsGood { count, of: orders.count(), exact: self.exact }
    }
}

/// The fit of a ranking, T in the formula.
pub(crate) fn fit(scores: &[f64], effects: &[f64]) -> f64 {
    scores.iter().zip(effects).map(|(a, c)| a * c).sum()
}

/// T in standard deviations over all orders; none where no order differs from another. E T = n ā c̄, Var T = Σ(a − ā)² Σ(c −
/// c̄)² / (n − 1).
pub(crate) fn z(scores: &[f64], effects: &[f64]) -> Option<f64> {
    let n = scores.len() as f64;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / n;
    let squares = |values: &[f64]| {
        let mean = mean(values);
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
    };
    // Scores that are all tied differ by the rounding of their mean.
    let least = SLACK * SLACK * n;
    if squares(scores) <= least {
        return None;
    }
    let deviation = (squares(scores) * squares(effects) / (n - 1.0)).sqrt();
    let found = (fit(scores, effects) - n * mean(scores) * mean(effects)) / deviation;
    (n > 1.0 && found.is_finite()).then_some(found)
}

fn every_order(units: usize) -> Vec<Vec<usize>> {
    let mut orders: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..units {
        let longer = |order: Vec<usize>| {
            let free: Vec<usize> = (0..units).filter(|unit| !order.contains(unit)).collect();
            free.into_iter().map(move |unit| order.iter().copied().chain([unit]).collect())
        };
        orders = orders.into_iter().flat_map(longer).collect();
    }
    orders
}

#[cfg(test)]
mod tests;
