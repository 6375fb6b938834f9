//! What a check is, what it may look at, and what it says.

use super::chance::Shared;
use super::noisy::Words;
use super::pool::Pool;
use super::ranking::Rankings;
use super::{Level, leave_one_out, sentence};
use crate::registry::Method;
use crate::{PerturbedPredictions, Question, RawAttribution, RawScores, Set};
use exegete_core::Result;
use exegete_core::report::{Chance, Checks, Finding, Hiding, Verdict};
use std::rc::Rc;

/// Below this many units or tokens a rank correlation is mostly chance, and none is held against an explanation.
pub(super) const FEWEST_RANKED: usize = 8;

/// One check: a file of this folder that measures, holds its thresholds and says what is wrong, and a line of
/// [`super::CHECKS`].
#[derive(Clone, Copy)]
pub(super) struct Check {
    /// What it is called in findings and in `docs/evidence.md`; that of its field of [`Checks`] where it has one.
    pub(super) name: &'static str,
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
    /// The number and how it is judged; none where the check does not apply.
    pub(super) judged: Option<Judged>,
    /// What it found in one sentence, where it is fit for the headline.
    pub(super) sentence: Option<String>,
}

/// A number, what it is held against, and what comes of that.
#[derive(Debug, Clone)]
pub(crate) struct Judged {
    measured: Option<f64>,
    threshold: Option<f64>,
    judgement: Judgement,
}

#[derive(Debug, Clone)]
enum Judgement {
    Passed,
    /// With what is wrong.
    Failed(String),
    Undecided,
}

impl Judged {
    /// A number that is held against a threshold: it fails where there is something to say against it. What is no number
    /// does not pass.
    pub(crate) fn new(measured: f64, threshold: f64, failure: Option<String>) -> Self {
        let judgement = match failure {
            Some(failure) => Judgement::Failed(failure),
            None if measured.is_nan() || threshold.is_nan() => Judgement::Undecided,
            None => Judgement::Passed,
        };
        Self { measured: Some(measured), threshold: Some(threshold), judgement }
    }

    /// Whether something is so, as 1 or 0: it fails with what is said where it is not.
    pub(crate) fn holds(holds: bool, failure: &str) -> Self {
        Self::new(f64::from(u8::from(holds)), 1.0, (!holds).then(|| failure.to_owned()))
    }

    /// How often something random does as well: it fails where that is half of the trials or more.
    pub(crate) fn beside_random(random: Chance, failure: impl FnOnce() -> String) -> Self {
        let Chance { hits, trials } = random;
        Self::new(hits as f64 / trials as f64, 0.5, (2 * hits >= trials).then(failure))
    }

    /// A number that is shown, not judged.
    pub(super) fn shown(measured: Option<f64>) -> Self {
        Self { measured, threshold: None, judgement: Judgement::Undecided }
    }

    /// A number, or none, that says nothing about this text: it is too short, or nothing moves.
    pub(crate) fn undecided(measured: Option<f64>, threshold: f64) -> Self {
        Self { measured, threshold: Some(threshold), judgement: Judgement::Undecided }
    }
}

impl From<Judged> for Ruling {
    fn from(judged: Judged) -> Self {
        Self { judged: Some(judged), sentence: None }
    }
}

/// What all checks found, in their order, and what is said of it: the failures, and the first sentence.
pub(super) fn verdict(checks: &[Check], rulings: Vec<Ruling>) -> Verdict {
    let sentence = rulings.iter().find_map(|ruling| ruling.sentence.clone()).unwrap_or_default();
    let judged = checks.iter().zip(rulings);
    verdict_of(sentence, judged.filter_map(|(check, ruling)| Some((check.name, ruling.judged?))))
}

