use crate::decision::{Decision, DecisionQuestion};
use crate::{Masker, Question};
use exegete_core::task::Decided;
use exegete_core::{Card, Error, Field, Logits, OfOutput, Pass, Plan, Readout, Record, Result, Row, Target};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Indices of hidden units, in order.
pub type Set = Vec<usize>;

/// A note of the sets that are hidden on the way to an answer, shared by all copies: a method that has seen what hiding them
/// does is not tested on them. The whole text is no such set.
#[derive(Debug, Clone, Default)]
pub struct AskedSets(Option<Arc<Mutex<HashSet<Set>>>>);

impl AskedSets {
    /// An empty note; the default one notes nothing.
    pub fn noting() -> Self {
        Self(Some(Arc::default()))
    }

    /// What was hidden so far; none where nothing is noted.
    pub fn noted(&self) -> Option<HashSet<Set>> {
        // Sets are only ever added, so that a note is whole whoever panicked beside it.
        self.0.as_ref().map(|sets| sets.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    fn note<'s>(&self, sets: impl Iterator<Item = &'s Set>) {
        if let Some(noted) = &self.0 {
            let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
            noted.extend(sets.filter(|set| !set.is_empty()).cloned());
        }
    }
}

/// A set of hidden units and, where the masker draws words, which draw.
type Hidden = (Set, u64);

/// What hiding units does, for one text, one target and one masker; the driver remembers what was run.
pub struct PerturbedPredictions<'a> {
    job: Question<'a>,
    /// What is explained, on its own scale.
    explained: Target,
    masker: Masker,
    question: Option<DecisionQuestion>,
    whole: Option<Outcome>,
    /// The sets that were asked for.
    seen: HashSet<Hidden>,
    asked: usize,
}

/// What a text with some units hidden gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The value F of the target, as it is read while units are hidden.
    pub value: f64,
    /// F on the scale on which effects are tested, which has no bounds.
    pub effect: f64,
    /// F on the scale that is explained.
    pub explained: f64,
    /// What the model decides, where it decides anything.
    pub decision: Option<Decision>,
    /// The probability of what it decides for the whole text.
    pub kept: Option<f64>,
}

/// The bounds of a lead, either way.
const SMALLEST_LEAD: f64 = 1e-3;
const LARGEST_LEAD: f64 = 5.0;

impl Outcome {
    /// Whether the decision is the same.
    pub fn decides_as(&self, other: &Self) -> bool {
        let key = |outcome: &Self| outcome.decision.as_ref().map(|decision| decision.key);
        key(self) == key(other)
    }

    /// The log-odds of the other's decision: against all else where it stays, else against what is decided instead. Its
    /// sign says which; its size is bounded, because a model that is sure says little by how much.
    pub(crate) fn lead(&self, other: &Self) -> f64 {
        let kept = self.kept.unwrap_or(0.0).max(f64::MIN_POSITIVE);
        match self.decides_as(other) {
            true => (kept / (1.0 - kept).max(f64::MIN_POSITIVE)).ln().clamp(SMALLEST_LEAD, LARGEST_LEAD),
            false => {
                let now = self.decision.as_ref().map_or(1.0, |decision| decision.prob);
                (kept / now).ln().clamp(-LARGEST_LEAD, -SMALLEST_LEAD)
            }
        }
    }
}

impl<'a> PerturbedPredictions<'a> {
    /// An empty memory of the job's own F; nothing is run yet.
    pub fn new(job: &Question<'a>) -> Self {
        let question = DecisionQuestion::of(job.card(), &job.target);
        let (masker, explained) = (job.masker(), job.target.clone());
        Self { job: job.clone(), explained, masker, question, whole: None, seen: HashSet::new(), asked: 0 }
    }

    /// The same with F read as the literature of erasure reads it (J. DeYoung and others, *ERASER*, 2020): as the probability
    /// of what is explained, where the target has one (a class, margin, tag, token, start, end or answer). A unit, a
    /// regression or a loss has none and is read as it is.
    pub fn by_probability(job: &Question<'a>) -> Self {
        let read = Self::new(&Question { target: by_probability(job.card(), &job.target), ..job.clone() });
        Self { explained: job.target.clone(), ..read }
    }

    /// How units are hidden.
    pub fn masker(&self) -> &Masker {
        &self.masker
    }

