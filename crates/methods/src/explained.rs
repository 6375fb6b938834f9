use crate::job::{Job, Reduce};
use crate::registry::Meaning;
use exegete_core::report::{Completeness, LayerSum};
use exegete_core::{Array, Result, Site, SiteInfo};
use std::collections::BTreeMap;

/// What a method found.
#[derive(Debug, Clone)]
pub struct Explained {
    /// Where the scores lie, where that is not the job's own site.
    pub site: Option<Site>,
    /// A score for each element at the site, or for each token.
    pub scores: Scores,
    /// The standard error of each token's score, or of each unit's where those are scored, where the method samples.
    pub errors: Option<Vec<f64>>,
    /// What the scores claim to sum to.
    pub claim: Option<Claim>,
    /// What the scores say, where that is less than the method's entry in the list promises.
    pub meaning: Option<Meaning>,
    /// Whether the scores have lost their sign, as squares and variances have.
    pub unsigned: bool,
    /// Parameters that were found on the way, such as the number of points.
    pub found: BTreeMap<String, serde_json::Value>,
    /// What the reader must know.
    pub notes: Vec<String>,
}

/// Scores as a method computes them.
#[derive(Debug, Clone)]
pub enum Scores {
    /// One an element of the site, and how they become one a token where the user does not say otherwise.
    Elements(Array, Reduce),
    /// One a token.
    Tokens(Vec<f64>),
    /// One a unit of the job.
    Units(Vec<f64>),
}

/// What scores should sum to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Claim {
    /// Of all scores, special tokens included.
    pub difference: f64,
    /// What biases and constants took, where the method books it.
    pub bias: Option<f64>,
    /// What the scores at later layers sum to, with their size.
    pub layers: Vec<(Site, f64, f64)>,
}

impl Explained {
    /// Scores at the job's site without any claim.
    pub fn new(values: Array, reduce: Reduce) -> Self {
        Self::from(Scores::Elements(values, reduce))
    }

    /// Scores of any kind.
    pub fn from(scores: Scores) -> Self {
        Self {
            site: None,
            scores,
            errors: None,
            claim: None,
            meaning: None,
            unsigned: false,
            found: BTreeMap::new(),
            notes: Vec::new(),
        }
    }

    /// Scores that claim to sum to `difference`.
    #[must_use]
    pub fn claiming(mut self, difference: f64) -> Self {
        self.claim = Some(Claim { difference, ..Claim::default() });
        self
    }

    /// A parameter that was found on the way.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<serde_json::Value>) -> Self {
        self.found.insert(name.to_owned(), value.into());
        self
    }

    /// A note for the reader.
    #[must_use]
    pub fn note(mut self, note: Option<String>) -> Self {
        self.notes.extend(note);
        self
    }

    /// Where the scores lie; none where they are about units of the text and not about a place in the model.
    pub fn info<'a>(&self, job: &Job<'a>) -> Result<Option<&'a SiteInfo>> {
        match self.scores {
            Scores::Units(_) => Ok(None),
            _ => job.info(self.site.unwrap_or(job.site)).map(Some),
        }
    }

    /// One score a token; none where the site has no token axis. A unit's score is shared evenly by its tokens.
    pub fn tokens(&self, job: &Job<'_>, reduce: Option<Reduce>) -> Result<Option<Vec<f64>>> {
        Ok(match (&self.scores, self.info(job)?) {
            (Scores::Elements(values, own), Some(info)) => reduce.unwrap_or(*own).tokens(info, values),
            (Scores::Elements(..), None) => None,
            (Scores::Tokens(values), _) => Some(values.clone()),
            (Scores::Units(values), _) => Some(shared(job, values)),
        })
    }

    /// Whether the scores add up to what they claim.
    pub fn completeness(&self, job: &Job<'_>) -> Result<Option<Completeness>> {
        let Some(claim) = self.claim.as_ref() else { return Ok(None) };
        let sums = match (self.tokens(job, Some(Reduce::Sum))?, &self.scores) {
            (Some(sums), _) => sums,
            (None, Scores::Elements(values, _)) => values.data.iter().map(|&v| f64::from(v)).collect(),
            (None, _) => return Ok(None),
        };
        let Claim { difference, bias, layers } = claim;
        let size: f64 = sums.iter().map(|v| v.abs()).sum();
        let sums = Completeness::new(sums, *difference);
        let gap = Completeness::gap_of(sums.sum + bias.unwrap_or(0.0), *difference, size);
        let layer = |&(site, sum, size): &(Site, f64, f64)| {
            let gap = Completeness::gap_of(sum, *difference, size);
            LayerSum { site: site.to_string(), sum, gap }
        };
        let layers = layers.iter().map(layer).collect();
        Ok(Some(Completeness { gap, bias: *bias, layers, ..sums }))
    }
}

/// Scores of units, shared evenly by the tokens of each.
pub(crate) fn shared(job: &Job<'_>, values: &[f64]) -> Vec<f64> {
    let mut tokens = vec![0.0; job.encoded().len()];
    for (unit, value) in job.units.iter().zip(values) {
        unit.tokens.iter().for_each(|&token| tokens[token] = value / unit.tokens.len() as f64);
    }
    tokens
}

/// Σ and Σ|·| of a product of two arrays, for a claim at a layer.
pub(crate) fn sum_and_size(info: &SiteInfo, values: &Array) -> (f64, f64) {
    let tokens = Reduce::Sum.tokens(info, values);
    let sums = tokens.unwrap_or_else(|| values.data.iter().map(|&v| f64::from(v)).collect());
    sums.iter().fold((0.0, 0.0), |(sum, size), v| (sum + v, size + v.abs()))
}
