use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// A plain row-major array: how values of a site travel between models and methods.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Array {
    /// The length of each axis, outermost first.
    pub shape: Vec<usize>,
    /// The elements in row-major order.
    pub data: Vec<f32>,
}

impl Array {
    /// An array of this shape; the number of elements must fit.
    pub fn new(shape: impl Into<Vec<usize>>, data: Vec<f32>) -> Result<Self> {
        let shape = shape.into();
        let expected: usize = shape.iter().product();
        if expected != data.len() {
            return Err(Error::Request(format!(
                "an array of shape {shape:?} holds {expected} elements, {} were given",
                data.len()
            )));
        }
        Ok(Self { shape, data })
    }

    /// An array filled with one value.
    pub fn full(shape: impl Into<Vec<usize>>, value: f32) -> Self {
        let shape = shape.into();
        let data = vec![value; shape.iter().product()];
        Self { shape, data }
    }

    /// An array of zeros.
    pub fn zeros(shape: impl Into<Vec<usize>>) -> Self {
        Self::full(shape, 0.0)
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether the array holds no element.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The inner product with an array of the same shape, accumulated in f64.
    pub fn dot(&self, other: &Self) -> f64 {
        debug_assert_eq!(self.shape, other.shape);
        self.data.iter().zip(&other.data).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    }

    /// The largest absolute difference to an array of the same shape; NaN anywhere gives infinity.
    pub fn max_abs_diff(&self, other: &Self) -> f64 {
        if self.shape != other.shape {
            return f64::INFINITY;
        }
        let worst = |acc: f64, (a, b): (&f32, &f32)| {
            let d = (f64::from(*a) - f64::from(*b)).abs();
            if d.is_nan() { f64::INFINITY } else { acc.max(d) }
        };
        self.data.iter().zip(&other.data).fold(0.0, worst)
    }

    /// The largest absolute value; NaN anywhere gives NaN, so that nothing counts as small beside it.
    pub fn max_abs(&self) -> f64 {
        let larger = |acc: f64, v: &f32| {
            let v = f64::from(v.abs());
            if v > acc || v.is_nan() { v } else { acc }
        };
        self.data.iter().fold(0.0, larger)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(data: &[f32]) -> Array {
        Array { shape: vec![data.len()], data: data.to_vec() }
    }

    #[test]
    fn the_largest_of_finite_numbers() {
        assert_eq!(array(&[1.0, -3.0, 2.0]).max_abs(), 3.0);
        assert_eq!(array(&[]).max_abs(), 0.0);
        assert_eq!(array(&[1.0, -3.0]).max_abs_diff(&array(&[2.0, -3.5])), 1.0);
    }

    #[test]
    fn nan_is_never_small_wherever_it_stands() {
        for place in 0..3 {
            let mut values = array(&[1.0, -3.0, 2.0]);
            values.data[place] = f32::NAN;
            assert!(values.max_abs().is_nan(), "{values:?}");
            assert_eq!(values.max_abs_diff(&values), f64::INFINITY);
        }
        assert_eq!(array(&[1.0]).max_abs_diff(&array(&[1.0, 1.0])), f64::INFINITY, "another shape");
    }
}
