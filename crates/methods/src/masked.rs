use crate::decision::{Decision, Question};
use crate::{Job, Masker};
use exegete_core::{Card, Plan, Quantity, Result, Row, Scale, Target, Task, Unit};
use std::collections::{BTreeSet, HashMap};

/// Indices of hidden units.
pub type Set = Vec<usize>;

/// The memory of what hiding units does, for one text, one target and one masker: every set is run once.
///
/// F is read as the literature reads it (J. DeYoung and others, *ERASER*, 2020): as the probability of what is explained,
/// where the target has one (a class, margin, tag, token, start, end or answer). A unit, a regression or a loss has none and is
/// read as it is.
pub struct Masked<'a> {
    job: Job<'a>,
    units: Vec<Unit>,
    masker: Masker,
    question: Option<Question>,
    whole: Option<Outcome>,
    known: HashMap<Set, Outcome>,
    asked: usize,
}

/// What a text with some units hidden gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// F.
    pub value: f64,
    /// What the model decides, where it decides anything.
    pub decision: Option<Decision>,
    /// The probability of what it decides for the whole text.
    pub kept: Option<f64>,
}

impl Outcome {
    /// Whether the decision is the same.
    pub fn decides_as(&self, other: &Self) -> bool {
        let key = |outcome: &Self| outcome.decision.as_ref().map(|decision| decision.key);
        key(self) == key(other)
    }
}

impl<'a> Masked<'a> {
    /// An empty memory; nothing is run yet.
    pub fn new(job: &Job<'a>, units: &[Unit], masker: Masker) -> Self {
        let target = by_probability(job.card(), &job.target);
        let question = Question::of(job.card(), &target);
        let job = Job { target, ..job.clone() };
        let (units, known) = (units.to_vec(), HashMap::new());
        Self { job, units, masker, question, whole: None, known, asked: 0 }
    }

    /// How units are hidden.
    pub fn masker(&self) -> Masker {
        self.masker
    }

    /// What F is here.
    pub fn target(&self) -> &Target {
        &self.job.target
    }

    /// How many units there are to hide.
    pub fn units(&self) -> usize {
        self.units.len()
    }

    /// How many outcomes were asked for.
    pub fn asked(&self) -> usize {
        self.asked
    }

    /// How many rows were run, that of the whole text included.
    pub fn run(&self) -> usize {
        self.known.len()
    }

    /// The whole text.
    pub fn whole(&mut self) -> Result<Outcome> {
        Ok(self.outcomes(&[Set::new()])?.swap_remove(0))
    }

    /// Whether the model decides anything that the target could be about; nothing is run for this.
    pub fn could_decide(&self) -> bool {
        self.question.is_some() && !matches!(self.job.target.quantity, Quantity::Unit(..))
    }

    /// Whether what is explained speaks for what the model decides, so that hiding it should change the decision.
    pub fn speaks_for_decision(&mut self) -> Result<bool> {
        let whole = self.whole()?;
        let both = self.question.as_ref().zip(whole.decision.as_ref());
        Ok(both.is_some_and(|(question, decision)| question.is_spoken_for(&self.job.target, decision)))
    }

    /// What hiding each of these sets gives, in order. All that is new is run together.
    pub fn outcomes(&mut self, sets: &[Set]) -> Result<Vec<Outcome>> {
        let sets: Vec<Set> = sets.iter().map(normal).collect();
        self.asked += sets.len();
        // The whole text sorts first, so that its decision is there to compare the others with.
        let first = self.whole.is_none().then(Set::new);
        let asked: BTreeSet<&Set> = sets.iter().chain(&first).collect();
        let new: Vec<Set> = asked.into_iter().filter(|set| !self.known.contains_key(*set)).cloned().collect();
        self.learn(new)?;
        Ok(sets.iter().map(|set| self.known[set].clone()).collect())
    }