/// A verdict of a sentence and what was judged, each under the name of its finding; the failures are theirs.
pub(crate) fn verdict_of(
    sentence: String,
    judged: impl IntoIterator<Item = (&'static str, Judged)>,
) -> Verdict {
    let mut verdict = Verdict::new(sentence, Vec::new());
    for (check, Judged { measured, threshold, judgement }) in judged {
        // NaN and infinity have no JSON.
        let [measured, threshold] = [measured, threshold].map(|number| number.filter(|n| n.is_finite()));
        let (passed, failure) = match judgement {
            Judgement::Passed => (Some(true), None),
            Judgement::Failed(failure) => (Some(false), Some(failure)),
            Judgement::Undecided => (None, None),
        };
        verdict.failures.extend(failure);
        verdict.findings.push(Finding { check: check.to_owned(), measured, threshold, passed });
    }
    verdict
}

/// What checks look at: an explanation, the question that it answers, and what hiding units does.
pub(super) struct Look<'l, 'a> {
    /// The question, with the baselines of the method.
    pub(super) job: Question<'a>,
    /// What the method found.
    pub(super) explained: &'l RawAttribution,
    /// Its score of each unit.
    pub(super) values: Vec<f64>,
    /// Its order of the units, beside others.
    pub(super) rankings: Rankings,
    /// What all explanations of the text are tried with.
    pub(super) shared: &'l Shared,
    /// What hiding units does.
    pub(super) masked: &'l mut PerturbedPredictions<'a>,
    /// How far a random head moved the scores, which is measured on the way to random parameters.
    pub(super) head_change: Option<f64>,
    method: Option<&'l dyn Method>,
    words: Option<Words>,
    pool: Option<Rc<Pool>>,
}

impl<'l, 'a> Look<'l, 'a> {
    pub(super) fn new(
        job: &Question<'a>,
        explained: &'l RawAttribution,
        values: Vec<f64>,
        method: Option<&'l dyn Method>,
        shared: &'l Shared,
        masked: &'l mut PerturbedPredictions<'a>,
    ) -> Self {
        // Methods of one text may each have baselines of their own.
        let job = method.map_or_else(|| job.clone(), |method| job.with_baselines_of(method));
        let rankings = Rankings::new(&job, &values, explained.signed());
        let (words, pool, head_change) = (None, None, None);
        Self { job, explained, values, rankings, shared, masked, head_change, method, words, pool }
    }

    /// What explains again with other word vectors or parameters: none for scores from elsewhere, and for black boxes,
    /// which have neither.
    pub(super) fn again(&self) -> Option<&'l dyn Method> {
        self.job.model.open().and(self.method)
    }

    /// What explains again with noise on the word vectors. Scores of units come from hiding units, and a text with noise on
    /// its word vectors has none to hide.
    pub(super) fn takes_noise(&self) -> Option<&'l dyn Method> {
        self.again().filter(|_| !matches!(self.explained.scores, RawScores::Units(_)))
    }

    /// The same with the word vectors that noise is put on.
    pub(super) fn with_noise(&mut self) -> Result<Option<(&'l dyn Method, Words)>> {
        let Some(method) = self.takes_noise() else { return Ok(None) };
        let words = match self.words.take() {
            Some(words) => words,
            None => Words::of(&self.job)?,
        };
        self.words = Some(words.clone());
        Ok(Some((method, words)))
    }

    /// What random sets do: those of the test against chance, and single units. Nothing of it is run for this alone.
    pub(super) fn pool(&mut self) -> Result<Rc<Pool>> {
        let pool = match self.pool.take() {
            Some(pool) => pool,
            None => {
                let single = leave_one_out::sets(&leave_one_out::measured(&self.rankings));
                Rc::new(Pool::of(self.masked, &single, &self.shared.masks)?)
            }
        };
        self.pool = Some(pool.clone());
        Ok(pool)
    }

    /// How many tokens the units are made of.
    pub(super) fn tokens(&self) -> usize {
        self.job.units.iter().map(|unit| unit.tokens.len()).sum()
    }

    /// What `count` units are called.
    pub(super) fn noun(&self, count: usize) -> String {
        sentence::noun(self.job.kind, count)
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
