//! Vectors of plain numbers, generic over the machine's instructions.

use pulp::Simd;

/// A plain number of which a register holds several.
pub trait Lanes: Copy + Default + 'static {
    /// As many as one register holds.
    type Vector<S: Simd>: Copy;

    /// The same number in every lane.
    fn splat<S: Simd>(simd: S, number: Self) -> Self::Vector<S>;

    /// a · b + c in every lane, rounded once.
    fn fused<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>, c: Self::Vector<S>)
    -> Self::Vector<S>;
}

impl Lanes for f32 {
    type Vector<S: Simd> = S::f32s;

    #[inline(always)]
    fn splat<S: Simd>(simd: S, number: Self) -> S::f32s {
        simd.splat_f32s(number)
    }
    #[inline(always)]
    fn fused<S: Simd>(simd: S, a: S::f32s, b: S::f32s, c: S::f32s) -> S::f32s {
        simd.mul_add_f32s(a, b, c)
    }
}

impl Lanes for f64 {
    type Vector<S: Simd> = S::f64s;

    #[inline(always)]
    fn splat<S: Simd>(simd: S, number: Self) -> S::f64s {
        simd.splat_f64s(number)
    }
    #[inline(always)]
    fn fused<S: Simd>(simd: S, a: S::f64s, b: S::f64s, c: S::f64s) -> S::f64s {
        simd.mul_add_f64s(a, b, c)
    }
}