    fn learn(&mut self, sets: Vec<Set>) -> Result<()> {
        let open = self.job.open()?;
        let rows = sets.iter().map(|set| self.masker.hide(open, &self.job.row, &self.tokens(set)));
        let rows = rows.collect::<Result<Vec<Row>>>()?;
        let found = self.read(&rows)?;
        if self.whole.is_none() {
            self.whole = found.first().cloned();
        }
        self.known.extend(sets.into_iter().zip(found));
        Ok(())
    }

    /// What other rows of the same text give, such as noisy ones; these are not remembered. Until the whole text is known,
    /// the first row stands for it.
    pub(crate) fn read(&self, rows: &[Row]) -> Result<Vec<Outcome>> {
        let Self { job, question, whole, .. } = self;
        let (card, open) = (job.card(), job.open()?);
        let mut before = whole.as_ref().and_then(|whole| whole.decision.clone());
        let mut found = Vec::with_capacity(rows.len());
        job.driver.passes(open, rows, &Plan::keep(job.target.sites()), &mut |range, pass| {
            for (i, row) in rows[range].iter().enumerate() {
                let (value, logits) = (job.target.value(card, pass, i)?, &pass.logits()[i]);
                let Some(question) = question else {
                    found.push(Outcome { value, decision: None, kept: None });
                    continue;
                };
                let decision = question.decide(card, open, &row.encoded, logits)?;
                let before = before.get_or_insert_with(|| decision.clone());
                let kept = Some(question.prob(logits, before.key));
                found.push(Outcome { value, decision: Some(decision), kept });
            }
            Ok(())
        })?;
        Ok(found)
    }

    fn tokens(&self, set: &Set) -> Vec<usize> {
        let units = set.iter().filter_map(|&unit| self.units.get(unit));
        let mut tokens: Vec<usize> = units.flat_map(|unit| unit.tokens.iter().copied()).collect();
        tokens.sort_unstable();
        tokens
    }
}

/// In order and each once, so that a set is known again however it was put together.
fn normal(set: &Set) -> Set {
    let mut set = set.clone();
    set.sort_unstable();
    set.dedup();
    set
}

/// The same quantity by its probability, where it has one.
pub fn by_probability(card: &Card, target: &Target) -> Target {
    let numbers = matches!(card.task, Task::Regression | Task::Encoder);
    let scale = match &target.quantity {
        Quantity::Loss(_) | Quantity::Unit(..) => target.scale,
        Quantity::Class(_) | Quantity::Margin(..) if numbers => target.scale,
        _ => Some(Scale::Prob),
    };
    Target { scale, quantity: target.quantity.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_core::{Driver, Example, Model, Site, Units};
    use exegete_testkit::Toy;

    #[test]
    fn a_set_is_known_again_however_it_was_put_together() {
        let (toy, driver) = (Toy::default(), Driver::default());
        let row = Row::new(toy.open().unwrap().encode(&Example::text("not a good film")).unwrap());
        let units = Units::Word.of(&row.encoded);
        let target = Target::class(1);
        let job = Job {
            model: &toy,
            driver: &driver,
            row,
            target,
            site: Site::EmbedWord,
            baselines: Vec::new(),
            seed: 0,
        };
        let mut masked = Masked::new(&job, &units, Masker::Zero);
        let found = masked.outcomes(&[vec![2, 0], vec![], vec![0, 2, 2], vec![1]]).unwrap();
        assert_eq!((masked.asked(), masked.run(), driver.spent().forward_rows), (4, 3, 3));
        assert_eq!(found[0], found[2]);
        assert_eq!(found[1], masked.whole().unwrap());
        assert_eq!(found[1].kept, found[1].decision.as_ref().map(|decision| decision.prob));
        assert_ne!(found[0].value, found[3].value);
        assert_eq!(driver.spent().forward_rows, 3);
        assert_eq!(masked.target().to_string(), "class:1:prob");
    }
}
