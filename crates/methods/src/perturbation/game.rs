use crate::{PerturbedPredictions, Question, RawAttribution, RawScores, Set};
use exegete_core::{Error, Result};
use std::collections::HashMap;

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

    /// ShapleyShares without any doubt.
    pub(super) fn certain(values: Vec<f64>, table: &Table<'_>) -> Self {
        let errors = vec![0.0; values.len()];
        Self::sampled(values, errors, table.rows(), table)
    }

    /// ShapleyShares with their errors.
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

/// A game with what is known of it, so that no set is asked for twice: orders of few players repeat themselves a lot, and
/// reports say how many texts were asked for.
pub(super) struct Table<'a> {
    game: &'a mut dyn Game,
    known: HashMap<Set, f64>,
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
        let mut table = Self { game, known: HashMap::new(), players, none: 0.0, all: 0.0 };
        let ends = table.ask(vec![(0..players).collect(), Set::new()])?;
        (table.none, table.all) = (ends[0], ends[1]);
        Ok(table)
    }

    /// How many players there are.
    pub(super) fn players(&self) -> usize {
        self.players
    }

    /// Different sets asked for so far.
    pub(super) fn rows(&self) -> usize {
        self.known.len()
    }

    /// F with each of these sets hidden.
    pub(super) fn ask(&mut self, hidden: Vec<Set>) -> Result<Vec<f64>> {
        let mut new: Vec<Set> = hidden.iter().filter(|set| !self.known.contains_key(*set)).cloned().collect();
        new.sort_unstable();
        new.dedup();
        let values = self.game.values(&new)?;
        if values.len() != new.len() {
            let (asked, given) = (new.len(), values.len());
            return Err(Error::Model(format!("{given} values for {asked} texts with hidden words")));
        }
        self.known.extend(new.into_iter().zip(values));
        Ok(hidden.iter().map(|set| self.known.get(set).copied().unwrap_or(f64::NAN)).collect())
    }

    /// F with only these players there.
    pub(super) fn ask_present(&mut self, present: &[Vec<bool>]) -> Result<Vec<f64>> {
        let absent = |present: &Vec<bool>| (0..present.len()).filter(|&player| !present[player]).collect();
        self.ask(present.iter().map(absent).collect())
    }
}
