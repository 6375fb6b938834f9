//! How far an explanation can be trusted (METHODS E1–E6, E9). One file for each check: how it is measured, when it fails and
//! what it says. `CHECKS` lists them.
//!
//! The default level hides units and looks at what the model then says: at most about 150 forward rows, whatever the
//! length of the text. The deep level follows whole rankings, and explains again: with noise on the word vectors and with
//! random parameters. What hiding does is remembered, and shared by all explanations of one text and target.

mod again;
mod check;
mod completeness;
mod comprehensiveness;
mod curves;
mod equal;
mod erasure;
mod flip;
mod infidelity;
#[cfg(test)]
mod known;
mod leave_one_out;
mod randomisation;
mod ranking;
mod sensitivity;
pub(crate) mod sentence;
mod stability;
mod sufficiency;

pub use again::Again;
pub(crate) use leave_one_out::SIGNIFICANCE;
pub(crate) use ranking::shuffled;

use crate::{Chosen, Explained, Job, Masked, Reduce, Scores, Set};
use check::{Check, Look, Ruling, verdict};
use exegete_core::report::Checks;
use exegete_core::{Error, Result, Units};

/// Every check, worst failure first: scores that say nothing, numbers that are not what they claim, an order that chance
/// would match, scores that ignore what was learned, parts that do not suffice, disagreement with leave-one-out, slopes
/// that foretell nothing, and at last what moves too easily. The headline is the first that has one; flip has no failure.
const CHECKS: &[Check] = &[
    flip::CHECK,
    equal::CHECK,
    completeness::CHECK,
    comprehensiveness::CHECK,
    randomisation::CHECK,
    sufficiency::CHECK,
    leave_one_out::CHECK,
    infidelity::CHECK,
    stability::CHECK,
    sensitivity::CHECK,
    curves::DELETION,
    curves::INSERTION,
];

/// How much evidence is gathered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Level {
    /// Only what the method itself claims.
    None,
    /// At most about 150 forward rows.
    #[default]
    Default,
    /// Noise and random parameters too.
    Deep,
}

/// Two tokens have one order or the other; a rank correlation needs three.
const FEWEST_TOKENS: usize = 3;

/// An explanation whose evidence is wanted, from a method here or from elsewhere.
#[derive(Clone, Copy)]
pub struct Scored<'s> {
    /// Whether positive and negative scores mean for and against.
    pub signed: bool,
    /// One score a unit.
    pub values: &'s [f64],
    /// One a token, special ones included.
    pub tokens: &'s [f64],
    /// How to explain again; none for scores from elsewhere, whose evidence is then what hiding says.
    pub again: Option<Again<'s>>,
}

impl<'s> Scored<'s> {
    /// The scores of a method for one question.
    pub fn of(
        job: &'s Job<'_>,
        chosen: &'s Chosen,
        explained: &'s Explained,
        values: &'s [f64],
        tokens: &'s [f64],
    ) -> Self {
        // A sum has a sign that means something, whoever asked for it; a size has none.
        let summed = match &explained.scores {
            Scores::Elements(_, own) => chosen.reduce.unwrap_or(*own) == Reduce::Sum,
            Scores::Tokens(_) | Scores::Units(_) => chosen.info.signed,
        };
        let meaning = explained.meaning.unwrap_or(chosen.info.meaning);
        let baselines = &job.baselines;
        let again = Again { method: &*chosen.method, reduce: chosen.reduce, meaning, baselines, explained };
        let signed = summed && !explained.unsigned;
        Self { signed, values, tokens, again: Some(again) }
    }
}

/// The evidence for explanations of one text and one target, with one memory of what hiding units does.
pub struct Evidence<'a> {
    job: Job<'a>,
    kind: Units,
    masked: Masked<'a>,
    checks: &'static [Check],
}

impl<'a> Evidence<'a> {
    /// For one question. Nothing is run before the first check.
    pub fn new(job: &Job<'a>, kind: Units) -> Self {
        Self { job: job.clone(), kind, masked: Masked::by_probability(job), checks: CHECKS }
    }

    /// Adds the evidence for one explanation to what its method claims.
    pub fn check(&mut self, level: Level, scored: &Scored<'_>, mut checks: Checks) -> Result<Checks> {
        if level == Level::None || self.job.units.is_empty() {
            return Ok(checks);
        }
        self.fits(scored)?;
        let (list, before) = (self.checks, self.masked.run());
        let mut look = Look::new(&self.job, self.kind, scored, &mut self.masked);
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
        checks.verdict = Some(verdict(rulings));
        Ok(checks)
    }

    /// Scores from elsewhere may be of another tokenizer or other units.
    fn fits(&self, scored: &Scored<'_>) -> Result<()> {
        let (units, tokens) = (self.job.units.len(), self.job.encoded().len());
        if (scored.values.len(), scored.tokens.len()) == (units, tokens) {
            return Ok(());
        }
        Err(Error::Request(format!(
            "{} scores for {units} {} and {} for {tokens} tokens: there must be one each",
            scored.values.len(),
            sentence::noun(self.kind, units),
            scored.tokens.len()
        )))
    }
}
