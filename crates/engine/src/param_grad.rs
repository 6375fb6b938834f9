use crate::context::Context;
use crate::kernels::{sum, vectorised};
use crate::scalar::Real;
use crate::tensor::Tensor;
use std::collections::BTreeMap;

/// The gradient of one parameter.
///
/// A batch touches few rows of a table of word vectors, and a matrix of zeros costs as much as one of numbers.
#[derive(Debug, Clone)]
pub enum ParamGrad<T> {
    /// A gradient of every element.
    Dense(Tensor<T>),
    /// Some rows of a table; the others are zero.
    Rows {
        /// Of the whole table.
        rows: usize,
        /// A row of zeros.
        zero: Vec<T>,
        /// What is not zero.
        found: BTreeMap<usize, Vec<T>>,
    },
}

impl<T: Real> ParamGrad<T> {
    /// No gradient yet for a parameter of this shape.
    pub fn zero(rows: usize, cols: usize) -> Self {
        Self::Rows { rows, zero: vec![T::default(); cols], found: BTreeMap::new() }
    }

    /// Rows and columns of the parameter.
    pub fn shape(&self) -> (usize, usize) {
        match self {
            Self::Dense(tensor) => (tensor.rows(), tensor.cols()),
            Self::Rows { rows, zero, .. } => (*rows, zero.len()),
        }
    }

    /// The gradient of one row.
    pub fn row(&self, at: usize) -> &[T] {
        match self {
            Self::Dense(tensor) => &tensor.data()[at * tensor.cols()..][..tensor.cols()],
            Self::Rows { zero, found, .. } => found.get(&at).unwrap_or(zero),
        }
    }

    /// Adds a vector to one row. A gradient is a sum of rows or of matrices, not of both.
    pub fn add_row(&mut self, at: usize, values: &[T]) {
        let Self::Rows { rows, zero, found } = self else { panic!("a row is added to a whole matrix") };
        assert!(at < *rows && values.len() == zero.len(), "row {at} of {rows}, {} columns", values.len());
        let row = found.entry(at).or_insert_with(|| zero.clone());
        row.iter_mut().zip(values).for_each(|(sum, &value)| *sum += value);
    }

    /// Adds a matrix of the parameter's shape to the sum.
    pub fn add(&mut self, ctx: &Context<T>, other: Tensor<T>) {
        assert_eq!(self.shape(), (other.rows(), other.cols()), "gradients of one parameter");
        let Self::Dense(total) = self else {
            *self = Self::Dense(other);
            return;
        };
        let add = |into: &mut [T]| {
            ctx.rows(into, 1, |at, part| {
                vectorised(
                    #[inline(always)]
                    || part.iter_mut().zip(&other.data()[at..]).for_each(|(a, &b)| *a += b),
                );
            });
        };
        match total.data_mut() {
            Some(data) => add(data),
            None => {
                let old = total.clone();
                *total = Tensor::fill(ctx, old.rows(), old.cols(), |out| {
                    out.copy_from_slice(old.data());
                    add(out);
                });
            }
        }
    }

    /// Σ g², in an order that does not depend on the threads.
    pub fn squared_norm(&self, ctx: &Context<T>) -> f64 {
        const CHUNK: usize = 1 << 12;
        let square = |part: &[T]| {
            let square = vectorised(
                #[inline(always)]
                || sum(part.len(), |i| part[i] * part[i]),
            );
            square.value()
        };
        match self {
            Self::Dense(tensor) => {
                let parts: Vec<&[T]> = tensor.data().chunks(CHUNK).collect();
                ctx.map(&parts, |part| square(part)).iter().sum()
            }
            Self::Rows { found, .. } => found.values().map(|row| square(row)).sum(),
        }
    }

    /// All elements, row by row.
    pub fn to_vec(&self) -> Vec<T> {
        (0..self.shape().0).flat_map(|at| self.row(at)).copied().collect()
    }
}
