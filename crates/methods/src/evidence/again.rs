use crate::explained::Scores;
use crate::noise::range;
use crate::registry::{Meaning, Method};
use crate::{Baseline, Explained, Job, Reduce};
use exegete_core::{Array, Change, Edit, Error, Result, Row, Rules, Unit};

/// How to explain again: what the checks of noise and random parameters need.
#[derive(Clone, Copy)]
pub struct Again<'s> {
    /// The method.
    pub method: &'s dyn Method,
    /// How a site's values become one a token, where the user says so.
    pub reduce: Option<Reduce>,
    /// What an element's score says of a small change.
    pub meaning: Meaning,
    /// What the text is compared with.
    pub baselines: &'s [Baseline],
    /// What the method found for the text as it is.
    pub explained: &'s Explained,
}

impl Again<'_> {
    /// The scores as they were computed: by element where there are any, else by token.
    pub(super) fn elements(explained: &Explained) -> Vec<f64> {
        match &explained.scores {
            Scores::Elements(values, _) => values.data.iter().map(|&v| f64::from(v)).collect(),
            Scores::Tokens(values) | Scores::Units(values) => values.clone(),
        }
    }

    /// The scores of the tokens that units are made of; special tokens are in none.
    pub(super) fn tokens(&self, job: &Job<'_>, explained: &Explained, units: &[Unit]) -> Result<Vec<f64>> {
        let tokens = explained.tokens(job, self.reduce)?.ok_or_else(no_tokens)?;
        let inside = units.iter().flat_map(|unit| unit.tokens.iter());
        inside.map(|&token| tokens.get(token).copied().ok_or_else(no_tokens)).collect()
    }
}

fn no_tokens() -> Error {
    Error::Model("the method gave no score for a token".into())
}

/// A text's word vectors, for noise in proportion to their range.
#[derive(Clone)]
pub(super) struct Words {
    pub(super) shape: Vec<usize>,
    pub(super) range: f64,
}

impl Words {
    pub(super) fn of(job: &Job<'_>) -> Result<Self> {
        let words = job.read_own(&[job.words()?], &[], Rules::Gradient)?.values.swap_remove(0);
        Ok(Self { range: range(&words), shape: words.shape })
    }
}

/// The text with noise on its word vectors.
pub(super) fn noisy(job: &Job<'_>, noise: Array) -> Result<Row> {
    Ok(job.row.clone().edit(Edit::whole(job.words()?, Change::Add(noise))))
}
