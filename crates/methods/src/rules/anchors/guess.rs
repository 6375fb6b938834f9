//! Rules that the draws so far suggest, put to the proof at once: growing step by step would only spend more.

use super::draws::Draws;
use super::grow::{Conditions, Growth, extensions};
use super::kl::Tally;
use super::proof::Proof;
use super::surrogate::Surrogate;
use exegete_core::Result;

/// How many rules are guessed before they are grown.
const GUESSES: usize = 8;
/// How many more conditions a guess may have than the shortest that is still hoped for.
const STRIDE: usize = 3;
/// A rule is put to the proof at once where it seems to fail less often than this share of what is allowed; showing it for
/// others takes too many draws.
const EASY: f64 = 0.3;
/// Without a fault, so many draws are enough to try a proof.
const SURE: usize = 16;
/// Without a fault, so many draws are enough to look at a rule instead of one with more conditions.
const UNSURE: usize = 6;
/// From so many conditions on, one of them may well be there by chance.
const LONG: usize = 3;
/// How many draws a guess counts for.
const BELIEF: f64 = 8.0;

impl Growth<'_, '_> {
    /// A rule that looks as if it could be shown with few draws, and its proof.
    pub(super) fn guessed(&mut self) -> Result<Option<(Conditions, Proof)>> {
        let mut shortest = 1;
        for _ in 0..GUESSES {
            let Some((rule, easy)) = self.guess(shortest) else { return Ok(None) };
            let left = self.left();
            if left < self.certifier.least() {
                return Ok(None);
            }
            if easy {
                if let Some(proof) = self.certifier.attempt(&mut self.draws, &rule, left)? {
                    return self.shortened(rule, proof).map(Some);
                }
            } else {
                self.draws.draw(&[(&rule, self.search.batch.div_ceil(2))])?;
            }
            // What was seen to fail will not do better with other conditions in place of its own.
            let Tally { hits, trials } = self.draws.tally(&rule);
            shortest = shortest.max(if hits < trials { rule.len() + 1 } else { rule.len() });
        }
        Ok(None)
    }

    /// A rule of about so many conditions or some more, those that promise most by all draws so far, and whether it looks easy
    /// to prove.
    fn guess(&self, shortest: usize) -> Option<(Conditions, bool)> {
        let units = self.draws.units();
        let line = Surrogate::fit(units, self.draws.leads());
        let worth = |rule: &Conditions| {
            let Tally { hits, trials } = self.draws.tally(rule);
            (hits as f64 + BELIEF * line.precision(rule)) / (trials as f64 + BELIEF)
        };
        let most = self.search.most.min(units);
        let longest = (shortest + STRIDE - 1).min(most);
        let easy = |rule: &Conditions| {
            1.0 - worth(rule) <= EASY * (1.0 - self.search.threshold) || is_faultless(&self.draws, rule, SURE)
        };
        if shortest > most {
            return None;
        }
        let mut rule = Conditions::new();
        loop {
            if rule.len() >= shortest && easy(&rule) {
                return Some((rule, true));
            }
            if rule.len() == longest {
                let rule = tidied(&self.draws, rule, UNSURE);
                let easy = easy(&rule);
                return Some((rule, easy));
            }
            let longer = extensions(std::slice::from_ref(&rule), units).into_iter();
            rule = longer.map(|rule| (worth(&rule), rule)).max_by(|a, b| a.0.total_cmp(&b.0))?.1;
        }
    }

    /// A rule that was shown, or one without some of its conditions where that can be shown too.
    fn shortened(&mut self, rule: Conditions, proof: Proof) -> Result<(Conditions, Proof)> {
        // A single draw is enough to ask for: one that is wrong fails within a few.
        let (shorter, left) = (tidied(&self.draws, rule.clone(), 1), self.left());
        if rule.len() < LONG || shorter == rule || left < self.certifier.least() {
            return Ok((rule, proof));
        }
        let other = self.certifier.attempt(&mut self.draws, &shorter, left)?;
        Ok(other.map_or((rule, proof), |other| (shorter, other)))
    }
}

/// The rule without conditions that nothing speaks for: what was taken early may not be needed beside what came later.
fn tidied(draws: &Draws<'_>, mut rule: Conditions, least: usize) -> Conditions {
    let shorter = |rule: &Conditions| {
        let without = |i: usize| [&rule[..i], &rule[i + 1..]].concat();
        (0..rule.len()).map(without).find(|rule| !rule.is_empty() && is_faultless(draws, rule, least))
    };
    while let Some(found) = shorter(&rule) {
        rule = found;
    }
    rule
}

fn is_faultless(draws: &Draws<'_>, rule: &[usize], least: usize) -> bool {
    let Tally { hits, trials } = draws.tally(rule);
    trials >= least && hits == trials
}
