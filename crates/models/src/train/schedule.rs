use super::TrainingSettings;
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

/// The batches of an epoch, rows of these lengths in a random order. In buckets, a batch holds texts of about the same
/// length, and only those of one length and the batches themselves are in a random order.
pub(super) fn batches(lengths: &[usize], settings: &TrainingSettings, epoch: usize) -> Vec<Vec<usize>> {
    let mut rng = ChaCha8Rng::seed_from_u64(key(settings.seed, epoch as u64, 0));
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    shuffle(&mut order, &mut rng);
    if settings.bucketed {
        order.sort_by_key(|&row| lengths[row]);
    }
    let mut batches: Vec<Vec<usize>> = order.chunks(settings.batch).map(<[usize]>::to_vec).collect();
    if settings.bucketed {
        shuffle(&mut batches, &mut rng);
    }
    batches
}

fn shuffle<T>(items: &mut [T], rng: &mut ChaCha8Rng) {
    for last in (1..items.len()).rev() {
        // Taking the high bits of a product instead of a remainder: a bias of at most items/2⁶⁴.
        let other = (u128::from(rng.next_u64()) * (last as u128 + 1)) >> 64;
        items.swap(last, other as usize);
    }
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
        let lengths: Vec<usize> = (0..100).map(|row| 3 + row % 7).collect();
        for bucketed in [false, true] {
            let settings = TrainingSettings { batch: 8, seed: 7, bucketed, ..TrainingSettings::default() };
            let of = |epoch| batches(&lengths, &settings, epoch);
            let (one, other) = (of(0), of(1));
            assert_ne!(one, other);
            assert_eq!(one, of(0));
            for found in [one, other] {
                assert_eq!(found.len(), 13);
                // Of 100 rows in 7 lengths, sorted and cut by 8, a batch has at most two lengths.
                let mixed = found.iter().filter(|batch| {
                    let lengths = batch.iter().map(|&row| lengths[row]);
                    lengths.clone().max() > lengths.min().map(|least| least + 1)
                });
                assert_eq!(mixed.count() == 0, bucketed);
                let mut rows = found.concat();
                rows.sort_unstable();
                assert_eq!(rows, (0..100).collect::<Vec<_>>());
            }
            assert!(batches(&[], &settings, 1).is_empty());
        }
    }
}
