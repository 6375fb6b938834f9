use super::vectorised;
use crate::context::Context;
use crate::op::{Patch, Unary};
use crate::scalar::Scalar;
use crate::tensor::Tensor;

// Loops of their own and no `for_each`: what that calls may stay a function by itself, compiled for the oldest machine.

/// f over every element; writes into `x` itself where nobody else holds it.
pub(crate) fn map<T: Scalar>(ctx: &Context<T>, mut x: Tensor<T>, f: impl Fn(T) -> T + Sync) -> Tensor<T> {
    if let Some(data) = x.data_mut() {
        ctx.rows(data, 1, |_, part| {
            vectorised(
                #[inline(always)]
                || {
                    for v in &mut *part {
                        *v = f(*v);
                    }
                },
            );
        });
        return x;
    }
    Tensor::fill(ctx, x.rows(), x.cols(), |out| {
        ctx.rows(out, 1, |first, part| {
            let x = &x.data()[first..first + part.len()];
            vectorised(
                #[inline(always)]
                || {
                    for (o, &v) in part.iter_mut().zip(x) {
                        *o = f(v);
                    }
                },
            );
        });
    })
}

/// f over pairs of elements; writes into `a` itself where nobody else holds it.
pub(crate) fn zip<T: Scalar>(
    ctx: &Context<T>,
    mut a: Tensor<T>,
    b: &Tensor<T>,
    f: impl Fn(T, T) -> T + Sync,
) -> Tensor<T> {
    assert_eq!((a.rows(), a.cols()), (b.rows(), b.cols()), "elementwise on different shapes");
    if let Some(data) = a.data_mut() {
        ctx.rows(data, 1, |first, part| {
            let b = &b.data()[first..first + part.len()];
            vectorised(
                #[inline(always)]
                || {
                    for (v, &w) in part.iter_mut().zip(b) {
                        *v = f(*v, w);
                    }
                },
            );
        });
        return a;
    }
    Tensor::fill(ctx, a.rows(), a.cols(), |out| {
        ctx.rows(out, 1, |first, part| {
            let a = &a.data()[first..first + part.len()];
            let b = &b.data()[first..first + part.len()];
            vectorised(
                #[inline(always)]
                || {
                    for (o, (&v, &w)) in part.iter_mut().zip(a.iter().zip(b)) {
                        *o = f(v, w);
                    }
                },
            );
        });
    })
}

/// A unary function of every element.
pub(crate) fn unary<T: Scalar>(ctx: &Context<T>, unary: Unary, x: Tensor<T>) -> Tensor<T> {
    let one = T::from_f64(1.0);
    match unary {
        Unary::Exp => map(ctx, x, T::exp),
        Unary::Ln => map(ctx, x, T::ln),
        Unary::Sqrt => map(ctx, x, T::sqrt),
        Unary::Recip => map(ctx, x, |x| one / x),
        Unary::Square => map(ctx, x, |x| x * x),
        Unary::Tanh => map(ctx, x, T::tanh),
        Unary::Sigmoid => map(ctx, x, sigmoid),
        Unary::Softplus(beta) => {
            let (beta, share) = (T::from_f64(beta), T::from_f64(1.0 / beta));
            map(ctx, x, |x| softplus(x, beta, share))
        }
        Unary::Relu => map(ctx, x, relu),
        Unary::Gelu => map(ctx, x, gelu),
        Unary::GeluTanh => map(ctx, x, gelu_tanh),
        Unary::Silu => map(ctx, x, |x| x * sigmoid(x)),
    }
}

/// The pull of a function of one number: cotangent ⊙ f′(x).
pub(crate) fn unary_pull<T: Scalar>(
    ctx: &Context<T>,
    unary: Unary,
    cotangent: Tensor<T>,
    x: &Tensor<T>,
) -> Tensor<T> {
    let (one, two) = (T::from_f64(1.0), T::from_f64(2.0));
    match unary {
        Unary::Exp => zip(ctx, cotangent, x, |g, x| g * x.exp()),
        Unary::Ln => zip(ctx, cotangent, x, |g, x| g / x),
        Unary::Sqrt => zip(ctx, cotangent, x, |g, x| g / (two * x.sqrt())),
        Unary::Recip => zip(ctx, cotangent, x, |g, x| -g / (x * x)),
        Unary::Square => zip(ctx, cotangent, x, |g, x| g * two * x),
        Unary::Tanh => zip(ctx, cotangent, x, |g, x| {
            let y = x.tanh();
            g * (one - y * y)
        }),
        Unary::Sigmoid => zip(ctx, cotangent, x, |g, x| {
            let (y, rest) = sigmoids(x);
            g * y * rest
        }),
        Unary::Softplus(beta) => {
            let beta = T::from_f64(beta);
            zip(ctx, cotangent, x, |g, x| g * sigmoid(beta * x))
        }
        Unary::Relu => zip(ctx, cotangent, x, |g, x| if x.above(T::default()) { g } else { T::default() }),
        Unary::Gelu => zip(ctx, cotangent, x, |g, x| g * gelu_slope(x)),
        Unary::GeluTanh => zip(ctx, cotangent, x, |g, x| g * gelu_tanh_slope(x)),
        Unary::Silu => zip(ctx, cotangent, x, |g, x| {
            let (y, rest) = sigmoids(x);
            g * y * (one + x * rest)
        }),
    }
}

