//! What search methods say of hidden units, in plain words.

use crate::evidence::sentence::{noun, quote, quoted};
use crate::{Decision, Masker, Question, Set};
use exegete_core::Units;

/// One text and how its units are hidden.
pub(crate) struct Wording<'w> {
    job: &'w Question<'w>,
    kind: Units,
    masker: Masker,
}

impl<'w> Wording<'w> {
    pub(crate) fn new(job: &'w Question<'w>) -> Self {
        // Whatever kind gives the same pieces is a right name for them; words are what most ask for.
        let kinds = [Units::Word, Units::Token, Units::Phrase, Units::Sentence, Units::Field];
        let kind = kinds.into_iter().find(|kind| kind.of(job.encoded())[..] == job.units[..]);
        Self { job, kind: kind.unwrap_or_default(), masker: job.masker() }
    }

    /// The units in words, such as "word" for one and "words" for several.
    pub(crate) fn noun(&self, count: usize) -> String {
        noun(self.kind, count)
    }

    /// "1 word" or "3 words".
    pub(crate) fn count(&self, count: usize) -> String {
        format!("{count} {}", self.noun(count))
    }

    /// Units in quotation marks.
    pub(crate) fn list(&self, units: &[usize]) -> String {
        quoted(self.job.encoded(), &self.job.units, units)
    }

    /// The units that are not hidden.
    pub(crate) fn others(&self, hidden: &Set) -> Set {
        (0..self.job.units.len()).filter(|unit| !hidden.contains(unit)).collect()
    }

    /// "removed", "hidden" or "replaced".
    pub(crate) fn hidden(&self) -> &'static str {
        match self.masker {
            Masker::Delete => "removed",
            Masker::Sampled(_) => "replaced",
            _ => "hidden",
        }
    }

    /// "Removing", "Hiding" or "Replacing".
    pub(crate) fn hiding(&self) -> &'static str {
        match self.masker {
            Masker::Delete => "Removing",
            Masker::Sampled(_) => "Replacing",
            _ => "Hiding",
        }
    }

    /// "removal", "hiding" or "replacement".
    pub(crate) fn removal(&self) -> &'static str {
        match self.masker {
            Masker::Delete => "removal",
            Masker::Sampled(_) => "replacement",
            _ => "hiding",
        }
    }

    /// "positive (0.98)"; answers and words are pieces of text and quoted.
    pub(crate) fn decision(&self, decision: &Decision) -> String {
        format!("{} ({:.2})", self.label(decision), decision.prob)
    }

    /// The label alone, such as "positive".
    pub(crate) fn label(&self, decision: &Decision) -> String {
        match self.job.card().task.answers_in_text() {
            true => quote(&decision.label),
            false => decision.label.clone(),
        }
    }
}
