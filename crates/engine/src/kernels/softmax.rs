use super::{max, sum, vectorised};
use crate::context::Context;
use crate::heads::Heads;
use crate::scalar::Scalar;
use crate::tensor::Tensor;

/// Softmax over the keys of every attention row, ragged.
pub(crate) fn ragged<T: Scalar>(ctx: &Context<T>, heads: &Heads, scores: &Tensor<T>) -> Tensor<T> {
    Tensor::fill(ctx, 1, heads.total(), |out| {
        out.copy_from_slice(scores.data());
        for_maps(heads, out, |width, map| map.chunks_exact_mut(width).for_each(row));
    })
}

/// p ⊙ (g − Σ g·p) over the keys of every attention row.
pub(crate) fn ragged_pull<T: Scalar>(
    ctx: &Context<T>,
    heads: &Heads,
    cotangent: &Tensor<T>,
    probs: &Tensor<T>,
) -> Tensor<T> {
    Tensor::fill(ctx, 1, heads.total(), |out| {
        out.copy_from_slice(cotangent.data());
        let mut at = 0;
        for_maps(heads, out, |width, map| {
            for g in map.chunks_exact_mut(width) {
                row_pull(g, &probs.data()[at..at + width]);
                at += width;
            }
        });
    })
}

fn for_maps<T>(heads: &Heads, mut data: &mut [T], mut work: impl FnMut(usize, &mut [T])) {
    for b in 0..heads.queries().count() {
        let len = heads.count() * heads.queries().len(b) * heads.keys().len(b);
        let (map, rest) = data.split_at_mut(len);
        if len > 0 {
            work(heads.keys().len(b), map);
        }
        data = rest;
    }
}

/// Softmax of one row in place.
pub(crate) fn row<T: Scalar>(x: &mut [T]) {
    vectorised(
        #[inline(always)]
        || {
            let top = max(x);
            x.iter_mut().for_each(|v| *v = (*v - top).exp());
            let inverse = T::from_f64(1.0) / sum(x.len(), |i| x[i]);
            x.iter_mut().for_each(|v| *v = *v * inverse);
        },
    );
}

/// The pull of one row: g ← p ⊙ (g − Σ g·p).
pub(crate) fn row_pull<T: Scalar>(g: &mut [T], p: &[T]) {
    vectorised(
        #[inline(always)]
        || {
            let mean = sum(g.len().min(p.len()), |i| g[i] * p[i]);
            g.iter_mut().zip(p).for_each(|(g, &p)| *g = p * (*g - mean));
        },
    );
}

/// ln softmax of each row of a dense matrix.
pub(crate) fn log_softmax<T: Scalar>(ctx: &Context<T>, x: &Tensor<T>) -> Tensor<T> {
    let cols = x.cols();
    Tensor::fill(ctx, x.rows(), cols, |out| {
        out.copy_from_slice(x.data());
        ctx.rows(out, cols, |_, part| {
            vectorised(
                #[inline(always)]
                || {
                    for x in part.chunks_exact_mut(cols) {
                        let top = max(x);
                        let total = sum(x.len(), |i| (x[i] - top).exp()).ln();
                        // In this order, because top + total would round away what total adds to a large top.
                        for v in x {
                            *v = (*v - top) - total;
                        }
                    }
                },
            );
        });
    })
}

/// g − softmax·Σg for each row.
pub(crate) fn log_softmax_pull<T: Scalar>(
    ctx: &Context<T>,
    cotangent: &Tensor<T>,
    output: &Tensor<T>,
) -> Tensor<T> {
    let cols = cotangent.cols();
    Tensor::fill(ctx, cotangent.rows(), cols, |out| {
        out.copy_from_slice(cotangent.data());
        vectorised(
            #[inline(always)]
            || {
                for (g, y) in out.chunks_exact_mut(cols).zip(output.data().chunks_exact(cols)) {
                    let total = sum(g.len(), |i| g[i]);
                    for (g, &y) in g.iter_mut().zip(y) {
                        *g = *g - y.exp() * total;
                    }
                }
            },
        );
    })
}
