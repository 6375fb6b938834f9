//! The one comparison of numbers in tests. What cannot be compared is not equal: NaN, infinity, another shape, an empty
//! list and a comparison of nothing all fail.

use exegete_core::{Array, Logits};
use exegete_engine::{Scalar, Tensor};
use std::fmt;

/// What a difference is divided by before it is held against a limit.
#[derive(Debug, Clone, Copy)]
pub enum Of {
    /// This number; 1 leaves the plain difference.
    Size(f64),
    /// The largest expected element, but at least this.
    Largest(f64),
    /// Each expected element, but at least this.
    Each(f64),
}

/// Numbers with a shape. Slices have one axis; of dual numbers the values count.
pub trait Numbers {
    /// The length of each axis.
    fn shape(&self) -> Vec<usize>;
    /// Every element, in row-major order.
    fn numbers(&self) -> Vec<f64>;
}

impl<T: Scalar> Numbers for [T] {
    fn shape(&self) -> Vec<usize> {
        vec![self.len()]
    }

    fn numbers(&self) -> Vec<f64> {
        self.iter().map(|x| x.value()).collect()
    }
}

impl<T: Scalar> Numbers for Vec<T> {
    fn shape(&self) -> Vec<usize> {
        self[..].shape()
    }

    fn numbers(&self) -> Vec<f64> {
        self[..].numbers()
    }
}

impl<T: Scalar, const N: usize> Numbers for [T; N] {
    fn shape(&self) -> Vec<usize> {
        self[..].shape()
    }

    fn numbers(&self) -> Vec<f64> {
        self[..].numbers()
    }
}

impl<T: Scalar> Numbers for Tensor<T> {
    fn shape(&self) -> Vec<usize> {
        vec![self.rows(), self.cols()]
    }

    fn numbers(&self) -> Vec<f64> {
        self.data().numbers()
    }
}

impl Numbers for Array {
    fn shape(&self) -> Vec<usize> {
        self.shape.clone()
    }

    fn numbers(&self) -> Vec<f64> {
        self.data.numbers()
    }
}

impl Numbers for Logits {
    fn shape(&self) -> Vec<usize> {
        self.shape.clone()
    }

    fn numbers(&self) -> Vec<f64> {
        self.data.numbers()
    }
}

/// The element that is furthest off.
struct Gap {
    index: usize,
    found: f64,
    expected: f64,
    error: f64,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, found, expected, error } = self;
        write!(f, "element {index}: {found} for {expected}, off by {error:.2e}")
    }
}

fn measure(
    found: &(impl Numbers + ?Sized),
    expected: &(impl Numbers + ?Sized),
    of: Of,
) -> Result<Gap, String> {
    if found.shape() != expected.shape() {
        return Err(format!("numbers of shape {:?} for {:?}", found.shape(), expected.shape()));
    }
    let (found, expected) = (found.numbers(), expected.numbers());
    let finite = |(f, e): (&f64, &f64)| f.is_finite() && e.is_finite();
    if let Some(index) = found.iter().zip(&expected).position(|pair| !finite(pair)) {
        return Err(format!("element {index}: {} for {}, not finite", found[index], expected[index]));
    }
    let largest = expected.iter().fold(0.0, |top: f64, e| top.max(e.abs()));
    let gap = |(index, (&found, &expected)): (usize, (&f64, &f64))| {
        let size = match of {
            Of::Size(size) => size,
            Of::Largest(least) => largest.max(least),
            Of::Each(least) => expected.abs().max(least),
        };
        Gap { index, found, expected, error: relative((found - expected).abs(), size) }
    };
    let gaps = found.iter().zip(&expected).enumerate().map(gap);
    gaps.max_by(|a, b| a.error.total_cmp(&b.error)).ok_or_else(|| "there is nothing to compare".into())
}

/// Nothing is near where the size makes no sense, and equal numbers are near whatever their size.
fn relative(difference: f64, size: f64) -> f64 {
    match size >= 0.0 {
        true if difference == 0.0 => 0.0,
        true => difference / size,
        false => f64::INFINITY,
    }
}

/// The largest error if it is within the limit, else what is wrong: the name, the element, both numbers, the error.
pub fn check(
    name: &str,
    found: &(impl Numbers + ?Sized),
    expected: &(impl Numbers + ?Sized),
    of: Of,
    limit: f64,
) -> Result<f64, String> {
    let mut comparison = Comparison::default();
    comparison.compare(name, found, expected, of);
    comparison.check(limit)
}

/// Panics where [`check`] fails, else gives the largest error.
#[track_caller]
pub fn close(
    name: &str,
    found: &(impl Numbers + ?Sized),
    expected: &(impl Numbers + ?Sized),
    of: Of,
    limit: f64,
) -> f64 {
    check(name, found, expected, of, limit).unwrap_or_else(|why| panic!("{why}"))
}

/// Collects errors of many comparisons and says at the end which was the worst.
#[derive(Debug, Default)]
pub struct Comparison {
    compared: usize,
    worst: Option<(f64, String)>,
}

impl Comparison {
    /// Compares two lists and gives the largest error, infinite where they cannot be compared.
    pub fn compare(
        &mut self,
        name: &str,
        found: &(impl Numbers + ?Sized),
        expected: &(impl Numbers + ?Sized),
        of: Of,
    ) -> f64 {
        let gap = measure(found, expected, of);
        let error = gap.as_ref().map_or(f64::INFINITY, |gap| gap.error);
        self.compared += 1;
        if self.worst.as_ref().is_none_or(|(worst, _)| error > *worst) {
            let what = gap.map_or_else(|why| why, |gap| gap.to_string());
            self.worst = Some((error, format!("{name}: {what}")));
        }
        error
    }

