//! A linear layer's products x·w above zero and below zero, kept apart.

use super::elementwise;
use crate::context::Context;
use crate::gemm::{Product, View};
use crate::scalar::Scalar;
use crate::tensor::Tensor;
use std::ops::Range;

/// For each output, the sum of the products above zero and the sum of those below: x \[T, I\], w \[O, I\] → \[T, O\] twice.
pub(crate) fn contributions<T: Scalar>(
    ctx: &Context<T>,
    x: &Tensor<T>,
    w: &Tensor<T>,
) -> (Tensor<T>, Tensor<T>) {
    let (rows, width, inner) = (x.rows(), w.rows(), x.cols());
    let [plus, minus] = [true, false].map(|above| elementwise::map(ctx, x.clone(), |x| part(x, above)));
    let mut sums = [ctx.buffer(rows * width), ctx.buffer(rows * width)];
    for_blocks(ctx, w, |outputs, above, below| {
        let mnk = (rows, outputs.len(), inner);
        for (sum, signs) in sums.iter_mut().zip([[above, below], [below, above]]) {
            for (i, (x, w)) in [&plus, &minus].into_iter().zip(signs).enumerate() {
                let dst = (sum.slice_mut(), View::rows(width).at(outputs.start));
                let (x, w) = ((x.data(), View::rows(inner)), (w, View::rows(inner).t()));
                ctx.product(Product::new(mnk, dst, x, w).accumulate(i > 0));
            }
        }
    });
    let [above, below] = sums.map(|sum| Tensor::from_buffer(rows, width, sum));
    (above, below)
}

/// The pull to x where products above zero get `up` of their output and those below get `down`.
pub(crate) fn pull<T: Scalar>(
    ctx: &Context<T>,
    x: &Tensor<T>,
    w: &Tensor<T>,
    up: &Tensor<T>,
    down: &Tensor<T>,
) -> Tensor<T> {
    let (rows, width, inner) = (x.rows(), w.rows(), x.cols());
    // For an x above zero, a product has its weight's sign; for one below, the other.
    let mut pulls = [ctx.buffer(rows * inner), ctx.buffer(rows * inner)];
    for_blocks(ctx, w, |outputs, above, below| {
        let mnk = (rows, inner, outputs.len());
        for (pull, signs) in pulls.iter_mut().zip([[above, below], [below, above]]) {
            for (i, (m, w)) in [up, down].into_iter().zip(signs).enumerate() {
                let m = (m.data(), View::rows(width).at(outputs.start));
                let dst = (pull.slice_mut(), View::rows(inner));
                let product = Product::new(mnk, dst, m, (w, View::rows(inner)));
                ctx.product(product.accumulate(i > 0 || outputs.start > 0));
            }
        }
    });
    let [plus, minus] = pulls.map(|pull| Tensor::from_buffer(rows, inner, pull));
    let negative = |i: usize| T::default().above(x.data()[i]);
    Tensor::fill(ctx, rows, inner, |out| {
        let pick = |i| if negative(i) { minus.data()[i] } else { plus.data()[i] };
        out.iter_mut().enumerate().for_each(|(i, out)| *out = pick(i));
    })
}

/// Elements of one block: its two copies are small beside the activations, which a copy of the weight would not be.
const BLOCK: usize = 1 << 15;

/// Hands out blocks of the weight's rows: which, their elements above zero, those below.
fn for_blocks<T: Scalar>(ctx: &Context<T>, w: &Tensor<T>, mut work: impl FnMut(Range<usize>, &[T], &[T])) {
    let (rows, cols) = (w.rows(), w.cols());
    let step = (BLOCK / cols.max(1)).max(1);
    for first in (0..rows).step_by(step) {
        let outputs = first..rows.min(first + step);
        let block = &w.data()[first * cols..outputs.end * cols];
        let [above, below] = [true, false].map(|above| {
            let mut copy = ctx.buffer(block.len());
            copy.slice_mut().iter_mut().zip(block).for_each(|(copy, &w)| *copy = part(w, above));
            copy
        });
        work(outputs, above.slice(), below.slice());
    }
}

/// The number where it is on this side of zero.
#[inline(always)]
fn part<T: Scalar>(x: T, above: bool) -> T {
    let zero = T::default();
    let own = if above { x.above(zero) } else { zero.above(x) };
    if own { x } else { zero }
}
