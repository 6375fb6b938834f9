use super::elementwise::unshared;
use super::{sum, vectorised};
use crate::context::Context;
use crate::scalar::Scalar;
use crate::tensor::Tensor;

/// What the backward pass of a layer norm needs.
#[derive(Debug, Clone)]
pub(crate) struct Normalised<T> {
    /// (x − mean)/σ \[T, H\]
    pub(crate) x: Tensor<T>,
    /// The inverse of the deviation, 1/σ, of shape \[T, 1\].
    pub(crate) inverse: Tensor<T>,
}

/// gain ⊙ x̂ + bias with x̂ the normalised rows of x (+ residual); keeps x̂ and 1/σ where asked.
pub(crate) fn layer_norm<T: Scalar>(
    ctx: &Context<T>,
    x: Tensor<T>,
    residual: Option<&Tensor<T>>,
    gain: &Tensor<T>,
    bias: &Tensor<T>,
    epsilon: f64,
    keep: bool,
) -> (Tensor<T>, Option<Normalised<T>>) {
    let (rows, cols) = (x.rows(), x.cols());
    assert_eq!((gain.cols(), bias.cols()), (cols, cols), "layer norm: gain and bias of another width");
    let mut normalised = unshared(ctx, x);
    let mut inverse = Tensor::zeros(ctx, rows, 1);
    let each = |first: usize, x: &mut [T], inverse: &mut [T]| {
        for (i, (x, inverse)) in x.chunks_exact_mut(cols).zip(inverse).enumerate() {
            let residual = residual.map(|r| &r.data()[(first + i) * cols..][..cols]);
            *inverse = normalise(x, residual, epsilon);
            if !keep {
                affine(x, gain.data(), bias.data());
            }
        }
    };
    if let (Some(data), Some(inverse)) = (normalised.data_mut(), inverse.data_mut()) {
        ctx.rows_with(data, cols, inverse, each);
    }
    if !keep {
        return (normalised, None);
    }
    let out = Tensor::fill(ctx, rows, cols, |out| {
        ctx.rows(out, cols, |first, part| {
            part.copy_from_slice(&normalised.data()[first * cols..][..part.len()]);
            part.chunks_exact_mut(cols).for_each(|row| affine(row, gain.data(), bias.data()));
        });
    });
    (out, Some(Normalised { x: normalised, inverse }))
}

/// x ← (x + residual − mean)/σ; returns 1/σ.
#[inline(always)]
fn normalise<T: Scalar>(x: &mut [T], residual: Option<&[T]>, epsilon: f64) -> T {
    vectorised(
        #[inline(always)]
        || {
            if let Some(residual) = residual {
                x.iter_mut().zip(residual).for_each(|(x, &r)| *x += r);
            }
            let share = T::from_f64(1.0 / x.len() as f64);
            let mean = sum(x.len(), |i| x[i]) * share;
            x.iter_mut().for_each(|x| *x = *x - mean);
            let variance = sum(x.len(), |i| x[i] * x[i]) * share;
            let inverse = T::from_f64(1.0) / (variance + T::from_f64(epsilon)).sqrt();
            x.iter_mut().for_each(|x| *x = *x * inverse);
            inverse
        },
    )
}

#[inline(always)]
fn affine<T: Scalar>(x: &mut [T], gain: &[T], bias: &[T]) {
    vectorised(
        #[inline(always)]
        || x.iter_mut().zip(gain.iter().zip(bias)).for_each(|(x, (&g, &b))| *x = x.mul_add(g, b)),
    );
}

/// The pull to x: (ĝ − mean ĝ − x̂·mean(ĝ ⊙ x̂))/σ with ĝ = cotangent ⊙ gain.
pub(crate) fn layer_norm_pull<T: Scalar>(
    ctx: &Context<T>,
    cotangent: Tensor<T>,
    kept: &Normalised<T>,
    gain: &Tensor<T>,
) -> Tensor<T> {
    let cols = cotangent.cols();
    let mut out = unshared(ctx, cotangent);
    let Some(data) = out.data_mut() else { return out };
    ctx.rows(data, cols, |first, part| {
        for (i, g) in part.chunks_exact_mut(cols).enumerate() {
            let x = &kept.x.data()[(first + i) * cols..][..cols];
            pull_row(g, x, gain.data(), kept.inverse.data()[first + i]);
        }
    });
    out
}

#[inline(always)]
fn pull_row<T: Scalar>(g: &mut [T], x: &[T], gain: &[T], inverse: T) {
    vectorised(
        #[inline(always)]
        || {
            g.iter_mut().zip(gain).for_each(|(g, &gain)| *g = *g * gain);
            let share = T::from_f64(1.0 / g.len() as f64);
            let n = g.len().min(x.len());
            let mean = sum(n, |i| g[i]) * share;
            let along = sum(n, |i| g[i] * x[i]) * share;
            g.iter_mut().zip(x).for_each(|(g, &x)| *g = (*g - mean - x * along) * inverse);
        },
    );
}
