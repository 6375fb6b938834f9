use exegete_core::report::Bounded;

/// A share with its 95 % interval. E. B. Wilson, *Probable inference, the law of succession, and statistical inference*, 1927.
pub(crate) fn share(hits: usize, trials: usize) -> Bounded {
    const Z: f64 = 1.959_963_984_540_054;
    if trials == 0 {
        return Bounded { value: f64::NAN, low: 0.0, high: 1.0 };
    }
    let n = trials as f64;
    let p = hits as f64 / n;
    let middle = p + Z * Z / (2.0 * n);
    let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let bound = |x: f64| (x / (1.0 + Z * Z / n)).clamp(0.0, 1.0);
    // At the ends the two terms are equal, and rounding would leave a share of 5e-17.
    let low = if hits == 0 { 0.0 } else { bound(middle - half) };
    let high = if hits == trials { 1.0 } else { bound(middle + half) };
    Bounded { value: p, low, high }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_worked_out() {
        let check = |hits: usize, trials: usize, low: f64, high: f64| {
            let found = share(hits, trials);
            assert!((found.low - low).abs() < 1e-6 && (found.high - high).abs() < 1e-6, "{found:?}");
        };
        check(0, 10, 0.0, 0.277533);
        check(10, 10, 0.722467, 1.0);
        check(3, 20, 0.052369, 0.360419);
        check(0, 0, 0.0, 1.0);
        for trials in 1..200 {
            assert_eq!((share(0, trials).low, share(trials, trials).high), (0.0, 1.0), "{trials}");
        }
    }
}