    /// What F is here.
    pub fn target(&self) -> &Target {
        &self.job.target
    }

    /// The scale on which effects are measured.
    pub fn effect_scale(&self) -> &'static str {
        self.explained.effect_scale(self.job.card())
    }

    /// How many units there are to hide.
    pub fn units(&self) -> usize {
        self.job.units.len()
    }

    /// How many outcomes were asked for.
    pub fn asked(&self) -> usize {
        self.asked
    }

    /// How many texts were looked at, the whole one included.
    pub fn run(&self) -> usize {
        self.seen.len()
    }

    /// What the model gives for the whole text, with nothing hidden.
    pub fn whole(&mut self) -> Result<Outcome> {
        Ok(self.outcomes(&[Set::new()])?.swap_remove(0))
    }

    /// Whether the model decides anything that the target could be about; nothing is run for this.
    pub fn could_decide(&self) -> bool {
        self.question.is_some() && !self.job.target.is_neuron()
    }

    /// Whether what is explained speaks for what the model decides, so that hiding it should change the decision.
    pub fn speaks_for_decision(&mut self) -> Result<bool> {
        let whole = self.whole()?;
        let both = self.question.as_ref().zip(whole.decision.as_ref());
        Ok(both.is_some_and(|(question, decision)| question.is_spoken_for(self.job.card(), decision)))
    }

    /// What hiding each of these sets gives, in order. All that is new is run together.
    pub fn outcomes(&mut self, sets: &[Set]) -> Result<Vec<Outcome>> {
        self.drawn(&sets.iter().map(|set| (set.clone(), 0)).collect::<Vec<_>>())
    }

    /// The same for sets with the number of a draw, which matters to maskers that draw words.
    pub fn drawn(&mut self, sets: &[(Set, u64)]) -> Result<Vec<Outcome>> {
        // Sets that are all remembered run no batch that would look.
        self.job.driver.at_work()?;
        let sets: Vec<Hidden> = sets.iter().map(|hidden| self.normal(hidden)).collect();
        self.asked += sets.len();
        self.job.asked.note(sets.iter().map(|(set, _)| set));
        if self.whole.is_none() {
            self.seen.insert(Hidden::default());
            self.whole = self.read(&[self.row(&Set::new(), 0)?])?.pop();
        }
        self.seen.extend(sets.iter().cloned());
        let mut found = Vec::with_capacity(sets.len());
        let hidden = sets.iter().filter(|(set, _)| !set.is_empty());
        let rows = hidden.map(|(set, draw)| self.row(set, *draw));
        self.job.driver.read(self.job.model, rows, &self.deciding(), &mut |outcome| {
            found.push(outcome);
            Ok(())
        })?;
        self.job.driver.remembered(sets.len() - found.len());
        let mut found = found.into_iter();
        let outcome = |(set, _): &Hidden| if set.is_empty() { self.whole.clone() } else { found.next() };
        let left_out = || Error::Model("the model left a row out".into());
        sets.iter().map(outcome).map(|outcome| outcome.ok_or_else(left_out)).collect()
    }

    /// Whether a text with these units hidden can be read at all: where words are deleted, one may have to be left.
    pub fn can_hide(&self, hidden: &Set) -> bool {
        self.row(hidden, 0).is_ok()
    }

    /// What a reader sees of the text with some units hidden.
    pub fn shown(&self, hidden: &Set, draw: u64) -> Result<Vec<Field>> {
        self.masker.shown(&self.job, hidden, draw)
    }

    /// The row of the text with some units hidden.
    pub fn row(&self, hidden: &Set, draw: u64) -> Result<Row> {
        self.masker.hide(&self.job, hidden, draw)
    }

    /// What other rows of the same text give, such as noisy ones.
    pub(crate) fn read(&self, rows: &[Row]) -> Result<Vec<Outcome>> {
        self.job.driver.read_all(self.job.model, rows, &self.deciding())
    }

    fn deciding(&self) -> Deciding<'_, 'a> {
        let before = self.whole.as_ref().and_then(|whole| whole.decision.as_ref());
        Deciding { masked: self, before: before.map(|decision| decision.key) }
    }

    /// In order and each once, so that a set is known again however it was put together; a draw only where it matters.
    fn normal(&self, (set, draw): &Hidden) -> Hidden {
        let mut set = set.clone();
        set.sort_unstable();
        set.dedup();
        let draw = if self.masker.draws() && !set.is_empty() { *draw } else { 0 };
        (set, draw)
    }
}

