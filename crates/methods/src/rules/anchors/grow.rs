//! Rules grow from nothing, one condition at a time, several side by side.

use super::draws::{Draw, DrawSource, Draws};
use super::exact;
use super::kl::Tally;
use super::lucb::{Aim, best_first, contested};
use super::proof::{Certifier, Proof};
use exegete_core::Result;
use exegete_core::report::Bounded;
use std::collections::BTreeSet;

/// How a rule is looked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AnchorSearch {
    /// τ: how often the answer must stay under the rule.
    pub threshold: f64,
    /// δ: how often a rule that is said to do so may not.
    pub delta: f64,
    /// How much worse a rule that is followed may be than one that is not.
    pub tolerance: f64,
    /// Rules that are followed side by side.
    pub beam: usize,
    /// How many draws are made together.
    pub batch: usize,
    /// The most draws, evidence included.
    pub budget: usize,
    /// The most conditions that a rule may have.
    pub most: usize,
}

/// Where nothing is said.
pub(super) const OWN: AnchorSearch = AnchorSearch {
    threshold: 0.95,
    delta: 0.05,
    tolerance: 0.5,
    beam: 4,
    batch: 48,
    budget: 500,
    most: usize::MAX,
};

impl Default for AnchorSearch {
    fn default() -> Self {
        OWN
    }
}

impl AnchorSearch {
    /// The draws that it takes to show anything: the first ones, those of one proof and those of the evidence.
    pub fn least(&self) -> usize {
        let proof = Certifier::new(self.threshold, self.delta, self.batch).least();
        self.batch.max(proof) + self.batch
    }
}

/// The rule that was found, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The units that must stay, in order.
    pub conditions: Vec<usize>,
    /// How often the answer stays.
    pub precision: Bounded,
    /// Whether the threshold is shown to be reached.
    pub met: bool,
    /// The best rule of each length, the empty one first.
    pub steps: Vec<AnchorStep>,
    /// Draws under the rule that keep the answer.
    pub keeps: Vec<Draw>,
    /// Draws under the rule that lose it.
    pub breaks: Vec<Draw>,
    /// The mean precision of random rules of the same length; none for the empty rule.
    pub random: Option<Bounded>,
    /// Whether every text there is was looked at, so that nothing is an estimate.
    pub exact: bool,
    /// How many draws were made.
    pub draws: usize,
}

/// A rule on the way.
#[derive(Debug, Clone, PartialEq)]
pub struct AnchorStep {
    /// The units that must stay, in order.
    pub conditions: Vec<usize>,
    /// How often the answer stays.
    pub precision: Bounded,
}

/// How many texts are shown on either side.
pub(super) const EXAMPLES: usize = 3;
/// How many rules of each length are tried. Where the best two fail, a longer one costs less than the third.
const TRIES: usize = 2;
/// Comparing rules of one length more closely takes at most one in so many of the draws that are left.
const CLOSER: usize = 6;

/// A short rule that can be shown to be precise enough: none at all, one that the draws suggest, or one that grows condition
/// by condition.
///
/// Where there are few enough texts with units hidden, all of them are looked at instead.
pub fn find(search: &AnchorSearch, source: DrawSource<'_>) -> Result<Found> {
    if exact::is_possible(search, &source) {
        return exact::find(search, source);
    }
    let certifier = Certifier::new(search.threshold, search.delta, search.batch.div_ceil(2));
    Growth { search, draws: Draws::new(source), certifier, steps: Vec::new() }.find()
}

/// A search on its way.
pub(super) struct Growth<'s, 'f> {
    pub(super) search: &'s AnchorSearch,
    pub(super) draws: Draws<'f>,
    pub(super) certifier: Certifier,
    steps: Vec<AnchorStep>,
}

/// The units that must stay, in order.
pub(super) type Conditions = Vec<usize>;

/// Rules that were put to the proof, and the one that passed.
type Tried = (Vec<Conditions>, Option<(Conditions, Proof)>);

impl Growth<'_, '_> {
    fn find(mut self) -> Result<Found> {
        let empty = self.draws.draw(&[(&[], self.search.batch)])?[0];
        self.step(&[]);
        let left = self.left();
        if let Some(proof) = self.certifier.attempt_empty(&mut self.draws, empty, left)? {
            return self.finish(&[], proof);
        }
        if let Some((rule, proof)) = self.guessed()? {
            return self.finish(&rule, proof);
        }
        let mut beam: Vec<Conditions> = vec![Vec::new()];
        for _ in 0..self.search.most.min(self.draws.units()) {
            if self.left() < self.certifier.least() + self.search.batch {
                break;
            }
            self.sow(&beam)?;
            let rules = extensions(&beam, self.draws.units());
            let (first, found) = self.try_best(&rules, &[])?;
            if let Some((rule, proof)) = found {
                return self.finish(&rule, proof);
            }
            self.compare(&rules)?;
            if let (_, Some((rule, proof))) = self.try_best(&rules, &first)? {
                return self.finish(&rule, proof);
            }
            beam = self.best(&rules, self.search.beam);
            self.step(&beam[0]);
        }
        self.give_up()
    }

