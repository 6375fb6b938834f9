use super::elementwise;
use crate::context::Context;
use crate::gemm::{Product, View};
use crate::scalar::Scalar;
use crate::tensor::Tensor;

/// x·wᵀ + b: x \[T, I\], w \[O, I\], b \[1, O\] → \[T, O\].
pub(crate) fn linear<T: Scalar>(
    ctx: &Context<T>,
    x: &Tensor<T>,
    w: &Tensor<T>,
    b: Option<&Tensor<T>>,
) -> Tensor<T> {
    assert_eq!(x.cols(), w.cols(), "linear: the input is {} wide, the weight {}", x.cols(), w.cols());
    let (rows, width, inner) = (x.rows(), w.rows(), x.cols());
    Tensor::fill(ctx, rows, width, |out| {
        if let Some(b) = b {
            // The product then adds to the bias: one pass over the output less than adding it afterwards.
            ctx.rows(out, width, |_, part| {
                part.chunks_exact_mut(width).for_each(|row| row.copy_from_slice(b.data()));
            });
        }
        let (x, w) = ((x.data(), View::rows(inner)), (w.data(), View::rows(inner).t()));
        let product = Product::new((rows, width, inner), (out, View::rows(width)), x, w);
        ctx.product(product.accumulate(b.is_some()));
    })
}

/// dst (+)= cotangent·w: the pull to the input.
pub(crate) fn pull_input<T: Scalar>(
    ctx: &Context<T>,
    dst: &mut [T],
    accumulate: bool,
    cotangent: &Tensor<T>,
    w: &Tensor<T>,
) {
    let mnk = (cotangent.rows(), w.cols(), w.rows());
    let lhs = (cotangent.data(), View::rows(w.rows()));
    let rhs = (w.data(), View::rows(w.cols()));
    ctx.product(Product::new(mnk, (dst, View::rows(w.cols())), lhs, rhs).accumulate(accumulate));
}

/// dst (+)= cotangentᵀ·x: the pull to the weight.
pub(crate) fn pull_weight<T: Scalar>(
    ctx: &Context<T>,
    dst: &mut [T],
    accumulate: bool,
    cotangent: &Tensor<T>,
    x: &Tensor<T>,
) {
    let mnk = (cotangent.cols(), x.cols(), x.rows());
    let lhs = (cotangent.data(), View::rows(cotangent.cols()).t());
    let rhs = (x.data(), View::rows(x.cols()));
    ctx.product(Product::new(mnk, (dst, View::rows(x.cols())), lhs, rhs).accumulate(accumulate));
}

/// A matrix as the sum of what is above zero and what is below.
pub(crate) struct Signed<T> {
    above: Tensor<T>,
    below: Tensor<T>,
}

impl<T: Scalar> Signed<T> {
    pub(crate) fn new(ctx: &Context<T>, x: &Tensor<T>) -> Self {
        let zero = T::default();
        Self {
            above: elementwise::map(ctx, x.clone(), |x| if x.above(zero) { x } else { zero }),
            below: elementwise::map(ctx, x.clone(), |x| if zero.above(x) { x } else { zero }),
        }
    }

    /// Σ of the products x·w above zero and of those below, for each output; `self` is the weight.
    pub(crate) fn contributions(&self, ctx: &Context<T>, x: &Tensor<T>) -> (Tensor<T>, Tensor<T>) {
        let x = Self::new(ctx, x);
        let both = |a: &Tensor<T>, b: &Tensor<T>| {
            let first = linear(ctx, &x.above, a, None);
            elementwise::zip(ctx, first, &linear(ctx, &x.below, b, None), |a, b| a + b)
        };
        (both(&self.above, &self.below), both(&self.below, &self.above))
    }

    /// The pull to x where products above zero get `up` of their output and those below get `down`.
    pub(crate) fn pull(
        &self,
        ctx: &Context<T>,
        x: &Tensor<T>,
        up: &Tensor<T>,
        down: &Tensor<T>,
    ) -> Tensor<T> {
        let both = |a: &Tensor<T>, b: &Tensor<T>| {
            Tensor::fill(ctx, x.rows(), x.cols(), |out| {
                pull_input(ctx, out, false, up, a);
                pull_input(ctx, out, true, down, b);
            })
        };
        let (plus, minus) = (both(&self.above, &self.below), both(&self.below, &self.above));
        let pick = |i: usize| if T::default().above(x.data()[i]) { minus.data()[i] } else { plus.data()[i] };
        Tensor::fill(ctx, x.rows(), x.cols(), |out| {
            out.iter_mut().enumerate().for_each(|(i, o)| *o = pick(i))
        })
    }
}
