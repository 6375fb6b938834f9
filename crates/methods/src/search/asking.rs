//! A model as the searches see it, and what they find as a report shows it.

use super::{Hidden, SeenHidden};
use crate::{Decision, Outcome, PerturbedPredictions, Question, Set};
use exegete_core::report::{Edited, Subject, Swap};
use exegete_core::{Error, Outputs, Result, Row, Span};

/// A text, and what hiding its units does to what the model decides.
pub(crate) struct Asking<'a, 'j> {
    job: &'j Question<'a>,
    masked: PerturbedPredictions<'a>,
    whole: Outcome,
    decision: Decision,
}

impl<'a, 'j> Asking<'a, 'j> {
    /// Refuses targets that the model decides nothing about.
    pub(crate) fn new(job: &'j Question<'a>, method: &str) -> Result<Self> {
        let mut masked = PerturbedPredictions::new(job);
        let nothing = || {
            Error::Unsupported(format!(
                "{method} holds or changes what a model decides, and nothing is decided about {}; \
                 choose a class, a label, a tag, a masked word or an answer",
                job.target
            ))
        };
        if !masked.could_decide() {
            return Err(nothing());
        }
        let whole = masked.whole()?;
        let decision = whole.decision.clone().ok_or_else(nothing)?;
        Ok(Self { job, masked, whole, decision })
    }

    /// What is decided for the whole text.
    pub(crate) fn decision(&self) -> &Decision {
        &self.decision
    }

    /// How far the decision is from changing, for hidden units with the number of a draw: above zero where it stays.
    pub(crate) fn leads(&mut self, draws: &[(Set, u64)]) -> Result<Vec<f64>> {
        let outcomes = self.masked.drawn(draws)?;
        Ok(outcomes.iter().map(|outcome| outcome.lead(&self.whole)).collect())
    }

    /// The same with the probability of the decision.
    pub(crate) fn see(&mut self, sets: &[Set]) -> Result<Vec<SeenHidden>> {
        let outcomes = self.masked.outcomes(sets)?;
        let seen = |outcome: &Outcome| SeenHidden {
            stays: outcome.decides_as(&self.whole),
            kept: outcome.kept.unwrap_or(f64::NAN),
        };
        Ok(outcomes.iter().map(seen).collect())
    }

    /// What is decided with these units hidden.
    pub(crate) fn decided(&mut self, set: &Set) -> Result<Decision> {
        let outcome = self.masked.outcomes(std::slice::from_ref(set))?.swap_remove(0);
        Ok(outcome.decision.unwrap_or_else(|| self.decision.clone()))
    }

    /// What a reader sees of the texts.
    pub(crate) fn shown(&self, draws: &[(Set, u64)]) -> Result<Vec<Vec<exegete_core::Field>>> {
        draws.iter().map(|(hidden, draw)| self.masked.shown(hidden, *draw)).collect()
    }

    /// Adds what was spent and how units were hidden, and says so where the target is not what is decided.
    pub(crate) fn complete(&mut self, mut subject: Subject) -> Result<Subject> {
        subject.params.insert("masker".into(), self.masked.masker().to_string().into());
        subject.params.insert("rows".into(), self.masked.run().into());
        if !self.masked.speaks_for_decision()? {
            subject.notes.push(format!(
                "this is about what the model decides, {}, and not about the target {}",
                self.decision.label, subject.target
            ));
        }
        Ok(subject)
    }

    /// A text with units hidden, as a report shows it.
    pub(crate) fn edited(&self, (set, _): &Hidden, reached: bool) -> Result<Edited> {
        let row: Row = self.masked.row(set, 0)?;
        let logits = self.job.driver.read_one(self.job.model, &row, &Outputs)?;
        Ok(Edited {
            input: self.masked.shown(set, 0)?,
            swaps: set.iter().map(|&unit| self.swap(unit)).collect::<Result<_>>()?,
            prediction: self.job.model.scored(&row.encoded, &logits)?,
            value: self.job.target.value_of(self.job.card(), &logits)?,
            reached,
        })
    }

    fn swap(&self, unit: usize) -> Result<Swap> {
        let Span { field, start, end } = self.job.units[unit].span;
        let before = self.job.encoded().slice(self.job.units[unit].span).to_owned();
        let after = self.masked.masker().instead(self.job, unit, 0)?.unwrap_or_default();
        Ok(Swap { field, start, end, before, after })
    }
}
