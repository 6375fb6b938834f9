//! The arithmetic of the operations: plain loops that vectorise, and matrix products.

pub(crate) mod attention;
pub(crate) mod dropout;
pub(crate) mod elementwise;
pub(crate) mod joins;
pub(crate) mod lanes;
pub(crate) mod linear;
pub(crate) mod machine;
pub(crate) mod norm;
pub(crate) mod pack;
pub(crate) mod pages;
pub(crate) mod panel;
pub(crate) mod recurrent;
mod registers;
pub(crate) mod rows;
pub(crate) mod segments;
pub(crate) mod signed;
pub(crate) mod softmax;
mod turn;

use crate::scalar::Scalar;

/// Compiles the loops inside for the widest SIMD the machine has, chosen at run time.
///
/// The closure and all it calls must be `#[inline(always)]`, else they are compiled for the oldest machine.
#[inline(always)]
pub(crate) fn vectorised<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(work)
}

const LANES: usize = 16;

/// Σ f(i) over 0..n with sixteen running sums, so that it vectorises and rounds the same everywhere.
#[inline(always)]
pub(crate) fn sum<T: Scalar>(n: usize, f: impl Fn(usize) -> T) -> T {
    let mut lanes = [T::default(); LANES];
    let whole = n - n % LANES;
    let mut i = 0;
    while i < whole {
        for (lane, total) in lanes.iter_mut().enumerate() {
            *total += f(i + lane);
        }
        i += LANES;
    }
    for (lane, total) in lanes.iter_mut().enumerate().take(n - whole) {
        *total += f(whole + lane);
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            let other = lanes[lane + width];
            lanes[lane] += other;
        }
        width /= 2;
    }
    lanes[0]
}

/// The largest element by value. NaN may be passed over: it shows in whatever is computed with the elements.
#[inline(always)]
pub(crate) fn max<T: Scalar>(xs: &[T]) -> T {
    let mut lanes = [xs[0]; LANES];
    let pick = |best: T, x: T| if best.above(x) { best } else { x };
    let mut chunks = xs.chunks_exact(LANES);
    for chunk in &mut chunks {
        for lane in 0..LANES {
            lanes[lane] = pick(lanes[lane], chunk[lane]);
        }
    }
    let best = lanes.into_iter().reduce(pick).unwrap_or(xs[0]);
    chunks.remainder().iter().fold(best, |best, &x| pick(best, x))
}
