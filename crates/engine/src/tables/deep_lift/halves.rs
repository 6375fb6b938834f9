use crate::context::Context;
use crate::scalar::Real;
use crate::tensor::Tensor;

/// The texts' half of a value and the baselines'.
pub(super) fn split<T: Real>(x: &Tensor<T>) -> (&[T], &[T]) {
    let data = x.data();
    assert!(data.len().is_multiple_of(2), "a value of {} elements has no halves", data.len());
    data.split_at(data.len() / 2)
}

/// The mean of text and baseline, in both halves.
pub(super) fn mean<T: Real>(ctx: &Context<T>, x: &Tensor<T>) -> Tensor<T> {
    let (text, baseline) = split(x);
    let half = T::from_f64(0.5);
    Tensor::fill(ctx, x.rows(), x.cols(), |out| {
        let (first, second) = out.split_at_mut(text.len());
        for (out, (&x, &x0)) in first.iter_mut().zip(text.iter().zip(baseline)) {
            *out = half * (x + x0);
        }
        second.copy_from_slice(first);
    })
}

/// f(m, pairs of text and baseline) in the texts' half, zero in the other.
pub(super) fn rising<T: Real, const N: usize>(
    ctx: &Context<T>,
    m: &Tensor<T>,
    values: [&Tensor<T>; N],
    f: impl Fn(T, [(T, T); N]) -> T,
) -> Tensor<T> {
    let values = values.map(|value| {
        assert_eq!((m.rows(), m.cols()), (value.rows(), value.cols()), "elementwise on different shapes");
        split(value)
    });
    texts_only(ctx, m.rows(), m.cols(), |out| {
        for (i, (out, &m)) in out.iter_mut().zip(m.data()).enumerate() {
            *out = f(m, values.map(|(text, baseline)| (text[i], baseline[i])));
        }
    })
}

/// A value whose first half `fill` writes; the second is zero.
pub(super) fn texts_only<T: Real>(
    ctx: &Context<T>,
    rows: usize,
    cols: usize,
    fill: impl FnOnce(&mut [T]),
) -> Tensor<T> {
    Tensor::fill(ctx, rows, cols, |out| {
        let (first, second) = out.split_at_mut(rows * cols / 2);
        fill(first);
        second.fill(T::default());
    })
}

/// The texts' rows less the baselines'.
pub(super) fn difference<T: Real>(ctx: &Context<T>, x: &Tensor<T>) -> Tensor<T> {
    let (text, baseline) = split(x);
    Tensor::fill(ctx, x.rows() / 2, x.cols(), |out| {
        out.iter_mut().zip(text.iter().zip(baseline)).for_each(|(out, (&x, &x0))| *out = x - x0);
    })
}

/// The texts' rows, or the baselines'.
pub(super) fn half<T: Real>(ctx: &Context<T>, x: &Tensor<T>, baselines: bool) -> Tensor<T> {
    let (text, baseline) = split(x);
    let own = if baselines { baseline } else { text };
    Tensor::fill(ctx, x.rows() / 2, x.cols(), |out| out.copy_from_slice(own))
}