#[inline(always)]
pub(super) fn sigmoid<T: Scalar>(x: T) -> T {
    sigmoids(x).0
}

/// sigmoid(x) and sigmoid(−x) = 1 − sigmoid(x), without the digits that the subtraction would lose.
#[inline(always)]
fn sigmoids<T: Scalar>(x: T) -> (T, T) {
    // The exponential of −|x| never overflows, so that neither value nor tangent becomes ∞/∞ far from zero.
    let (one, small) = (T::from_f64(1.0), minus_size(x).exp());
    let large = one / (one + small);
    // The same side as in `minus_size`, or the tangent at 0 would have the other sign.
    if x.above(T::default()) { (large, small * large) } else { (small * large, large) }
}

/// Minus the size: −|x|, without a branch.
#[inline(always)]
fn minus_size<T: Scalar>(x: T) -> T {
    if x.above(T::default()) { -x } else { x }
}

/// max(x, 0) + (1/β)·ln(1 + e^−β|x|), which neither over- nor underflows.
#[inline(always)]
fn softplus<T: Scalar>(x: T, beta: T, share: T) -> T {
    relu(x) + share * (T::from_f64(1.0) + minus_size(beta * x).exp()).ln()
}

#[inline(always)]
pub(crate) fn relu<T: Scalar>(x: T) -> T {
    // NaN stays NaN; zero loses its tangent, as relu′(0) = 0.
    if x.above(T::default()) || x.value().is_nan() { x } else { T::default() }
}

#[inline(always)]
fn gelu<T: Scalar>(x: T) -> T {
    let half = T::from_f64(0.5);
    half * x * (T::from_f64(1.0) + (x * T::from_f64(std::f64::consts::FRAC_1_SQRT_2)).erf())
}

/// The slope of GELU: Φ(x) + x·φ(x).
#[inline(always)]
fn gelu_slope<T: Scalar>(x: T) -> T {
    let half = T::from_f64(0.5);
    let below = half * (T::from_f64(1.0) + (x * T::from_f64(std::f64::consts::FRAC_1_SQRT_2)).erf());
    let density = T::from_f64(0.398_942_280_401_432_7) * (-(half * x * x)).exp();
    density.mul_add(x, below)
}

const SQRT_2_OVER_PI: f64 = 0.797_884_560_802_865_4;
const CUBIC: f64 = 0.044_715;

/// ½x(1 + tanh u) = x·sigmoid(2u) with u = √(2/π)(x + 0.044715x³).
#[inline(always)]
fn gelu_tanh<T: Scalar>(x: T) -> T {
    let cube = x * x * x;
    x * sigmoid(T::from_f64(2.0 * SQRT_2_OVER_PI) * cube.mul_add(T::from_f64(CUBIC), x))
}

#[inline(always)]
fn gelu_tanh_slope<T: Scalar>(x: T) -> T {
    let one = T::from_f64(1.0);
    let twice = T::from_f64(2.0 * SQRT_2_OVER_PI);
    let (y, rest) = sigmoids(twice * (x * x * x).mul_add(T::from_f64(CUBIC), x));
    let inner = twice * (x * x).mul_add(T::from_f64(3.0 * CUBIC), one);
    y * (one + x * rest * inner)
}

/// keep·x + shift over the runs of a patch.
pub(crate) fn patch<T: Scalar>(ctx: &Context<T>, patch: &Patch<T>, x: Tensor<T>) -> Tensor<T> {
    let mut out = unshared(ctx, x);
    let Some(data) = out.data_mut() else { return out };
    for run in &patch.runs {
        let elements = &mut data[run.start..run.start + run.len];
        // Replacing must not let an old NaN through, as 0·NaN would.
        if run.keep.value() == 0.0 && run.keep.tangent() == 0.0 {
            elements.fill(T::default());
        }
        if run.shared {
            let shift = patch.values[run.shift];
            elements.iter_mut().for_each(|x| *x = run.keep * *x + shift);
        } else {
            let shifts = &patch.values[run.shift..run.shift + run.len];
            elements.iter_mut().zip(shifts).for_each(|(x, &s)| *x = run.keep * *x + s);
        }
    }
    out
}

/// keep·cotangent over the runs of a patch.
pub(crate) fn patch_pull<T: Scalar>(ctx: &Context<T>, patch: &Patch<T>, cotangent: Tensor<T>) -> Tensor<T> {
    let mut out = unshared(ctx, cotangent);
    let Some(data) = out.data_mut() else { return out };
    for run in &patch.runs {
        data[run.start..run.start + run.len].iter_mut().for_each(|g| *g = run.keep * *g);
    }
    out
}

/// The tensor itself where nobody else holds it, else a copy.
pub(crate) fn unshared<T: Scalar>(ctx: &Context<T>, mut x: Tensor<T>) -> Tensor<T> {
    if x.data_mut().is_some() {
        return x;
    }
    Tensor::fill(ctx, x.rows(), x.cols(), |out| out.copy_from_slice(x.data()))
}
