//! Rules for ∫₀¹ f(α) dα: points and weights.

mod leja;

pub use leja::LejaQuadrature;

use crate::parameter::{Parameter, name_of, names};
use std::fmt;

/// A rule with a fixed number of points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuadratureRule {
    /// The highest degree for the number of points.
    GaussLegendre,
    /// Evenly spaced with both ends, the ends counting half.
    Trapezoid,
    /// The left end of each of n intervals.
    Left,
    /// The right end of each of n intervals.
    Right,
    /// The middle of each step.
    Middle,
}

impl QuadratureRule {
    /// What each is called, the usual one first.
    pub const NAMES: [(&'static str, Self); 5] = [
        ("gauss_legendre", Self::GaussLegendre),
        ("trapezoid", Self::Trapezoid),
        ("left", Self::Left),
        ("right", Self::Right),
        ("middle", Self::Middle),
    ];

    /// The parameters of methods with a fixed number of points.
    pub(crate) const PARAMETERS: [Parameter; 2] = [
        Parameter::count("steps", 1..=Self::MOST, Some(32), "the number of points N; there is no tolerance"),
        Parameter::choice("rule", &names(&Self::NAMES), "how the points lie"),
    ];

    /// The most points: more cost minutes before the first row runs, and are no better.
    pub const MOST: usize = 10_000;

    /// Points in 0..=1 with weights that sum to one.
    pub fn points(self, count: usize) -> Vec<(f64, f64)> {
        let n = count as f64;
        let even = |first: f64| (0..count).map(|i| ((i as f64 + first) / n, 1.0 / n)).collect();
        match self {
            Self::GaussLegendre => gauss_legendre(count),
            Self::Trapezoid if count == 1 => vec![(0.5, 1.0)],
            Self::Trapezoid => {
                let last = count - 1;
                let weight = |i| if i == 0 || i == last { 0.5 } else { 1.0 } / last as f64;
                (0..count).map(|i| (i as f64 / last as f64, weight(i))).collect()
            }
            Self::Left => even(0.0),
            Self::Right => even(1.0),
            Self::Middle => even(0.5),
        }
    }
}

impl fmt::Display for QuadratureRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(name_of(&Self::NAMES, self))
    }
}

/// Roots of the Legendre polynomial by Newton's method, from Tricomi's estimate.
fn gauss_legendre(count: usize) -> Vec<(f64, f64)> {
    let n = count as f64;
    let point = |i: usize| {
        let mut x = -(std::f64::consts::PI * (i as f64 + 0.75) / (n + 0.5)).cos();
        let mut slope = 1.0;
        for _ in 0..64 {
            let (mut before, mut now) = (1.0, x);
            for k in 1..count {
                let k = k as f64;
                (before, now) = (now, ((2.0 * k + 1.0) * x * now - k * before) / (k + 1.0));
            }
            slope = n * (x * now - before) / (x * x - 1.0);
            let step = now / slope;
            x -= step;
            if step.abs() < 1e-16 {
                break;
            }
        }
        ((1.0 + x) / 2.0, 1.0 / ((1.0 - x * x) * slope * slope))
    };
    (0..count).map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integral(points: &[(f64, f64)], degree: i32) -> f64 {
        points.iter().map(|(x, w)| w * x.powi(degree)).sum()
    }

    #[test]
    fn fixed_rules_are_the_published_ones() {
        let check = |rule: QuadratureRule, count, expected: &[f64]| {
            let points = rule.points(count);
            let at: Vec<f64> = points.iter().map(|p| p.0).collect();
            assert_eq!(at, expected, "{rule}");
            assert!(
                (points.iter().map(|p| p.1).sum::<f64>() - 1.0).abs() < 1e-14,
                "{rule} weighs too little"
            );
        };
        check(QuadratureRule::Left, 2, &[0.0, 0.5]);
        check(QuadratureRule::Middle, 2, &[0.25, 0.75]);
        check(QuadratureRule::Right, 2, &[0.5, 1.0]);
        check(QuadratureRule::Trapezoid, 3, &[0.0, 0.5, 1.0]);
        let trapezoid = |samples: &[f64]| -> f64 {
            let points = QuadratureRule::Trapezoid.points(samples.len());
            points.iter().zip(samples).map(|((_, w), s)| w * s).sum()
        };
        assert!((trapezoid(&[0.0, 1.0, 2.0]) - 1.0).abs() < 1e-15);
        assert!((trapezoid(&[0.0, 0.0, 1.0]) - 0.25).abs() < 1e-15);
    }

    /// A rule of n Gauss points is exact up to degree 2n − 1.
    #[test]
    fn degrees_are_as_high_as_claimed() {
        for count in [1, 2, 3, 5, 16, 50, 300] {
            let points = QuadratureRule::GaussLegendre.points(count);
            for degree in 0..2 * count.min(40) as i32 {
                let error = integral(&points, degree) - 1.0 / f64::from(degree + 1);
                assert!(error.abs() < 1e-13, "{count} points, degree {degree}: {error:e}");
            }
        }
        let three = QuadratureRule::GaussLegendre.points(3);
        assert!((integral(&three, 6) - 1.0 / 7.0).abs() > 1e-5, "three points cannot do everything");
    }
}
