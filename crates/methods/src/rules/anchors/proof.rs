//! Whether a rule is as precise as it should be, shown by draws that were made after it was chosen.
//!
//! A rule that looked best of many looks better than it is. So only fresh draws count for it, and the share δ of errors
//! that is allowed for is spent over all tries: a share e of δ for the empty rule, whether or not it is tried, and
//! (1 − e)·(1 − r)·rʲ·δ for the rule that is tried after j others. A try passes when it has no more than c misses in
//! a + c·b draws, for some c up to [`MISSES`]; a is the smallest number with which a rule just below the threshold passes
//! with no more than the try's share.

use super::draws::Draws;
use super::kl::{TOLERANCE, Tally};
use exegete_core::Result;

/// The empty rule's share: e. Whether it is tried depends on the draws that count for it, so its share is never saved.
const EMPTY: f64 = 0.2;
/// Each other try has this share of the δ of the one before: r.
const FALLING: f64 = 0.35;
/// With more misses than this a rule is given up: a longer one costs less than showing it.
const MISSES: usize = 1;
/// How many misses a rule at the threshold would have in the draws that one more miss costs.
const PRICE: f64 = 2.4;

/// What is to be shown.
pub(super) struct Prover {
    threshold: f64,
    delta: f64,
    /// Draws made before the next thought of giving up.
    batch: usize,
    tries: usize,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Proof {
    /// The fresh draws.
    pub(super) tally: Tally,
    /// The lowest precision that is not ruled out.
    pub(super) low: f64,
}

impl Prover {
    pub(super) fn new(threshold: f64, delta: f64, batch: usize) -> Self {
        Self { threshold, delta, batch, tries: 0 }
    }

    /// The draws that a faultless rule with conditions needs on its next try.
    pub(super) fn least(&self) -> usize {
        Course::new(self.threshold, self.share()).draws(0)
    }

    /// The δ of the next try of a rule with conditions.
    fn share(&self) -> f64 {
        let before = i32::try_from(self.tries).unwrap_or(i32::MAX);
        self.delta * (1.0 - EMPTY) * (1.0 - FALLING) * FALLING.powi(before)
    }

    /// Tries the empty rule with at most `most` draws beside those before, which count because nothing was chosen by them.
    pub(super) fn attempt_empty(
        &self,
        draws: &mut Draws<'_>,
        before: Tally,
        most: usize,
    ) -> Result<Option<Proof>> {
        self.run(draws, &[], before, self.delta * EMPTY, most)
    }

    /// Tries a rule with conditions with at most `most` draws.
    pub(super) fn attempt(
        &mut self,
        draws: &mut Draws<'_>,
        rule: &[usize],
        most: usize,
    ) -> Result<Option<Proof>> {
        let share = self.share();
        self.tries += 1;
        self.run(draws, rule, Tally::default(), share, most)
    }

    fn run(
        &self,
        draws: &mut Draws<'_>,
        rule: &[usize],
        before: Tally,
        share: f64,
        most: usize,
    ) -> Result<Option<Proof>> {
        let (course, mut tally) = (Course::new(self.threshold, share), before);
        loop {
            let misses = tally.trials - tally.hits;
            let size = course.draws(misses);
            if misses > MISSES || size > before.trials + most {
                return Ok(None);
            }
            if tally.trials >= size {
                return Ok(Some(Proof { tally, low: course.low(misses, share) }));
            }
            // Even shares: a last one of a few draws would cost as much as many.
            let missing = size - tally.trials;
            let shares = (missing / self.batch).max(1);
            let fresh = draws.draw(&[(rule, missing.div_ceil(shares))])?[0];
            tally.hits += fresh.hits;
            tally.trials += fresh.trials;
        }
    }
}

/// How many draws a rule must stand, by its misses.
struct Course {
    threshold: f64,
    first: usize,
    step: usize,
}

impl Course {
    /// The shortest one that a rule below the threshold stands with probability `share` at most.
    fn new(threshold: f64, share: f64) -> Self {
        let step = (PRICE / (1.0 - threshold)).ceil() as usize;
        let stands = |first: usize| Self { threshold, first, step }.standing(threshold, MISSES) <= share;
        let (mut short, mut enough) = (0, 1);
        while !stands(enough) {
            (short, enough) = (enough, 2 * enough);
        }
        while enough - short > 1 {
            let middle = short + (enough - short) / 2;
            *(if stands(middle) { &mut enough } else { &mut short }) = middle;
        }
        Self { threshold, first: enough, step }
    }

