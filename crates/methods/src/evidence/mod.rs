//! How far an explanation can be trusted. One file for each check: how it is measured, when it fails and what it says.
//! `CHECKS` lists them; `docs/evidence.md` explains them.
//!
//! The default level hides units and looks at what the model then says: about 150 forward rows for 20 words and at most
//! 190, whatever the length of the text. One check of it decides, the test against `chance`, whose error rate is known. The deep level follows whole rankings, and explains again: with noise on the word vectors and with
//! random parameters. What hiding does is remembered, and shared by all explanations of one text and target.

pub(crate) mod chance;
mod check;
mod completeness;
mod comprehensiveness;
mod curves;
mod equal;
mod erasure;
mod flip;
mod head_randomisation;
mod infidelity;
#[cfg(test)]
mod known;
mod leave_one_out;
mod noisy;
mod pool;
mod randomisation;
pub(crate) mod ranking;
mod sensitivity;
pub(crate) mod sentence;
mod stability;
mod sufficiency;
mod swap;
mod zero;

pub(crate) use check::{Judged, verdict_of};
#[cfg(test)]
pub(crate) use known::agrees;
pub(crate) use leave_one_out::SIGNIFICANCE;
pub(crate) use ranking::shuffled;

use crate::compare::TextEffects;
use crate::registry::Method;
use crate::{AskedSets, PerturbedPredictions, Question, RawAttribution, Set};
use chance::Shared;
use check::{Check, Look, Ruling, verdict};
use exegete_core::report::{Checks, Verdict};
use exegete_core::{Error, Result};

/// Every check, worst failure first: scores that say nothing, another answer than the model's, numbers that are not what they
/// claim, an order that chance would match, scores that ignore what was learned, slopes that foretell nothing, and at last what
/// moves too easily. The headline is the first that has one; flip, the erasures, leave-one-out and the curves are shown and have
/// no failure.
const CHECKS: &[Check] = &[
    flip::CHECK,
    zero::CHECK,
    equal::CHECK,
    swap::CHECK,
    completeness::CHECK,
    completeness::CANCELLING,
    chance::CHECK,
    comprehensiveness::CHECK,
    // Measured after randomisation, which finds its number: the list is measured from its end.
    head_randomisation::CHECK,
    randomisation::CHECK,
    sufficiency::CHECK,
    leave_one_out::CHECK,
    infidelity::CHECK,
    stability::CHECK,
    sensitivity::CHECK,
    curves::DELETION,
    curves::INSERTION,
];

/// The order of rounding agrees with nothing, whatever it is.
fn leave_out_order(checks: &mut Checks, verdict: &mut Verdict) {
    if let Some(found) = &mut checks.leave_one_out {
        (found.tau, found.p_value) = (None, None);
    }
    let name = leave_one_out::CHECK.name;
    verdict.findings.iter_mut().filter(|found| found.check == name).for_each(|found| found.measured = None);
}

/// How much evidence is gathered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Level {
    /// Only what the method itself claims.
    None,
    /// At most 190 forward rows.
    #[default]
    Default,
    /// Noise and random parameters too.
    Deep,
}

/// Two tokens have one order or the other; a rank correlation needs three.
const FEWEST_TOKENS: usize = 3;

/// The evidence for explanations of one text and one target, with one memory of what hiding units does.
pub struct Evidence<'a> {
    job: Question<'a>,
    masked: PerturbedPredictions<'a>,
    shared: Option<Shared>,
    checks: &'static [Check],
}

impl<'a> Evidence<'a> {
    /// For one question. Nothing is run before the first check.
    pub fn new(job: &Question<'a>) -> Self {
        // What the evidence hides is not what a method has seen.
        let job = Question { asked: AskedSets::default(), ..job.clone() };
        Self { masked: PerturbedPredictions::by_probability(&job), job, shared: None, checks: CHECKS }
    }

    /// Adds the evidence for one explanation to what its method claims. `method` explains again where a check needs that;
    /// there is none for scores from elsewhere, whose evidence is then what hiding says.
    pub fn check(
        &mut self,
        level: Level,
        explained: &RawAttribution,
        method: Option<&dyn Method>,
        mut checks: Checks,
    ) -> Result<Checks> {
        if level == Level::None || self.job.units.is_empty() {
            return Ok(checks);
        }
        let values = self.values(explained)?;
        let (list, before) = (self.checks, self.masked.run());
        let shared = &*self.shared.get_or_insert_with(|| Shared::of(&self.job));
        let mut look = Look::new(&self.job, explained, values, method, shared, &mut self.masked);
        let mut rulings = vec![Ruling::default(); list.len()];
        // One level after the other, so that the default card is the same beside the deep one.
        for stage in [Level::Default, Level::Deep].into_iter().filter(|stage| *stage <= level) {
            let due = list.iter().zip(&mut rulings).filter(|(check, _)| check.level == stage);
            let due: Vec<(&Check, &mut Ruling)> = due.collect();
            // All sets together first, so that each check finds its own.
            let sets: Vec<Set> = due.iter().flat_map(|(check, _)| (check.sets)(&look)).collect();
            look.masked.outcomes(&sets)?;
            if checks.hiding.is_none() {
                checks.hiding = Some(look.hiding()?);
            }
            // From the end of the list, so that what replaces the model's parameters comes after what leaves them.
            for (check, ruling) in due.into_iter().rev() {
                *ruling = (check.measure)(&mut look, &mut checks)?;
            }
        }
        if let Some(hiding) = &mut checks.hiding {
            hiding.rows = self.masked.run() - before;
        }
        let mut verdict = verdict(list, rulings);
        if verdict.says_zero() {
            leave_out_order(&mut checks, &mut verdict);
        }
        checks.verdict = Some(verdict);
        Ok(checks)
    }

    /// What hiding each unit does to F, read off the shared sets; none where there are too few units.
    pub(crate) fn effects(&mut self) -> Result<Option<TextEffects>> {
        let shared = &*self.shared.get_or_insert_with(|| Shared::of(&self.job));
        if shared.masks.is_empty() {
            return Ok(None);
        }
        let used: Vec<&Set> = shared.masks.iter().collect();
        Ok(TextEffects::of(chance::effects(&mut self.masked, &used)?, self.job.place()))
    }

    /// One score a unit. Scores from elsewhere may be of another tokenizer or other units.
    fn values(&self, explained: &RawAttribution) -> Result<Vec<f64>> {
        let units = self.job.units.len();
        let values = explained.units(&self.job)?.unwrap_or_default();
        if values.len() == units {
            return Ok(values);
        }
        let (given, nouns) = (values.len(), sentence::noun(self.job.kind, units));
        Err(Error::Request(format!("{given} scores for {units} {nouns}: there must be one each")))
    }
}
