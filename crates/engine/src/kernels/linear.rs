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
        let sides = ((x.data(), View::rows(inner)), (w.data(), View::rows(inner).t()));
        let product = Product::new((rows, width, inner), (out, View::rows(width)), sides.0, sides.1);
        ctx.product(product.bias(b.map(Tensor::data)).kept(w.panels().map(|panels| &panels.forward)));
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
    let product = Product::new(mnk, (dst, View::rows(w.cols())), lhs, rhs).accumulate(accumulate);
    ctx.product(product.kept(w.panels().map(|panels| &panels.backward)));
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
