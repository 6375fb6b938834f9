//! How few words hold nearly all of the weight.

/// The smallest number of words whose weights sum to at least nine tenths.
pub fn words_90(alpha: &[f64]) -> usize {
    let mut sorted = alpha.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let mut sum = 0.0;
    // A millionth is left for rounding: nine equal weights of ten are nine tenths.
    let reached = |weight: &f64| {
        sum += weight;
        sum >= 0.9 - 1e-6
    };
    sorted.iter().position(reached).map_or(sorted.len(), |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::words_90;

    #[test]
    fn by_hand() {
        assert_eq!(words_90(&[0.359118, 0.124336, 0.252168, 0.177070, 0.087308]), 4);
        assert_eq!(words_90(&[0.1; 10]), 9);
        assert_eq!(words_90(&[1.0]), 1);
        assert_eq!(words_90(&[0.05, 0.95]), 1);
    }
}
