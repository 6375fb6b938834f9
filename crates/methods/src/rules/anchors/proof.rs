//! Whether a rule is as precise as it should be, shown by draws that were made after it was chosen.
//!
//! A rule that looked best of many looks better than it is. So only fresh draws count for it, and the share δ of errors
//! that is allowed for is spent over all tries: a share e of δ for the empty rule, whether or not it is tried, and
//! (1 − e)·(1 − r)·rʲ·δ for the rule that is tried after j others. A try passes when it has no more than c misses in
//! a + c·b draws, for some c up to a number that the threshold gives; a is the smallest number with which a rule just below the threshold passes
//! with no more than the try's share.

use super::draws::Draws;
use super::kl::{TOLERANCE, Tally};
use exegete_core::Result;

/// The empty rule's share: e. Whether it is tried depends on the draws that count for it, so its share is never saved.
const EMPTY: f64 = 0.2;
/// No run makes more draws than this, so a longer test need not be found exactly.
const LONGEST: usize = 1 << 40;
/// Each other try has this share of the δ of the one before: r.
const FALLING: f64 = 0.35;

/// What is to be shown.
pub(super) struct Certifier {
    threshold: f64,
    delta: f64,
    /// Draws made before the next thought of giving up.
    batch: usize,
    tries: usize,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Proof {
    /// The draws made after the rule was chosen.
    pub(super) tally: Tally,
    /// The lowest precision that is not ruled out.
    pub(super) low: f64,
}

impl Certifier {
    pub(super) fn new(threshold: f64, delta: f64, batch: usize) -> Self {
        Self { threshold, delta, batch, tries: 0 }
    }