/// Reads F and the decision of a row, and how probable the whole text's decision is in it.
struct Deciding<'m, 'a> {
    masked: &'m PerturbedPredictions<'a>,
    /// What the model decides for the whole text, where that is known.
    before: Option<Decided>,
}

impl Deciding<'_, '_> {
    fn outcome(&self, value: f64, row: &Row, output: &Logits) -> Result<Outcome> {
        let PerturbedPredictions { job, explained, question, .. } = self.masked;
        let inside = job.target.is_neuron();
        let clipped = job.model.open().is_none();
        let effect = if inside { value } else { explained.effect(job.card(), output, clipped)? };
        let explained = if inside { value } else { explained.value_of(job.card(), output)? };
        let undecided = Outcome { value, effect, explained, decision: None, kept: None };
        let Some(question) = question else { return Ok(undecided) };
        let decision = question.decide(job.card(), job.model.open(), &row.encoded, output)?;
        let kept = Some(question.prob(output, self.before.unwrap_or(decision.key)));
        Ok(Outcome { decision: Some(decision), kept, ..undecided })
    }
}

impl OfOutput<Outcome> for Deciding<'_, '_> {
    fn of(&self, row: &Row, output: &Logits) -> Result<Outcome> {
        let job = &self.masked.job;
        self.outcome(job.target.value_of(job.card(), output)?, row, output)
    }
}

impl Readout for Deciding<'_, '_> {
    type Value = Outcome;

    fn plan(&self) -> Plan {
        self.masked.job.plan(&[], Record::Nothing)
    }

    fn read(&self, rows: &[Row], pass: &dyn Pass) -> Result<Vec<Outcome>> {
        let job = &self.masked.job;
        let one = |(i, row): (usize, &Row)| {
            self.outcome(job.target.value(job.card(), pass, i)?, row, &pass.logits()[i])
        };
        rows.iter().enumerate().map(one).collect()
    }

    fn places(&self) -> Option<Vec<usize>> {
        let job = &self.masked.job;
        job.card().task.places(&job.target.quantity)
    }

    fn of_output(&self) -> Option<&dyn OfOutput<Outcome>> {
        let inside = self.masked.job.target.is_neuron();
        (!inside).then_some(self as &dyn OfOutput<Outcome>)
    }

    fn key(&self) -> Option<String> {
        let (target, explained) = (&self.masked.job.target, &self.masked.explained);
        Some(format!("outcome {target} {explained} {:?}", self.before))
    }
}

/// The same quantity by its probability, where it has one.
pub fn by_probability(card: &Card, target: &Target) -> Target {
    target.by_probability(card)
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_core::{Driver, Example, Model};
    use exegete_testkit::Toy;

    #[test]
    fn a_set_is_known_again_however_it_was_put_together() {
        let (toy, driver) = (Toy::default(), Driver::default());
        let row = Row::new(toy.encoded(&Example::text("not a good film")).unwrap());
        let job =
            Question { masker: Some(Masker::Zero), ..Question::new(&toy, &driver, row, Target::class(1)) };
        let mut masked = PerturbedPredictions::by_probability(&job);
        let found = masked.outcomes(&[vec![2, 0], vec![], vec![0, 2, 2], vec![1]]).unwrap();
        assert_eq!((masked.asked(), masked.run(), driver.spent().forward_rows), (4, 3, 3));
        assert_eq!(found[0], found[2]);
        assert_eq!(found[1], masked.whole().unwrap());
        assert_eq!(found[1].kept, found[1].decision.as_ref().map(|decision| decision.prob));
        assert_ne!(found[0].value, found[3].value);
        assert_eq!(masked.target().to_string(), "class:1:prob");
        // Another target of the same text asks the model nothing new.
        let other = Question { target: Target::class(0), ..job };
        PerturbedPredictions::new(&other).outcomes(&[vec![0, 2], vec![1]]).unwrap();
        assert_eq!(driver.spent().forward_rows, 3);
        assert_eq!(driver.spent().remembered_rows, 1 + 2 + 3);
    }
}
