//! What a check is, what it may look at, and what it says.

use super::again::{Again, Words};
use super::ranking::Rankings;
use super::{Level, Scored, sentence};
use crate::{Job, Masked, Scores, Set};
use exegete_core::report::{Checks, Hiding, Verdict};
use exegete_core::{Result, Units};

/// Below this many units or tokens a rank correlation is mostly chance, and none is held against an explanation.
pub(super) const FEWEST_RANKED: usize = 8;

/// One check: a file of this folder that measures, holds its thresholds and says what is wrong, and a line of
/// [`super::CHECKS`].
#[derive(Clone, Copy)]
pub(super) struct Check {
    /// The level from which on it is made.
    pub(super) level: Level,
    /// The sets of units that it will hide for certain. Those of all checks of a level are run together before any of
    /// them measures, and are then remembered.
    pub(super) sets: fn(&Look<'_, '_>) -> Vec<Set>,
    /// Measures, leaves what it found in the report (in its own field, else by [`Checks::add`]) and judges it. What
    /// cannot be measured is left out.
    pub(super) measure: fn(&mut Look<'_, '_>, &mut Checks) -> Result<Ruling>,
}

/// For checks that hide nothing, or nothing that is known before.
pub(super) fn no_sets(_: &Look<'_, '_>) -> Vec<Set> {
    Vec::new()
}

/// What a check says of what it found.
#[derive(Debug, Clone, Default)]
pub(super) struct Ruling {
    /// What is wrong, worst first.
    pub(super) failures: Vec<String>,
    /// What it found in one sentence, where it is fit for the headline.
    pub(super) sentence: Option<String>,
}

impl From<Option<String>> for Ruling {
    fn from(failure: Option<String>) -> Self {
        Self { failures: failure.into_iter().collect(), sentence: None }
    }
}

/// The failures of all checks in their order, and the first sentence.
pub(super) fn verdict(rulings: Vec<Ruling>) -> Verdict {
    let sentence = rulings.iter().find_map(|ruling| ruling.sentence.clone()).unwrap_or_default();
    Verdict { sentence, failures: rulings.into_iter().flat_map(|ruling| ruling.failures).collect() }
}

/// What checks look at: an explanation, the question that it answers, and what hiding units does.
pub(super) struct Look<'l, 'a> {
    /// The question, with the baselines of the method.
    pub(super) job: Job<'a>,
    /// What the units are.
    pub(super) kind: Units,
    /// The explanation.
    pub(super) scored: &'l Scored<'l>,
    /// Its order of the units, beside others.
    pub(super) rankings: Rankings,
    /// What hiding units does.
    pub(super) masked: &'l mut Masked<'a>,
    words: Option<Words>,
}

impl<'l, 'a> Look<'l, 'a> {
    pub(super) fn new(
        job: &Job<'a>,
        kind: Units,
        scored: &'l Scored<'l>,
        masked: &'l mut Masked<'a>,
    ) -> Self {
        let mut job = job.clone();
        // Methods of one text may each have baselines of their own.
        if let Some(again) = &scored.again {
            job.baselines = again.baselines.to_vec();
        }
        let rankings = Rankings::new(&job, scored.values, scored.signed);
        Self { job, kind, scored, rankings, masked, words: None }
    }

    /// How to explain again with other word vectors or parameters: none for scores from elsewhere, and for black boxes,
    /// which have neither.
    pub(super) fn again(&self) -> Option<Again<'l>> {
        self.job.model.open().and(self.scored.again)
    }

    /// The same with the word vectors that noise is put on. Scores of units come from hiding units, and a text with noise
    /// on its word vectors has none to hide.
    pub(super) fn with_noise(&mut self) -> Result<Option<(Again<'l>, Words)>> {
        let by_token = |again: &Again<'_>| !matches!(again.explained.scores, Scores::Units(_));
        let Some(again) = self.again().filter(by_token) else { return Ok(None) };
        let words = match self.words.take() {
            Some(words) => words,
            None => Words::of(&self.job)?,
        };
        self.words = Some(words.clone());
        Ok(Some((again, words)))
    }

    /// How many tokens the units are made of.
    pub(super) fn tokens(&self) -> usize {
        self.job.units.iter().map(|unit| unit.tokens.len()).sum()
    }

    /// What `count` units are called.
    pub(super) fn noun(&self, count: usize) -> String {
        sentence::noun(self.kind, count)
    }

    /// Some units in quotation marks.
    pub(super) fn quoted(&self, units: &[usize]) -> String {
        sentence::quoted(self.job.encoded(), &self.job.units, units)
    }

    /// What is deleted is removed; what is replaced in its place is hidden.
    pub(super) fn verb(&self) -> &'static str {
        if self.masked.masker().to_string() == "delete" { "Removing" } else { "Hiding" }
    }

    /// How units are hidden; nothing has been run for it yet.
    pub(super) fn hiding(&mut self) -> Result<Hiding> {
        let (masker, target) = (self.masked.masker().to_string(), self.masked.target().to_string());
        Ok(Hiding { masker, target, value: self.masked.whole()?.value, rows: 0 })
    }
}
