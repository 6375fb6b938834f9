use crate::rounding::are_zero;
use crate::{Effort, PerturbedPredictions, Question, RawAttribution, RawScores, Set};
use exegete_core::{Error, Result};
use std::collections::HashSet;

/// A number for every set of hidden players: what the arithmetic of hiding needs to know of a text and a model.
pub trait Game {
    /// How many players there are.
    fn players(&self) -> usize;

    /// F with each of these sets hidden, in order. A set is sorted and names each player once. The more sets are asked
    /// for at once, the better they run together.
    fn values(&mut self, hidden: &[Set]) -> Result<Vec<f64>>;
}

/// The job's own F with units hidden.
impl Game for PerturbedPredictions<'_> {
    fn players(&self) -> usize {
        self.units()
    }

    fn values(&mut self, hidden: &[Set]) -> Result<Vec<f64>> {
        Ok(self.outcomes(hidden)?.into_iter().map(|outcome| outcome.value).collect())
    }
}

/// What each player is given, and how surely.
#[derive(Debug, Clone, PartialEq)]
pub struct ShapleyShares {
    /// The Shapley value of each player.
    pub values: Vec<f64>,
    /// Their standard errors; zero where nothing was left to chance.
    pub errors: Vec<f64>,
    /// F with every player hidden.
    pub none: f64,
    /// F with no player hidden.
    pub all: f64,
    /// Samples drawn, as the method counts them.
    pub samples: usize,
    /// Different sets that were asked for.
    pub rows: usize,
}

impl ShapleyShares {
    /// What the values sum to.
    pub fn difference(&self) -> f64 {
        self.all - self.none
    }

    /// What the reader must know of how surely they are known; nothing of shares that are rounding beside F.
    pub(super) fn doubt(&self, effort: &Effort) -> Option<String> {
        if are_zero(&self.values, [self.none, self.all]) {
            None
        } else {
            effort.note(&self.values, &self.errors)
        }
    }

    /// Shares that leave no doubt.
    pub(super) fn certain(values: Vec<f64>, table: &Table<'_>) -> Self {
        let errors = vec![0.0; values.len()];
        Self::sampled(values, errors, table.rows(), table)
    }

    /// Shares with their errors, after so many samples.
    pub(super) fn sampled(values: Vec<f64>, errors: Vec<f64>, samples: usize, table: &Table<'_>) -> Self {
        Self { values, errors, none: table.none, all: table.all, samples, rows: table.rows() }
    }

    /// Scores of a job's units that claim to sum to what is shared out.
    pub(super) fn explained(self, job: &Question<'_>) -> RawAttribution {
        let (difference, samples) = (self.difference(), self.samples);
        let masker = job.masker();
        let drawn = || {
            format!("hidden words are replaced by '{masker}' words of one draw; another seed draws others")
        };
        // What is exact has no error bars, and would not be told apart from what is precise.
        let errors = Some(self.errors).filter(|errors| errors.iter().any(|&error| error > 0.0));
        RawAttribution { errors, ..RawAttribution::of(RawScores::Units(self.values)) }
            .claiming(difference)
            .with("samples", samples)
            .with("masker", masker.to_string())
            .note(masker.draws().then(drawn))
    }
}

/// A game with its two ends and a count of the sets that were asked for, which reports give. What a set gave is remembered where
/// texts are run, and not here.
pub(super) struct Table<'a> {
    game: &'a mut dyn Game,
    seen: HashSet<Set>,
    players: usize,
    /// F with every player hidden.
    pub(super) none: f64,
    /// F with no player hidden.
    pub(super) all: f64,
}

impl<'a> Table<'a> {
    /// Asks for the two ends, which every method needs.
    pub(super) fn new(game: &'a mut dyn Game) -> Result<Self> {
        let players = game.players();
        let mut table = Self { game, seen: HashSet::new(), players, none: 0.0, all: 0.0 };
        let ends = table.found(vec![(0..players).collect(), Set::new()])?;
        // Nothing hidden comes first; without players both ends are one.
        let value = |end: Option<&(Set, f64)>| end.map_or(f64::NAN, |end| end.1);
        (table.all, table.none) = (value(ends.first()), value(ends.last()));
        Ok(table)
    }

    /// How many players there are.
    pub(super) fn players(&self) -> usize {
        self.players
    }

    /// Different sets asked for so far.
    pub(super) fn rows(&self) -> usize {
        self.seen.len()
    }

    /// F with each of these sets hidden.
    pub(super) fn ask(&mut self, hidden: Vec<Set>) -> Result<Vec<f64>> {
        let between = hidden.iter().filter(|set| !set.is_empty() && set.len() < self.players);
        let found = self.found(between.cloned().collect())?;
        let value = |set: &Set| match set.len() {
            0 => self.all,
            hidden if hidden == self.players => self.none,
            _ => found.binary_search_by(|known| known.0.cmp(set)).map_or(f64::NAN, |at| found[at].1),
        };
        Ok(hidden.iter().map(value).collect())
    }

    /// F of each different set, in the order of the sets.
    fn found(&mut self, mut hidden: Vec<Set>) -> Result<Vec<(Set, f64)>> {
        hidden.sort_unstable();
        hidden.dedup();
        let values = self.game.values(&hidden)?;
        if values.len() != hidden.len() {
            let (asked, given) = (hidden.len(), values.len());
            return Err(Error::Model(format!("{given} values for {asked} texts with hidden words")));
        }
        self.seen.extend(hidden.iter().cloned());
        Ok(hidden.into_iter().zip(values).collect())
    }

    /// F with only these players there.
    pub(super) fn ask_present(&mut self, present: &[Vec<bool>]) -> Result<Vec<f64>> {
        let absent = |present: &Vec<bool>| (0..present.len()).filter(|&player| !present[player]).collect();
        self.ask(present.iter().map(absent).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Masker;
    use exegete_core::{Driver, Example, Model, Row, Target};
    use exegete_testkit::Toy;

    /// How often a set is asked for changes neither what it gives nor how many texts are run and reported.
    #[test]
    fn sets_that_come_again_are_counted_and_run_once() {
        let (toy, driver) = (Toy::default(), Driver::default());
        let row = Row::new(toy.encoded(&Example::text("not a good film")).unwrap());
        let question = Question::new(&toy, &driver, row, Target::class(1));
        let question = Question { masker: Some(Masker::Zero), ..question };
        let mut game = PerturbedPredictions::new(&question);
        let mut table = Table::new(&mut game).unwrap();
        assert_eq!((table.rows(), driver.spent().forward_rows), (2, 2));
        let sets = vec![vec![1], vec![0, 2], vec![1], vec![], (0..4).collect()];
        let first = table.ask(sets.clone()).unwrap();
        assert_eq!((table.rows(), driver.spent().forward_rows), (4, 4));
        assert_eq!(table.ask(sets).unwrap(), first);
        assert_eq!((table.rows(), driver.spent().forward_rows), (4, 4));
        assert_eq!((first[0], first[3], first[4]), (first[2], table.all, table.none));
        assert_ne!(first[0], first[1]);
    }

    /// A game that leaves a value out.
    struct Short;

    impl Game for Short {
        fn players(&self) -> usize {
            2
        }

        fn values(&mut self, hidden: &[Set]) -> Result<Vec<f64>> {
            Ok(vec![0.5; hidden.len().saturating_sub(1)])
        }
    }

    #[test]
    fn a_game_that_leaves_values_out_is_refused() {
        let error = Table::new(&mut Short).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some("1 values for 2 texts with hidden words"));
    }
}