    /// Draws under the rules that are about to grow, which say something about all that grows from them.
    fn sow(&mut self, beam: &[Conditions]) -> Result<()> {
        if beam[0].is_empty() {
            return Ok(());
        }
        let each = (self.search.batch / beam.len()).max(1);
        let rules: Vec<(&[usize], usize)> = beam.iter().map(|rule| (rule.as_slice(), each)).collect();
        self.draws.draw(&rules).map(drop)
    }

    /// Draws until it is clear which rules are best, or until that has taken its share of what is left.
    fn compare(&mut self, rules: &[Conditions]) -> Result<()> {
        let aim = Aim { top: self.search.beam, tolerance: self.search.tolerance, delta: self.search.delta };
        let each = (self.search.batch / 2).max(1);
        let rounds = self.left().saturating_sub(self.certifier.least()) / CLOSER / (2 * each);
        for round in 1..=rounds {
            let tallies: Vec<Tally> = rules.iter().map(|rule| self.draws.tally(rule)).collect();
            let Some(pair) = contested(&tallies, &aim, round) else { break };
            self.draws.draw(&pair.map(|arm| (rules[arm].as_slice(), each)))?;
        }
        Ok(())
    }

    fn best(&self, rules: &[Conditions], count: usize) -> Vec<Conditions> {
        let tallies: Vec<Tally> = rules.iter().map(|rule| self.draws.tally(rule)).collect();
        best_first(&tallies).into_iter().take(count).map(|arm| rules[arm].clone()).collect()
    }

    /// Tries to prove the best of some rules, without those that were tried before.
    fn try_best(&mut self, rules: &[Conditions], before: &[Conditions]) -> Result<Tried> {
        let best = self.best(rules, TRIES);
        for rule in best.iter().filter(|rule| !before.contains(rule)) {
            if let Some(proof) = self.prove(rule)? {
                return Ok((best.clone(), Some((rule.clone(), proof))));
            }
        }
        Ok((best, None))
    }

    /// A proof that the rule is precise enough; none where what is known speaks against it or the draws do not suffice.
    fn prove(&mut self, rule: &[usize]) -> Result<Option<Proof>> {
        let promising = self.draws.tally(rule).mean() >= self.search.threshold;
        let left = self.left();
        if !promising || left < self.certifier.least() {
            return Ok(None);
        }
        self.certifier.attempt(&mut self.draws, rule, left)
    }

    /// Draws that are left when the evidence has had its own.
    pub(super) fn left(&self) -> usize {
        self.search.budget.saturating_sub(self.draws.asked() + self.search.batch)
    }

    /// Of bounds on two sides that hold with probability 1 − δ.
    fn nats(&self) -> f64 {
        (2.0 / self.search.delta).ln()
    }

    fn step(&mut self, rule: &[usize]) {
        let precision = bounded(self.draws.tally(rule), self.nats());
        self.steps.push(AnchorStep { conditions: rule.to_vec(), precision });
    }

    /// The best rule on the way, with fresh draws that say what it is worth.
    fn give_up(mut self) -> Result<Found> {
        let known = |step: &AnchorStep| self.draws.tally(&step.conditions).smoothed();
        let best = self.steps.iter().max_by(|a, b| known(a).total_cmp(&known(b)));
        let rule = best.map_or_else(Vec::new, |step| step.conditions.clone());
        let tally = self.draws.draw(&[(&rule, self.search.batch)])?[0];
        let precision = bounded(tally, self.nats());
        self.conclude(&rule, precision, false)
    }

    fn finish(self, rule: &[usize], proof: Proof) -> Result<Found> {
        let precision = Bounded { low: proof.low, ..bounded(proof.tally, self.nats()) };
        self.conclude(rule, precision, true)
    }

    fn conclude(mut self, rule: &[usize], precision: Bounded, met: bool) -> Result<Found> {
        self.steps.retain(|step| step.conditions.len() < rule.len());
        self.steps.push(AnchorStep { conditions: rule.to_vec(), precision });
        let keeps = self.draws.examples(rule, true, EXAMPLES);
        let breaks = self.draws.examples(rule, false, EXAMPLES);
        let random = match rule.len() {
            0 => None,
            length => {
                let worth = self.search.batch.div_ceil(2);
                Some(self.draws.random_rules(length, worth)?.bounded(self.nats()))
            }
        };
        Ok(Found {
            conditions: rule.to_vec(),
            precision,
            met,
            steps: self.steps,
            keeps,
            breaks,
            random,
            exact: false,
            draws: self.draws.asked(),
        })
    }
}

/// Every rule with one condition more than one of these.
pub(super) fn extensions(beam: &[Conditions], units: usize) -> Vec<Conditions> {
    let longer = |rule: &Conditions| -> Vec<Conditions> {
        let add = |unit: usize| {
            let mut longer = rule.clone();
            longer.insert(longer.partition_point(|&other| other < unit), unit);
            longer
        };
        (0..units).filter(|unit| !rule.contains(unit)).map(add).collect()
    };
    let all: BTreeSet<Conditions> = beam.iter().flat_map(longer).collect();
    all.into_iter().collect()
}

fn bounded(tally: Tally, nats: f64) -> Bounded {
    Bounded { value: tally.mean(), low: tally.low(nats), high: tally.high(nats) }
}
