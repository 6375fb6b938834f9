//! What is rounding beside F: one floor for every method's scores, with a card or without.

/// Scores that are all at most this share of F are rounding …
const ROUNDING: f64 = 1e-6;
/// … where F is not smaller than this.
const SMALLEST: f64 = 1e-3;

/// What is said of scores that are all rounding.
pub(crate) const ALL_ZERO: &str = "all scores are 0: they rank nothing";

/// The largest size that is rounding, beside these values of F, of the whole text and of one with everything hidden.
pub(crate) fn floor(values_of_f: impl IntoIterator<Item = f64>) -> f64 {
    let size = |value: f64| if value.is_finite() { value.abs() } else { 0.0 };
    ROUNDING * values_of_f.into_iter().map(size).fold(SMALLEST, f64::max)
}

/// The largest size. NaN is no rounding.
pub(crate) fn largest(scores: &[f64]) -> f64 {
    scores
        .iter()
        .fold(0.0, |top: f64, score| if score.abs() <= top || top.is_nan() { top } else { score.abs() })
}

/// Whether all scores are rounding beside these values of F.
pub(crate) fn are_zero(scores: &[f64], values_of_f: impl IntoIterator<Item = f64>) -> bool {
    largest(scores) <= floor(values_of_f)
}

#[cfg(test)]
mod tests {
    use super::are_zero;

    #[test]
    fn rounding_is_small_beside_f() {
        for (scores, values, expected) in [
            (&[1e-11, -3e-12][..], &[0.7, 0.7][..], true),
            (&[0.0], &[0.0], true),
            (&[6.9e-7], &[0.7], true),
            (&[7.1e-7], &[0.7], false),
            // The larger of both ends counts, and what is no number does not.
            (&[7.1e-7], &[0.7, -3.0], true),
            (&[7.1e-7], &[f64::NAN, 0.7], false),
            (&[2e-9], &[0.0], false),
            (&[f64::NAN], &[0.7], false),
            (&[f64::NAN, 0.0], &[0.7], false),
        ] {
            assert_eq!(are_zero(scores, values.iter().copied()), expected, "{scores:?} beside {values:?}");
        }
    }
}
