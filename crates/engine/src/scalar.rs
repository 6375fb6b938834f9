use crate::gemm::{Product, product};
use crate::kernels::lanes::Lanes;
use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// A number the engine computes with: `f32`, `f64`, or a [`Dual`](crate::Dual) of either.
pub trait Scalar:
    Copy
    + Debug
    + Default
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
{
    /// The number without a tangent.
    fn from_f64(value: f64) -> Self;
    /// Its value; tangents are dropped.
    fn value(self) -> f64;
    /// The derivative it carries; zero for plain numbers.
    fn tangent(self) -> f64 {
        0.0
    }
    /// Whether its value lies above another's. False where either is NaN.
    fn above(self, other: Self) -> bool;
    /// self · a + b, fused where the machine can.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// The exponential function e^x.
    fn exp(self) -> Self;
    /// The natural logarithm ln x.
    fn ln(self) -> Self;
    /// The square root √x.
    fn sqrt(self) -> Self;
    /// The hyperbolic tangent tanh x.
    fn tanh(self) -> Self;
    /// The error function erf x.
    fn erf(self) -> Self;
    /// Single-precision numbers as these; plain `f32` takes them over without a copy.
    fn from_f32s(data: Box<dyn AsRef<[f32]> + Send + Sync>) -> Box<dyn AsRef<[Self]> + Send + Sync> {
        let convert = |&x: &f32| Self::from_f64(x.into());
        Box::new(data.as_ref().as_ref().iter().map(convert).collect::<Vec<Self>>())
    }
    /// One matrix product; see [`Product`].
    fn product(p: &Product<'_, Self>);
}

/// A plain number, of which a [`Dual`](crate::Dual) can be made.
pub trait Real: Scalar + Lanes {}

impl Real for f32 {}
impl Real for f64 {}

impl Scalar for f32 {
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as Self
    }
    #[inline(always)]
    fn value(self) -> f64 {
        self.into()
    }
    #[inline(always)]
    fn above(self, other: Self) -> bool {
        self > other
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self::mul_add(self, a, b)
    }
    #[inline(always)]
    fn exp(self) -> Self {
        crate::math::exp(self)
    }
    #[inline(always)]
    fn ln(self) -> Self {
        Self::ln(self)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self::sqrt(self)
    }
    #[inline(always)]
    fn tanh(self) -> Self {
        crate::math::tanh(self)
    }
    #[inline(always)]
    fn erf(self) -> Self {
        crate::math::erf(self)
    }
    fn from_f32s(data: Box<dyn AsRef<[f32]> + Send + Sync>) -> Box<dyn AsRef<[f32]> + Send + Sync> {
        data
    }
    fn product(p: &Product<'_, Self>) {
        product::<Self, Self>(p, 1, [0; 3], true);
    }
}

impl Scalar for f64 {
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }
    #[inline(always)]
    fn value(self) -> f64 {
        self
    }
    #[inline(always)]
    fn above(self, other: Self) -> bool {
        self > other
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self::mul_add(self, a, b)
    }
    #[inline(always)]
    fn exp(self) -> Self {
        Self::exp(self)
    }
    #[inline(always)]
    fn ln(self) -> Self {
        Self::ln(self)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self::sqrt(self)
    }
    #[inline(always)]
    fn tanh(self) -> Self {
        Self::tanh(self)
    }
    #[inline(always)]
    fn erf(self) -> Self {
        libm::erf(self)
    }
    fn product(p: &Product<'_, Self>) {
        product::<Self, Self>(p, 1, [0; 3], true);
    }
}
