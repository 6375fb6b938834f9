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
        dot(&self.data, &other.data)
    }

    /// This plus some times an array of the same shape.
    #[must_use]
    pub fn plus(&self, other: &Self, times: f32) -> Self {
        debug_assert_eq!(self.shape, other.shape);
        let data = self.data.iter().zip(&other.data).map(|(a, b)| a + times * b).collect();
        Self { shape: self.shape.clone(), data }
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

/// Σ aᵢbᵢ over the shorter of the two, accumulated in f64.
pub fn dot<T: Copy + Into<f64>>(a: &[T], b: &[T]) -> f64 {
    // Four sums at a time, which the compiler can keep in one register.
    let (mut sums, split) = ([0.0; 4], a.len().min(b.len()) / 4 * 4);
    for (a, b) in a[..split].chunks_exact(4).zip(b[..split].chunks_exact(4)) {
        (0..4).for_each(|i| sums[i] += a[i].into() * b[i].into());
    }
    let rest: f64 = a[split..].iter().zip(&b[split..]).map(|(&a, &b)| a.into() * b.into()).sum();
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_any_length() {
        for length in [0, 1, 3, 4, 5, 20] {
            let a: Vec<f32> = (0..length).map(|i| i as f32).collect();
            let longer: Vec<f32> = a.iter().copied().chain([7.0; 4]).collect();
            let expected: f64 = (0..length).map(|i| f64::from(i * i)).sum();
            assert_eq!(dot(&a, &longer), expected, "{length}");
        }
    }

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
