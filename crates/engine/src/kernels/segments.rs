//! Sums, maxima and windows over the rows of each sequence.

use super::vectorised;
use crate::context::Context;
use crate::scalar::Scalar;
use crate::segments::Segments;
use crate::tensor::Tensor;
use crate::windows::Windows;

/// The sum of each sequence's rows, in their order.
pub(crate) fn sum<T: Scalar>(ctx: &Context<T>, segments: &Segments, x: &Tensor<T>) -> Tensor<T> {
    over_rows(ctx, segments, x, |total, _, row| {
        total.iter_mut().zip(row).for_each(|(total, &x)| *total += x);
    })
}

/// The largest of each sequence's rows, column by column. NaN wins.
pub(crate) fn max<T: Scalar>(ctx: &Context<T>, segments: &Segments, x: &Tensor<T>) -> Tensor<T> {
    over_rows(ctx, segments, x, |best, first, row| {
        let larger = |best: T, x: T| first || exceeds(x, best);
        best.iter_mut().zip(row).for_each(|(best, &x)| *best = if larger(*best, x) { x } else { *best });
    })
}

/// Whether a later number takes the place of the largest so far.
#[inline(always)]
fn exceeds<T: Scalar>(x: T, best: T) -> bool {
    x.above(best) || (x.value().is_nan() && !best.value().is_nan())
}

/// Lets `work(result, first, row)` take up the rows of each sequence; results start from zero.
fn over_rows<T: Scalar>(
    ctx: &Context<T>,
    segments: &Segments,
    x: &Tensor<T>,
    work: impl Fn(&mut [T], bool, &[T]) + Sync,
) -> Tensor<T> {
    let cols = x.cols();
    check(segments, x);
    Tensor::fill(ctx, segments.count(), cols, |out| {
        out.fill(T::default());
        for s in 0..segments.count() {
            let out = &mut out[s * cols..][..cols];
            let range = segments.range(s);
            for row in range.clone() {
                let own = &x.data()[row * cols..][..cols];
                vectorised(
                    #[inline(always)]
                    || work(out, row == range.start, own),
                );
            }
        }
    })
}

fn check<T: Scalar>(segments: &Segments, x: &Tensor<T>) {
    assert_eq!(segments.total(), x.rows(), "sequences of another number of rows");
}

/// Adds each cotangent to the first row that was largest.
pub(crate) fn max_pull<T: Scalar>(dst: &mut [T], segments: &Segments, x: &Tensor<T>, cotangent: &Tensor<T>) {
    let cols = x.cols();
    for s in (0..segments.count()).filter(|&s| segments.len(s) > 0) {
        for c in 0..cols {
            dst[first_largest(segments, x, s, c) * cols + c] += cotangent.data()[s * cols + c];
        }
    }
}

/// The first row of a sequence, not empty, that is largest in a column.
pub(crate) fn first_largest<T: Scalar>(
    segments: &Segments,
    x: &Tensor<T>,
    sequence: usize,
    column: usize,
) -> usize {
    let range = segments.range(sequence);
    let at = |row: usize| x.data()[row * x.cols() + column];
    range.clone().fold(range.start, |best, row| if exceeds(at(row), at(best)) { row } else { best })
}

/// The rows that each window reads, one after the other, zeros where there is none.
pub(crate) fn unfold<T: Scalar>(ctx: &Context<T>, windows: &Windows, x: &Tensor<T>) -> Tensor<T> {
    let (cols, wide) = (x.cols(), windows.width() * x.cols());
    check(windows.inputs(), x);
    Tensor::fill(ctx, windows.outputs().total(), wide, |out| {
        out.fill(T::default());
        for (window, place, row) in windows.places() {
            let own = &x.data()[row * cols..][..cols];
            out[window * wide + place * cols..][..cols].copy_from_slice(own);
        }
    })
}

/// Adds what windows got to the rows that they read.
pub(crate) fn fold<T: Scalar>(dst: &mut [T], windows: &Windows, cotangent: &Tensor<T>) {
    let wide = cotangent.cols();
    let cols = wide / windows.width();
    vectorised(
        #[inline(always)]
        || {
            for (window, place, row) in windows.places() {
                let own = &cotangent.data()[window * wide + place * cols..][..cols];
                dst[row * cols..][..cols].iter_mut().zip(own).for_each(|(d, &g)| *d += g);
            }
        },
    );
}
