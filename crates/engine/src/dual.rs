use crate::gemm::{Product, product};
use crate::scalar::{Real, Scalar};
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// A value and its derivative along one direction: v + t·ε with ε² = 0.
///
/// Running the forward pass with duals gives Jacobian-vector products; running the backward pass too gives
/// Hessian-vector products, by the same rules and kernels.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[repr(C)]
pub struct Dual<R> {
    /// The value that the number stands for.
    pub v: R,
    /// The tangent: how fast the value changes along the direction.
    pub t: R,
}

impl<R: Real> Dual<R> {
    /// A function value with its derivative applied to the tangent.
    #[inline(always)]
    fn chain(self, value: R, derivative: R) -> Self {
        Self { v: value, t: derivative * self.t }
    }
}

impl<R: Real> Add for Dual<R> {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        Self { v: self.v + o.v, t: self.t + o.t }
    }
}

impl<R: Real> Sub for Dual<R> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        Self { v: self.v - o.v, t: self.t - o.t }
    }
}

impl<R: Real> Mul for Dual<R> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        Self { v: self.v * o.v, t: self.v * o.t + self.t * o.v }
    }
}

impl<R: Real> Div for Dual<R> {
    type Output = Self;
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        let v = self.v / o.v;
        Self { v, t: (self.t - v * o.t) / o.v }
    }
}

impl<R: Real> Neg for Dual<R> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self { v: -self.v, t: -self.t }
    }
}

impl<R: Real> AddAssign for Dual<R> {
    #[inline(always)]
    fn add_assign(&mut self, o: Self) {
        *self = *self + o;
    }
}

impl<R: Real> Scalar for Dual<R> {
    fn from_f64(value: f64) -> Self {
        Self { v: R::from_f64(value), t: R::default() }
    }
    fn value(self) -> f64 {
        self.v.value()
    }
    fn tangent(self) -> f64 {
        self.t.value()
    }
    fn above(self, other: Self) -> bool {
        self.v.above(other.v)
    }
    fn mul_add(self, a: Self, b: Self) -> Self {
        self * a + b
    }
    fn exp(self) -> Self {
        let v = self.v.exp();
        self.chain(v, v)
    }
    fn ln(self) -> Self {
        self.chain(self.v.ln(), R::from_f64(1.0) / self.v)
    }
    fn sqrt(self) -> Self {
        let v = self.v.sqrt();
        self.chain(v, R::from_f64(0.5) / v)
    }
    fn tanh(self) -> Self {
        let v = self.v.tanh();
        self.chain(v, R::from_f64(1.0) - v * v)
    }
    fn erf(self) -> Self {
        let slope = R::from_f64(std::f64::consts::FRAC_2_SQRT_PI) * (-(self.v * self.v)).exp();
        self.chain(self.v.erf(), slope)
    }
    /// (L + L′ε)(R + R′ε) = LR + (LR′ + L′R)ε: three products on strided planes.
    fn product(p: &Product<'_, Self>) {
        product::<Self, R>(p, 2, [0, 0, 0], true);
        product::<Self, R>(p, 2, [1, 0, 1], true);
        product::<Self, R>(p, 2, [1, 1, 0], false);
    }
}