    /// The draws that a faultless rule with conditions needs on its next try.
    pub(super) fn least(&self) -> usize {
        SequentialTest::new(self.threshold, self.share()).draws(0)
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
        let (course, mut tally) = (SequentialTest::new(self.threshold, share), before);
        loop {
            let misses = tally.trials - tally.hits;
            let size = course.draws(misses);
            if misses > course.most || size > before.trials + most {
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
struct SequentialTest {
    threshold: f64,
    /// The most misses that are forgiven.
    most: usize,
    first: usize,
    step: usize,
}

impl SequentialTest {
    /// The shortest one that a rule below the threshold stands with probability `share` at most.
    fn new(threshold: f64, share: f64) -> Self {
        let allowed = 1.0 - threshold;
        // At 0.95 and above one miss is forgiven and costs the draws in which a rule at the threshold has 2.4: a longer rule
        // costs less than showing one that misses more. Below, draws are cheap and misses common: the test is as fine as
        // about as many draws allow.
        let most = 1 + (90.0 * (allowed - 0.05).max(0.0)).round() as usize;
        let step = ((1.0 + 0.07 / allowed).min(2.4) / allowed).ceil() as usize;
        let course = |first: usize| Self { threshold, most, first, step };
        let stands = |first: usize| course(first).pass_probability(threshold, most) <= share;
        let (mut short, mut enough) = (0, 1);
        while enough < LONGEST && !stands(enough) {
            (short, enough) = (enough, 2 * enough);
        }
        while enough - short > 1 {
            let middle = short + (enough - short) / 2;
            *(if stands(middle) { &mut enough } else { &mut short }) = middle;
        }
        course(enough)
    }

    fn draws(&self, misses: usize) -> usize {
        self.first + misses * self.step
    }

    /// How often a rule of this precision passes with so many misses or fewer.
    fn pass_probability(&self, precision: f64, most: usize) -> f64 {
        // The chance of each number of misses, of rules that have not passed yet.
        let mut chances = vec![0.0; most + 1];
        chances[0] = 1.0;
        let (mut passed, mut drawn) = (0.0, 0);
        for misses in 0..=most {
            let fresh = self.draws(misses) - drawn;
            drawn += fresh;
            let more = misses_of(precision, fresh, most);
            let after = |total: usize| (0..=total).map(|before| chances[before] * more[total - before]).sum();
            chances = (0..=most).map(after).collect();
            passed += std::mem::take(&mut chances[misses]);
        }
        passed
    }

    /// The lowest precision that passes with so many misses or fewer with more than this probability; the threshold or more.
    fn low(&self, misses: usize, share: f64) -> f64 {
        let (mut low, mut high) = (self.threshold, 1.0);
        while high - low > TOLERANCE {
            let middle = 0.5 * (low + high);
            *(if self.pass_probability(middle, misses) > share { &mut high } else { &mut low }) = middle;
        }
        low
    }
}

/// The chances of 0, 1, … `most` misses in so many draws.
fn misses_of(precision: f64, draws: usize, most: usize) -> Vec<f64> {
    let odds = (1.0 - precision) / precision;
    let mut chance = precision.powf(draws as f64);
    let next = |misses: usize| {
        let this = chance;
        chance *= draws.saturating_sub(misses) as f64 / (misses + 1) as f64 * odds;
        this
    };
    (0..=most).map(next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn chances_by_hand() {
        assert_eq!(misses_of(0.5, 2, 3), [0.25, 0.5, 0.25, 0.0]);
        assert_eq!(misses_of(1.0, 7, 1), [1.0, 0.0]);
        // Two draws without a miss, or three with one: the miss must then be among the first two.
        let course = SequentialTest { threshold: 0.5, most: 1, first: 2, step: 1 };
        assert_eq!(course.pass_probability(0.5, 0), 0.25);
        assert_eq!(course.pass_probability(0.5, 1), 0.25 + 2.0 * 0.125);
    }

    /// How often a rule of this precision stands the course.
    fn simulated(course: &SequentialTest, precision: f64) -> f64 {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let mut one = || {
            let (mut drawn, mut misses) = (0, 0);
            while misses <= course.most && drawn < course.draws(misses) {
                misses += usize::from(random.random::<f64>() >= precision);
                drawn += 1;
            }
            misses <= course.most
        };
        (0..20_000).filter(|_| one()).count() as f64 / 20_000.0
    }

    #[test]
    fn pass_probability_is_what_happens() {
        for (threshold, share) in [(0.95, 0.03), (0.8, 0.1), (0.99, 0.2)] {
            let course = SequentialTest::new(threshold, share);
            for precision in [threshold, 0.5 + 0.5 * threshold] {
                let (stated, seen) =
                    (course.pass_probability(precision, course.most), simulated(&course, precision));
                assert!((stated - seen).abs() < 0.01, "{threshold} {precision}: {stated}, {seen}");
            }
            let short = SequentialTest { first: course.first - 1, ..course };
            assert!(course.pass_probability(threshold, course.most) <= share);
            assert!(short.pass_probability(threshold, course.most) > share);
        }
    }

    #[test]
    fn a_bound_never_lies_below_the_threshold() {
        let course = SequentialTest::new(0.95, 0.03);
        let lows: Vec<f64> = (0..=course.most).map(|misses| course.low(misses, 0.03)).collect();
        assert!(lows.windows(2).all(|pair| pair[0] > pair[1]), "{lows:?}");
        assert!(lows[course.most] >= 0.95, "{lows:?}");
        assert!((lows[0] - 0.03f64.powf(1.0 / course.first as f64)).abs() < 1e-9, "{lows:?}");
    }

    #[test]
    fn no_more_than_delta_is_spent() {
        let mut certifier = Certifier::new(0.95, 0.05, 24);
        let mut spent = 0.05 * EMPTY;
        for tries in 0..60 {
            certifier.tries = tries;
            spent += certifier.share();
        }
        assert!((spent - 0.05).abs() < 1e-12, "{spent}");
    }

    #[test]
    fn odd_thresholds_have_a_course() {
        for threshold in [1e-9, 0.5, 0.999_999] {
            let course = SequentialTest::new(threshold, 1e-6);
            assert!(course.pass_probability(threshold, course.most) <= 1e-6, "{threshold}");
        }
        // Numbers that cannot be reckoned with end in a test that is too long to be made.
        assert!(SequentialTest::new(1e-308, 1e-6).first >= LONGEST / 2);
    }
}