    /// The largest error, which is infinite where nothing was compared, and where it was.
    pub fn worst(&self) -> (f64, &str) {
        match &self.worst {
            Some((error, place)) => (*error, place),
            None => (f64::INFINITY, "nothing was compared"),
        }
    }

    /// How many lists were compared.
    pub fn compared(&self) -> usize {
        self.compared
    }

    /// The largest error if it is within `limit`, else what is wrong.
    pub fn check(&self, limit: f64) -> Result<f64, String> {
        let (worst, place) = self.worst();
        let failure = || format!("{place}, allowed {limit:.1e} ({} lists compared)", self.compared);
        if worst.is_finite() && worst <= limit { Ok(worst) } else { Err(failure()) }
    }

    /// Panics where an error is larger than `limit`, or where nothing was compared.
    #[track_caller]
    pub fn assert_within(&self, limit: f64) {
        if let Err(why) = self.check(limit) {
            panic!("{why}");
        }
    }

    /// Panics unless numbers were compared and found apart: what could not be compared shows no planted fault.
    #[track_caller]
    pub fn assert_beyond(&self, limit: f64) {
        let (worst, place) = self.worst();
        assert!(worst.is_finite() && worst > limit, "{place}, which is not beyond {limit:.1e}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(found: &[f64], expected: &[f64], of: Of, limit: f64) -> Result<f64, String> {
        check("it", found, expected, of, limit)
    }

    #[test]
    fn errors_are_relative_to_what_was_asked() {
        let (found, expected) = ([5.0, 0.5, -1.0], [4.0, 0.0, -1.0]);
        for (of, error) in [
            (Of::Size(1.0), 1.0),
            (Of::Size(2.0), 0.5),
            (Of::Largest(0.0), 0.25),
            (Of::Largest(8.0), 0.125),
            (Of::Each(1.0), 0.5),
            (Of::Each(5.0), 0.2),
        ] {
            assert_eq!(within(&found, &expected, of, error), Ok(error), "{of:?}");
            assert!(within(&found, &expected, of, 0.99 * error).is_err(), "{of:?}");
        }
        assert_eq!(within(&[0.0], &[0.0], Of::Largest(0.0), 0.0), Ok(0.0));
        assert!(within(&[1e-9], &[0.0], Of::Largest(0.0), 1.0).is_err());
    }

    #[test]
    fn what_cannot_be_compared_fails() {
        let plain = Of::Size(1.0);
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for of in [plain, Of::Largest(1.0), Of::Each(1.0)] {
                for (found, expected) in
                    [([0.0, bad], [0.0, 0.0]), ([0.0, 0.0], [bad, 0.0]), ([bad; 2], [bad; 2])]
                {
                    assert!(within(&found, &expected, of, f64::INFINITY).is_err(), "{found:?} {expected:?}");
                }
            }
        }
        assert!(within(&[], &[], plain, 1.0).unwrap_err().contains("nothing"));
        assert!(within(&[1.0, 2.0], &[1.0], plain, 1.0).unwrap_err().contains("shape [2] for [1]"));
        let [tall, wide] = [[3, 2], [2, 3]].map(Array::zeros);
        assert!(check("it", &tall, &wide, plain, 1.0).is_err());
        for size in [f64::NAN, -1.0] {
            assert!(within(&[1.0], &[1.0], Of::Size(size), 1.0).is_err(), "{size}");
        }
        assert!(within(&[1.0], &[1.0], plain, f64::NAN).is_err(), "a limit that is none");
    }

    #[test]
    fn a_failure_says_what_where_and_by_how_much() {
        let why = within(&[1.0, 2.5], &[1.0, 2.0], Of::Size(1.0), 0.25).unwrap_err();
        assert_eq!(why, "it: element 1: 2.5 for 2, off by 5.00e-1, allowed 2.5e-1 (1 lists compared)");
        let why = within(&[1.0, f64::NAN], &[1.0, 2.0], Of::Size(1.0), 0.25).unwrap_err();
        assert!(why.starts_with("it: element 1: NaN for 2, not finite"), "{why}");
    }

    #[test]
    fn the_worst_of_many_is_named_and_nothing_is_a_failure() {
        let mut comparison = Comparison::default();
        assert!(comparison.check(1.0).unwrap_err().contains("nothing was compared"));
        comparison.compare("same", &[1.0], &[1.0], Of::Each(1.0));
        comparison.compare("off", &[5.0, 0.5], &[4.0, 0.5], Of::Each(1.0));
        comparison.compare("near", &[0.125], &[0.0], Of::Each(1.0));
        assert_eq!(comparison.worst().0, 0.25);
        assert!(comparison.worst().1.starts_with("off: element 0"));
        comparison.assert_within(0.25);
        comparison.assert_beyond(0.2);
        comparison.compare("nan", &[f64::NAN], &[0.0], Of::Each(1.0));
        comparison.compare("same", &[1.0], &[1.0], Of::Each(1.0));
        assert!(comparison.check(1.0).unwrap_err().starts_with("nan: element 0"));
    }

    #[test]
    #[should_panic(expected = "not beyond")]
    fn what_cannot_be_compared_shows_no_fault() {
        let mut comparison = Comparison::default();
        comparison.compare("nan", &[f64::NAN], &[0.0], Of::Size(1.0));
        comparison.assert_beyond(0.1);
    }

    #[test]
    #[should_panic(expected = "it: element 0: 1 for 2")]
    fn close_panics() {
        close("it", &[1.0], &[2.0], Of::Size(1.0), 0.5);
    }
}