    fn draws(&self, misses: usize) -> usize {
        self.first + misses * self.step
    }

    /// How often a rule of this precision passes with so many misses or fewer.
    fn standing(&self, precision: f64, most: usize) -> f64 {
        // The chance of each number of misses, of rules that have not passed yet.
        let mut chances = [0.0; MISSES + 1];
        chances[0] = 1.0;
        let (mut passed, mut drawn) = (0.0, 0);
        for misses in 0..=most {
            let fresh = self.draws(misses) - drawn;
            drawn += fresh;
            let more = misses_of(precision, fresh);
            let after = |total: usize| (0..=total).map(|before| chances[before] * more[total - before]).sum();
            chances = std::array::from_fn(after);
            passed += std::mem::take(&mut chances[misses]);
        }
        passed
    }

    /// The lowest precision that passes with so many misses or fewer with more than this probability; the threshold or more.
    fn low(&self, misses: usize, share: f64) -> f64 {
        let (mut low, mut high) = (self.threshold, 1.0);
        while high - low > TOLERANCE {
            let middle = 0.5 * (low + high);
            *(if self.standing(middle, misses) > share { &mut high } else { &mut low }) = middle;
        }
        low
    }
}

/// The chances of 0, 1, … misses in so many draws.
fn misses_of(precision: f64, draws: usize) -> [f64; MISSES + 1] {
    let odds = (1.0 - precision) / precision;
    let mut chance = precision.powf(draws as f64);
    std::array::from_fn(|misses| {
        let this = chance;
        chance *= draws.saturating_sub(misses) as f64 / (misses + 1) as f64 * odds;
        this
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn chances_by_hand() {
        assert_eq!(misses_of(0.5, 2)[..2], [0.25, 0.5]);
        assert_eq!(misses_of(1.0, 7)[..2], [1.0, 0.0]);
        // Two draws without a miss, or three with one: the miss must then be among the first two.
        let course = Course { threshold: 0.5, first: 2, step: 1 };
        assert_eq!(course.standing(0.5, 0), 0.25);
        assert_eq!(course.standing(0.5, 1), 0.25 + 2.0 * 0.125);
    }

    /// How often a rule of this precision stands the course.
    fn simulated(course: &Course, precision: f64) -> f64 {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let mut one = || {
            let (mut drawn, mut misses) = (0, 0);
            while misses <= MISSES && drawn < course.draws(misses) {
                misses += usize::from(random.random::<f64>() >= precision);
                drawn += 1;
            }
            misses <= MISSES
        };
        (0..20_000).filter(|_| one()).count() as f64 / 20_000.0
    }

    #[test]
    fn standing_is_what_happens() {
        for (threshold, share) in [(0.95, 0.03), (0.8, 0.1), (0.99, 0.2)] {
            let course = Course::new(threshold, share);
            for precision in [threshold, 0.5 + 0.5 * threshold] {
                let (stated, seen) = (course.standing(precision, MISSES), simulated(&course, precision));
                assert!((stated - seen).abs() < 0.01, "{threshold} {precision}: {stated}, {seen}");
            }
            let short = Course { first: course.first - 1, ..course };
            assert!(course.standing(threshold, MISSES) <= share);
            assert!(short.standing(threshold, MISSES) > share);
        }
    }

    #[test]
    fn a_bound_never_lies_below_the_threshold() {
        let course = Course::new(0.95, 0.03);
        let lows: Vec<f64> = (0..=MISSES).map(|misses| course.low(misses, 0.03)).collect();
        assert!(lows.windows(2).all(|pair| pair[0] > pair[1]), "{lows:?}");
        assert!(lows[MISSES] >= 0.95, "{lows:?}");
        assert!((lows[0] - 0.03f64.powf(1.0 / course.first as f64)).abs() < 1e-9, "{lows:?}");
    }

    #[test]
    fn no_more_than_delta_is_spent() {
        let mut prover = Prover::new(0.95, 0.05, 24);
        let mut spent = 0.05 * EMPTY;
        for tries in 0..60 {
            prover.tries = tries;
            spent += prover.share();
        }
        assert!((spent - 0.05).abs() < 1e-12, "{spent}");
    }

    #[test]
    fn odd_thresholds_have_a_course() {
        for threshold in [1e-9, 0.5, 0.999_999] {
            let course = Course::new(threshold, 1e-6);
            assert!(course.standing(threshold, MISSES) <= 1e-6, "{threshold}");
        }
    }
}
