//! Distances between distributions, in nats, without any smoothing: 0·ln 0 = 0.

/// Half the sum of absolute differences, from 0 to 1.
pub fn total_variation(p: &[f64], q: &[f64]) -> f64 {
    debug_assert_eq!(p.len(), q.len());
    0.5 * p.iter().zip(q).map(|(p, q)| (p - q).abs()).sum::<f64>()
}

/// Half the divergence of each from their mean, from 0 to ln 2.
pub fn jensen_shannon(p: &[f64], q: &[f64]) -> f64 {
    debug_assert_eq!(p.len(), q.len());
    let term = |p: f64, mean: f64| if p <= 0.0 { 0.0 } else { p * (p / mean).ln() };
    let sum: f64 = p.iter().zip(q).map(|(&p, &q)| term(p, 0.5 * (p + q)) + term(q, 0.5 * (p + q))).sum();
    // Rounding can leave a sum of terms that cancel below nothing; what is no number stays none.
    (0.5 * sum).clamp(0.0, f64::INFINITY)
}

/// The probabilities of logits.
pub fn softmax(logits: &[f64]) -> Vec<f64> {
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut shares: Vec<f64> = logits.iter().map(|z| (z - top).exp()).collect();
    let sum: f64 = shares.iter().sum();
    shares.iter_mut().for_each(|share| *share /= sum);
    shares
}

/// The place of the largest; of equal ones the first.
pub fn largest(values: &[f64]) -> usize {
    (1..values.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_testkit::{Of, close};

    #[test]
    fn distances_by_hand() {
        let found = [
            jensen_shannon(&[0.5, 0.5], &[1.0, 0.0]),
            jensen_shannon(&[0.7, 0.2, 0.1], &[0.2, 0.3, 0.5]),
            jensen_shannon(&[1.0, 0.0], &[0.0, 1.0]),
            total_variation(&[0.7, 0.2, 0.1], &[0.2, 0.3, 0.5]),
            jensen_shannon(&[0.3, 0.7], &[0.3, 0.7]),
        ];
        let expected = [0.215762, 0.151358, std::f64::consts::LN_2, 0.5, 0.0];
        close("distances", &found, &expected, Of::Size(1.0), 1e-6);
    }

    #[test]
    fn of_equal_ones_the_first_is_largest() {
        assert_eq!([largest(&[1.0, 3.0, 3.0]), largest(&[2.0, 2.0]), largest(&[0.0])], [1, 0, 0]);
        close("softmax", &softmax(&[1000.0, 1000.0]), &[0.5, 0.5], Of::Size(1.0), 1e-12);
    }
}
