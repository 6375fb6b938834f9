//! Single-precision functions without branches or calls, so that loops over them vectorise.

/// e^x within 2 ulp; the result saturates instead of overflowing, is exactly 0 below −87, and NaN stays NaN.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    // A score of −∞ must leave no weight at all, however little: nothing may pass through what is forbidden.
    let vanishes = x < -87.0;
    // The comparisons are written so that NaN passes through.
    let x = if vanishes { -87.0 } else { x };
    let x = if x > 88.0 { 88.0 } else { x };
    // Adding 1.5·2^23 rounds to the nearest integer and leaves it in the low bits.
    const ROUND: f32 = 12_582_912.0;
    let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = n.mul_add(-0.693_359_4, x);
    let r = n.mul_add(2.121_944_4e-4, r);
    // Taylor's series to r^7 is exact to f32 rounding for |r| ≤ ln 2 / 2.
    let p = 1.0f32 / 5040.0;
    let p = p.mul_add(r, 1.0 / 720.0);
    let p = p.mul_add(r, 1.0 / 120.0);
    let p = p.mul_add(r, 1.0 / 24.0);
    let p = p.mul_add(r, 1.0 / 6.0);
    let p = p.mul_add(r, 0.5);
    let p = (p * r).mul_add(r, r) + 1.0;
    let scale = f32::from_bits((shifted.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127)) << 23);
    if vanishes { 0.0 } else { p * scale }
}

/// erf(x) within 3e-7: an odd rational minimax fit on [−4, 4], constant outside.
#[allow(clippy::approx_constant, clippy::excessive_precision, reason = "coefficients as they were fitted")]
#[inline(always)]
pub(crate) fn erf(x: f32) -> f32 {
    let x = if x < -4.0 { -4.0 } else { x };
    let x = if x > 4.0 { 4.0 } else { x };
    let s = x * x;
    let p = 1.983_291_7e-6f32;
    let p = p.mul_add(s, 2.863_030_8e-4);
    let p = p.mul_add(s, 3.937_728e-3);
    let p = p.mul_add(s, 5.326_511_8e-2);
    let p = p.mul_add(s, 1.947_450_6e-1);
    let p = p.mul_add(s, 1.128_379);
    let q = 3.747_707_2e-5f32;
    let q = q.mul_add(s, 1.199_855_9e-3);
    let q = q.mul_add(s, 1.531_338_9e-2);
    let q = q.mul_add(s, 1.158_511_9e-1);
    let q = q.mul_add(s, 5.059_201e-1);
    let q = q.mul_add(s, 1.0);
    x * p / q
}

/// tanh(x) within 3e-7 of itself: an odd polynomial (Cephes) near zero, where 1 − 2/(e^2x + 1) would lose digits.
#[allow(clippy::excessive_precision, reason = "coefficients as they were fitted")]
#[inline(always)]
pub(crate) fn tanh(x: f32) -> f32 {
    let size = if x < 0.0 { -x } else { x };
    let s = x * x;
    let p = -5.704_988_727e-3f32;
    let p = p.mul_add(s, 2.063_908_880e-2);
    let p = p.mul_add(s, -5.373_971_555e-2);
    let p = p.mul_add(s, 1.333_144_220e-1);
    let p = p.mul_add(s, -3.333_328_194e-1);
    let near = (p * s).mul_add(x, x);
    let far = 1.0 - 2.0 / (exp(2.0 * size) + 1.0);
    let far = if x < 0.0 { -far } else { far };
    if size < 0.625 { near } else { far }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_match_double_precision() {
        for i in -200_000..=200_000 {
            let x = i as f32 * 4e-4;
            let (e, truth) = (f64::from(exp(x)), f64::from(x).exp());
            assert!((e - truth).abs() <= 3e-7 * truth, "exp({x}) = {e}, not {truth}");
            let (e, truth) = (f64::from(erf(x)), libm::erf(f64::from(x)));
            assert!((e - truth).abs() <= 3e-7, "erf({x}) = {e}, not {truth}");
            let (e, truth) = (f64::from(tanh(x)), f64::from(x).tanh());
            assert!((e - truth).abs() <= 3e-7 * truth.abs(), "tanh({x}) = {e}, not {truth}");
        }
        // Exactly one far out, so that gelu is exactly x or 0 there.
        assert!([4.0, 5.0, 1e30, f32::INFINITY].iter().all(|&x| erf(x) == 1.0 && erf(-x) == -1.0));
        assert!(exp(f32::NAN).is_nan() && erf(f32::NAN).is_nan() && tanh(f32::NAN).is_nan());
        assert!([20.0, 1e30, f32::INFINITY].iter().all(|&x| tanh(x) == 1.0 && tanh(-x) == -1.0));
        assert!(exp(f32::NEG_INFINITY) == 0.0 && exp(-87.1) == 0.0 && exp(f32::INFINITY) > 1e38);
    }
}
