//! Whether a rule is as precise as it should be, shown by draws that were made after it was chosen.
//!
//! A rule that looked best of many looks better than it is. So only fresh draws count for it, and the share δ of errors
//! that is allowed for is spent over all tries: 0.6·0.4ʲδ for the rule that is tried after j others, and of that eight, one and
//! one tenth for three looks at sizes fixed beforehand. By the union bound, a rule below the threshold passes any look of
//! any try with probability δ at most.

use super::draws::Draws;
use super::kl::{Tally, divergence};
use exegete_core::Result;

/// The share of a try's δ for each look, and how many times the first look's draws it takes.
const LOOKS: [(f64, usize); 3] = [(0.8, 1), (0.1, 2), (0.1, 4)];

/// Each try has this share of the δ of the one before.
const FALLING: f64 = 0.4;

/// What is to be shown.
pub(super) struct Prover {
    pub(super) threshold: f64,
    pub(super) delta: f64,
    /// Draws made before the next thought of giving up.
    pub(super) batch: usize,
    tries: usize,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Proof {
    /// The fresh draws.
    pub(super) tally: Tally,
    /// ln(1/δ) of the look.
    pub(super) nats: f64,
    /// Whether it was shown.
    pub(super) met: bool,
}

impl Prover {
    pub(super) fn new(threshold: f64, delta: f64, batch: usize) -> Self {
        Self { threshold, delta, batch, tries: 0 }
    }

    /// The draws that a faultless rule needs on its next try.
    pub(super) fn least(&self) -> usize {
        (-(LOOKS[0].0 * self.share()).ln() / -self.threshold.ln()).ceil().max(1.0) as usize
    }

    /// The δ of the next try.
    fn share(&self) -> f64 {
        let before = i32::try_from(self.tries).unwrap_or(i32::MAX);
        self.delta * (1.0 - FALLING) * FALLING.powi(before)
    }

    /// Tries one rule with at most `most` draws; `before` are draws that count because nothing was chosen by them.
    pub(super) fn attempt(
        &mut self,
        draws: &mut Draws<'_>,
        rule: &[usize],
        before: Tally,
        most: usize,
    ) -> Result<Proof> {
        let (first, delta) = (self.least().max(before.trials), self.share());
        self.tries += 1;
        let mut proof = Proof { tally: before, nats: -(LOOKS[0].0 * delta).ln(), met: false };
        for (share, times) in LOOKS {
            proof.nats = -(share * delta).ln();
            let size = first * times;
            if size - before.trials > most {
                break;
            }
            while proof.tally.trials < size {
                let count = self.batch.min(size - proof.tally.trials);
                let fresh = draws.draw(&[(rule, count)])?[0];
                proof.tally.hits += fresh.hits;
                proof.tally.trials += fresh.trials;
                if self.is_hopeless(&proof.tally, first, delta) {
                    return Ok(proof);
                }
            }
            if proof.tally.low(proof.nats) >= self.threshold {
                return Ok(Proof { met: true, ..proof });
            }
        }
        Ok(proof)
    }

    /// Whether not even the last look would be passed if the draws went on as they do, with one miss forgiven. Giving up
    /// costs rules that would have passed, but lets none pass.
    fn is_hopeless(&self, tally: &Tally, first: usize, delta: f64) -> bool {
        let misses = (tally.trials - tally.hits).saturating_sub(1);
        let mean = 1.0 - misses as f64 / tally.trials as f64;
        let (share, times) = LOOKS[LOOKS.len() - 1];
        let nats = (first * times) as f64 * divergence(mean, self.threshold);
        mean < self.threshold || nats < -(share * delta).ln()
    }
}
