//! Parts of matrices, and matrices made of parts.

use super::elementwise;
use crate::context::Context;
use crate::scalar::Scalar;
use crate::tensor::Tensor;
use std::ops::Range;

/// Copies some columns of a matrix.
pub(crate) fn columns<T: Scalar>(ctx: &Context<T>, x: &Tensor<T>, columns: Range<usize>) -> Tensor<T> {
    assert!(columns.start <= columns.end && columns.end <= x.cols(), "columns outside the matrix");
    let width = columns.len();
    Tensor::fill(ctx, x.rows(), width, |out| {
        for row in 0..x.rows() {
            out[row * width..][..width].copy_from_slice(&x.data()[row * x.cols()..][columns.clone()]);
        }
    })
}

/// Adds a matrix to the columns from `first` on of one with `cols` columns.
pub(crate) fn add_to_columns<T: Scalar>(dst: &mut [T], cols: usize, first: usize, part: &Tensor<T>) {
    for row in 0..part.rows() {
        let dst = &mut dst[row * cols + first..][..part.cols()];
        let part = &part.data()[row * part.cols()..][..part.cols()];
        dst.iter_mut().zip(part).for_each(|(d, &g)| *d += g);
    }
}

/// Copies some rows of a matrix.
pub(crate) fn rows<T: Scalar>(ctx: &Context<T>, x: &Tensor<T>, rows: Range<usize>) -> Tensor<T> {
    let elements = &x.data()[rows.start * x.cols()..rows.end * x.cols()];
    Tensor::fill(ctx, rows.len(), x.cols(), |out| out.copy_from_slice(elements))
}

/// Matrices side by side.
pub(crate) fn join_columns<T: Scalar>(ctx: &Context<T>, parts: &[Tensor<T>]) -> Tensor<T> {
    let (rows, cols) = (parts.first().map_or(0, Tensor::rows), parts.iter().map(Tensor::cols).sum());
    assert!(parts.iter().all(|part| part.rows() == rows), "joined columns of different heights");
    Tensor::fill(ctx, rows, cols, |out| {
        let mut first = 0;
        for part in parts {
            let width = part.cols();
            for row in 0..rows {
                out[row * cols + first..][..width].copy_from_slice(&part.data()[row * width..][..width]);
            }
            first += width;
        }
    })
}

/// Matrices one below the other.
pub(crate) fn join_rows<T: Scalar>(ctx: &Context<T>, parts: &[Tensor<T>]) -> Tensor<T> {
    let (rows, cols) = (parts.iter().map(Tensor::rows).sum(), parts.first().map_or(0, Tensor::cols));
    assert!(parts.iter().all(|part| part.cols() == cols), "joined rows of different widths");
    Tensor::fill(ctx, rows, cols, |out| {
        let mut first = 0;
        for part in parts {
            out[first..][..part.data().len()].copy_from_slice(part.data());
            first += part.data().len();
        }
    })
}

/// x with rows of a table added.
pub(crate) fn add_rows<T: Scalar>(
    ctx: &Context<T>,
    x: Tensor<T>,
    table: &Tensor<T>,
    index: &[usize],
) -> Tensor<T> {
    assert_eq!((x.rows(), x.cols()), (index.len(), table.cols()), "added rows of another shape");
    let cols = table.cols();
    let mut out = elementwise::unshared(ctx, x);
    if let Some(data) = out.data_mut() {
        for (row, &i) in index.iter().enumerate() {
            let own = &table.data()[i * cols..][..cols];
            data[row * cols..][..cols].iter_mut().zip(own).for_each(|(x, &t)| *x += t);
        }
    }
    out
}
