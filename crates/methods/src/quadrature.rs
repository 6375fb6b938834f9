//! Rules for ∫₀¹ f(α) dα: points and weights.

mod patterson;

use exegete_core::{Error, Result};
use patterson::{NODES, WEIGHTS_3, WEIGHTS_7, WEIGHTS_15, WEIGHTS_31, WEIGHTS_63, WEIGHTS_127, WEIGHTS_255};
use std::fmt;
use std::str::FromStr;

/// A rule with a fixed number of points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The highest degree for the number of points.
    GaussLegendre,
    /// Evenly spaced with both ends, the ends counting half.
    Trapezoid,
    /// The left end of each of n intervals.
    Left,
    /// The right end.
    Right,
    /// The middle.
    Middle,
}

impl Rule {
    const ALL: [Self; 5] = [Self::GaussLegendre, Self::Trapezoid, Self::Left, Self::Right, Self::Middle];

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

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::GaussLegendre => "gauss_legendre",
            Self::Trapezoid => "trapezoid",
            Self::Left => "left",
            Self::Right => "right",
            Self::Middle => "middle",
        })
    }
}

impl FromStr for Rule {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|rule| rule.to_string() == text).ok_or_else(|| {
            Error::Request(format!(
                "'{text}' is no rule; one of gauss_legendre, trapezoid, left, right, middle"
            ))
        })
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

/// The nested rules: each level holds the points of the one before. T. N. L. Patterson, *The optimum addition of points
/// to quadrature formulae*, 1968.
pub const NESTED: [usize; 6] = [7, 15, 31, 63, 127, 255];

/// The points that a level adds to those before it, in 0..1.
pub fn nested_points(level: usize) -> Vec<f64> {
    let stride = 1 << (NESTED.len() - 1 - level);
    let new = |i: &usize| level == 0 || i % 2 == 1;
    let half = NODES.iter().step_by(stride).enumerate().filter(|(i, _)| new(i));
    half.flat_map(|(_, &x)| if x == 0.0 { vec![0.5] } else { vec![(1.0 - x) / 2.0, (1.0 + x) / 2.0] })
        .collect()
}

/// The weights of a level, for its points in the order in which the levels added them.
pub fn nested_weights(level: usize) -> Vec<f64> {
    let all = [&WEIGHTS_7[..], &WEIGHTS_15, &WEIGHTS_31, &WEIGHTS_63, &WEIGHTS_127, &WEIGHTS_255];
    weights_in_order(all[level], level)
}

/// The weights of the rule of three points, which lies inside the first level, for that level's points.
pub fn coarse_weights() -> Vec<f64> {
    // Of the seven points, 0 and the third pair belong to it.
    let sparse = [WEIGHTS_3[0], 0.0, WEIGHTS_3[1], 0.0];
    weights_in_order(&sparse, 0)
}

fn weights_in_order(weights: &[f64], level: usize) -> Vec<f64> {
    let mut ordered = Vec::new();
    for earlier in 0..=level {
        let stride = 1 << (level - earlier);
        let half = weights.iter().step_by(stride).enumerate();
        let new = half.filter(|(i, _)| earlier == 0 || i % 2 == 1);
        for (i, &weight) in new {
            let count = if i == 0 { 1 } else { 2 };
            ordered.extend(std::iter::repeat_n(weight / 2.0, count));
        }
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integral(points: &[(f64, f64)], degree: i32) -> f64 {
        points.iter().map(|(x, w)| w * x.powi(degree)).sum()
    }

    #[test]
    fn fixed_rules_are_the_published_ones() {
        let check = |rule: Rule, count, expected: &[f64]| {
            let points = rule.points(count);
            let at: Vec<f64> = points.iter().map(|p| p.0).collect();
            assert_eq!(at, expected, "{rule}");
            assert!(
                (points.iter().map(|p| p.1).sum::<f64>() - 1.0).abs() < 1e-14,
                "{rule} weighs too little"
            );
        };
        check(Rule::Left, 2, &[0.0, 0.5]);
        check(Rule::Middle, 2, &[0.25, 0.75]);
        check(Rule::Right, 2, &[0.5, 1.0]);
        check(Rule::Trapezoid, 3, &[0.0, 0.5, 1.0]);
        let trapezoid = |samples: &[f64]| -> f64 {
            let points = Rule::Trapezoid.points(samples.len());
            points.iter().zip(samples).map(|((_, w), s)| w * s).sum()
        };
        assert!((trapezoid(&[0.0, 1.0, 2.0]) - 1.0).abs() < 1e-15);
        assert!((trapezoid(&[0.0, 0.0, 1.0]) - 0.25).abs() < 1e-15);
    }

    /// A rule of n Gauss points is exact up to degree 2n − 1, a nested one of n up to (3n + 1)/2, and not beyond.
    #[test]
    fn degrees_are_as_high_as_claimed() {
        for count in [1, 2, 3, 5, 16, 50, 300] {
            let points = Rule::GaussLegendre.points(count);
            for degree in 0..2 * count.min(40) as i32 {
                let error = integral(&points, degree) - 1.0 / f64::from(degree + 1);
                assert!(error.abs() < 1e-13, "{count} points, degree {degree}: {error:e}");
            }
        }
        let mut at = Vec::new();
        for (level, &count) in NESTED.iter().enumerate() {
            at.extend(nested_points(level));
            assert_eq!(at.len(), count);
            let points: Vec<(f64, f64)> = at.iter().copied().zip(nested_weights(level)).collect();
            for degree in 0..=(3 * count as i32 + 1) / 2 {
                let error = integral(&points, degree) - 1.0 / f64::from(degree + 1);
                assert!(error.abs() < 1e-13, "{count} nested points, degree {degree}: {error:e}");
            }
        }
        let seven: Vec<(f64, f64)> = nested_points(0).into_iter().zip(nested_weights(0)).collect();
        assert!((integral(&seven, 12) - 1.0 / 13.0).abs() > 1e-9, "seven points cannot do everything");
        let three: Vec<(f64, f64)> = nested_points(0).into_iter().zip(coarse_weights()).collect();
        assert!((integral(&three, 5) - 1.0 / 6.0).abs() < 1e-14);
    }
}
