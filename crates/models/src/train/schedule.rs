use exegete_engine::random_bits;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// What the rate is multiplied by in a step counted from 0: rises over the warm-up, then falls in a line to zero.
///
/// transformers starts from a rate of zero; here the first step already moves.
pub(super) fn share(step: usize, total: usize, warmup: f64) -> f64 {
    let rising = warmup * total as f64;
    let (done, total) = (step as f64, total as f64);
    if done + 1.0 < rising { (done + 1.0) / rising } else { (total - done) / (total - rising).max(1.0) }
        .min(1.0)
}

/// A figure must exceed the best by this share of it, as in torch's `ReduceLROnPlateau`.
const LEAST_GAIN: f64 = 1e-4;

/// The rate that is halved whenever the figure of an epoch, the larger the better, is no real gain.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Plateau {
    best: Option<f64>,
    /// What the rate is multiplied by.
    pub(super) share: f64,
}

impl Default for Plateau {
    fn default() -> Self {
        Self { best: None, share: 1.0 }
    }
}

impl Plateau {
    pub(super) fn see(&mut self, figure: f64) {
        // The size of the best, since a loss counts as a negative figure.
        if self.best.is_none_or(|best| figure > best + LEAST_GAIN * best.abs()) {
            self.best = Some(figure);
        } else {
            self.share *= 0.5;
        }
    }
}

/// The order in which an epoch sees the rows.
pub(super) fn order(rows: usize, seed: u64, epoch: usize) -> Vec<usize> {
    let mut rng = ChaCha8Rng::seed_from_u64(key(seed, epoch as u64, 0));
    let mut order: Vec<usize> = (0..rows).collect();
    for last in (1..rows).rev() {
        // Taking the high bits of a product instead of a remainder: a bias of at most rows/2⁶⁴.
        let other = (u128::from(rng.next_u64()) * (last as u128 + 1)) >> 64;
        order.swap(last, other as usize);
    }
    order
}

/// A random key that depends on the seed, the step and the row alone.
pub(super) fn key(seed: u64, step: u64, row: u64) -> u64 {
    random_bits(random_bits(seed, step), row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_rises_then_falls() {
        let shares: Vec<f64> = (0..10).map(|step| share(step, 10, 0.4)).collect();
        let expected = [0.25, 0.5, 0.75, 1.0, 1.0, 5.0 / 6.0, 4.0 / 6.0];
        assert!(shares.len() > expected.len());
        for (got, want) in shares.iter().zip(expected) {
            assert!((got - want).abs() < 1e-12, "{shares:?}");
        }
        assert!(shares[9] > 0.0 && shares[9] < 0.2);
        assert_eq!(share(0, 1, 0.0), 1.0);
    }

    #[test]
    fn the_rate_is_halved_where_nothing_is_gained() {
        let rates = |figures: &[f64]| {
            let mut plateau = Plateau::default();
            let rate = |&figure: &f64| {
                plateau.see(figure);
                4e-4 * plateau.share
            };
            figures.iter().map(rate).collect::<Vec<f64>>()
        };
        // torch 2.15.0: ReduceLROnPlateau(mode="max", factor=.5, patience=0).
        let expected = [4e-4, 4e-4, 2e-4, 1e-4, 1e-4, 5e-5];
        let found = rates(&[0.70, 0.72, 0.72, 0.71, 0.73, 0.73005]);
        assert!(
            found.len() == 6 && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12),
            "{found:?}"
        );
        // Losses, mode="min": a tenth of a thousandth less is a plateau, more is none.
        assert_eq!(rates(&[-1.0, -0.99995, -0.9]), [4e-4, 2e-4, 2e-4]);
    }

    #[test]
    fn every_row_comes_once_an_epoch_in_an_order_of_its_own() {
        let (one, other) = (order(100, 7, 0), order(100, 7, 1));
        let sorted = |mut order: Vec<usize>| {
            order.sort_unstable();
            order
        };
        assert_ne!(one, other);
        assert_eq!(one, order(100, 7, 0));
        assert_eq!(sorted(one), (0..100).collect::<Vec<_>>());
        assert_eq!(sorted(other), (0..100).collect::<Vec<_>>());
        assert!(order(0, 1, 1).is_empty());
    }
}
