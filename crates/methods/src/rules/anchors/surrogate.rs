//! What a rule is probably worth, before anything is drawn under it.
//!
//! A draw says more than yes or no: how far the answer is from changing. A straight line through that, fitted to all draws so
//! far, says how far it will be under any rule and how much that varies with the units that are no conditions. It only
//! decides what is tried; what is claimed rests on fresh draws.

use crate::cholesky::Cholesky;
use exegete_core::dot;

/// lead ≈ base + Σ effect · (±½ as the unit is kept or hidden), with an error of this variance.
pub(super) struct Surrogate {
    base: f64,
    effects: Vec<f64>,
    variance: f64,
}

/// The more units there are, the less each is believed to do.
const RIDGE: f64 = 0.125;

impl Surrogate {
    /// A fit to what was hidden and how far the answer then was from changing.
    pub(super) fn fit<'d>(units: usize, draws: impl Iterator<Item = (&'d [bool], f64)>) -> Self {
        // The last feature is always one: the base.
        let row = |hidden: &[bool]| hidden.iter().map(|&h| if h { -0.5 } else { 0.5 }).chain([1.0]).collect();
        let (rows, leads): (Vec<Vec<f64>>, Vec<f64>) =
            draws.map(|(hidden, lead)| (row(hidden), lead)).unzip();
        let size = units + 1;
        let (mut matrix, mut right) = (vec![0.0; size * size], vec![0.0; size]);
        for (row, lead) in rows.iter().zip(&leads) {
            for i in 0..size {
                matrix[i * size..=i * size + i].iter_mut().zip(row).for_each(|(sum, x)| *sum += row[i] * x);
                right[i] += row[i] * lead;
            }
        }
        (0..units).for_each(|i| matrix[i * size + i] += RIDGE * units as f64);
        let factor = Cholesky::of(matrix, size);
        let mut effects = factor.solve(&right);
        // Each draw's error by the fit to all others.
        let error = |(row, lead): (&Vec<f64>, &f64)| {
            let half = factor.half(row, 0);
            (lead - dot(row, &effects)) / (1.0 - dot(&half, &half)).max(1e-6)
        };
        let variance = rows.iter().zip(&leads).map(error).map(|error| error * error).sum::<f64>();
        let variance = variance / rows.len().max(1) as f64;
        let base = effects.pop().unwrap_or(0.0);
        Self { base, effects, variance }
    }

    /// How often the answer stays under a rule.
    pub(super) fn precision(&self, rule: &[usize]) -> f64 {
        let (mut mean, mut variance) = (self.base, self.variance);
        for (unit, effect) in self.effects.iter().enumerate() {
            match rule.contains(&unit) {
                true => mean += 0.5 * effect,
                false => variance += 0.25 * effect * effect,
            }
        }
        0.5 * libm::erfc(-mean / (2.0 * variance.max(1e-12)).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_testkit::{Of, close};

    #[test]
    fn a_straight_line_is_found_again() {
        let weights = [2.0, 0.0, -1.0, 0.5];
        let hidden: Vec<[bool; 4]> =
            (0..16).map(|bits| [0, 1, 2, 3].map(|unit| bits >> unit & 1 == 1)).collect();
        let lead = |hidden: &[bool; 4]| {
            let sides = hidden.iter().zip(weights).map(|(&h, weight)| if h { -0.5 } else { 0.5 } * weight);
            0.25 + sides.sum::<f64>()
        };
        let all: Vec<([bool; 4], f64)> = hidden.iter().cycle().take(1600).map(|h| (*h, lead(h))).collect();
        let line = Surrogate::fit(4, all.iter().map(|(hidden, lead)| (&hidden[..], *lead)));
        assert!((line.base - 0.25).abs() < 0.01, "{}", line.base);
        close("effects", &line.effects, &weights, Of::Size(1.0), 0.01);
        assert!(line.variance < 1e-3, "{}", line.variance);
        // With the first unit kept the mean is 1.25, and the others move it by 1/2 and 1/4 either way.
        let expected = 0.5 * libm::erfc(-1.25 / (2.0f64 * (0.25 + 0.0625)).sqrt());
        assert!((line.precision(&[0]) - expected).abs() < 0.01);
        assert!(line.precision(&[0, 3]) > line.precision(&[0]));
        assert!(line.precision(&[2]) < line.precision(&[]));
    }
}
