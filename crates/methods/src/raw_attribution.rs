use crate::Set;
use crate::question::{Question, Reduce};
use crate::registry::Meaning;
use exegete_core::report::{Completeness, LayerSum, ReluSwap, Sense};
use exegete_core::{Array, Error, Result, Site, SiteInfo, Unit};
use std::collections::{BTreeMap, HashSet};

/// What a method found.
#[derive(Debug, Clone)]
pub struct RawAttribution {
    /// Where the scores lie, where that is not the job's own site.
    pub site: Option<Site>,
    /// A score for each element at the site, or for each token.
    pub scores: RawScores,
    /// The standard error of each token's score, or of each unit's where those are scored, where the method samples.
    pub errors: Option<Vec<f64>>,
    /// What the scores claim to sum to.
    pub claim: Option<Claim>,
    /// What the scores say of a small change, where it is not what the method's entry in the list says.
    pub meaning: Option<Meaning>,
    /// Whether the scores have lost their sign, as squares and variances have.
    pub unsigned: bool,
    /// Parameters that were found on the way, such as the number of points.
    pub found: BTreeMap<String, serde_json::Value>,
    /// What the reader must know.
    pub notes: Vec<String>,
    /// How far the network that was explained answers otherwise than the model, where it is another.
    pub swap: Option<ReluSwap>,
    /// The sets of units that the method hid to find its scores; none where nobody knows.
    pub asked: Option<HashSet<Set>>,
}

/// Scores as a method computes them.
#[derive(Debug, Clone)]
pub enum RawScores {
    /// One an element of the site, and how they become one a token where the user does not say otherwise.
    Elements(Array, Reduce),
    /// One score for each token.
    Tokens(Vec<f64>),
    /// One score for each unit of the job.
    Units(Vec<f64>),
}

/// What scores should sum to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Claim {
    /// The sum that all scores should have, special tokens included, in units of F.
    pub difference: f64,
    /// What biases and constants took, where the method books it.
    pub bias: Option<f64>,
    /// What the scores at later layers sum to, with their size.
    pub layers: Vec<(Site, f64, f64)>,
}

impl RawAttribution {
    /// Scores at the job's site without any claim.
    pub fn new(values: Array, reduce: Reduce) -> Self {
        Self::of(RawScores::Elements(values, reduce))
    }

    /// Scores of any kind.
    pub fn of(scores: RawScores) -> Self {
        Self {
            site: None,
            scores,
            errors: None,
            claim: None,
            meaning: None,
            unsigned: false,
            found: BTreeMap::new(),
            notes: Vec::new(),
            swap: None,
            asked: None,
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
    pub fn info<'a>(&self, job: &Question<'a>) -> Result<Option<&'a SiteInfo>> {
        match self.scores {
            RawScores::Units(_) => Ok(None),
            _ => job.info(self.site.unwrap_or(job.site)).map(Some),
        }
    }

    /// Whether positive and negative scores mean for and against.
    pub fn signed(&self) -> bool {
        !self.unsigned && !matches!(self.scores, RawScores::Elements(_, Reduce::L1 | Reduce::L2))
    }

    /// How they are read.
    pub fn sense(&self) -> Sense {
        match self.meaning {
            Some(Meaning::Looked) => Sense::SameForEveryClass,
            _ if self.signed() => Sense::ForAndAgainst,
            _ => Sense::HowMuch,
        }
    }

    /// The scores as they were computed: by element where there are any, else by token or unit.
    pub fn elements(&self) -> Vec<f64> {
        match &self.scores {
            RawScores::Elements(values, _) => values.data.iter().map(|&v| f64::from(v)).collect(),
            RawScores::Tokens(values) | RawScores::Units(values) => values.clone(),
        }
    }

    /// One score a token; none where the site has no token axis. A unit's score is shared evenly by its tokens.
    pub fn tokens(&self, job: &Question<'_>) -> Result<Option<Vec<f64>>> {
        self.reduced(job, None)
    }

    /// One score a unit: the sum of its tokens.
    pub fn units(&self, job: &Question<'_>) -> Result<Option<Vec<f64>>> {
        match &self.scores {
            RawScores::Units(values) => Ok(Some(values.clone())),
            _ => Ok(self.tokens(job)?.map(|tokens| sums(&job.units, &tokens))),
        }
    }

    /// The scores of the tokens that units are made of; special tokens are in none.
    pub(crate) fn inside(&self, job: &Question<'_>) -> Result<Vec<f64>> {
        let none = || Error::Model("the method gave no score for a token".into());
        let tokens = self.tokens(job)?.ok_or_else(none)?;
        let inside = job.units.iter().flat_map(|unit| unit.tokens.iter());
        inside.map(|&token| tokens.get(token).copied().ok_or_else(none)).collect()
    }

    /// The standard error of each unit's score, as if its tokens erred independently.
    pub(crate) fn unit_errors(&self, job: &Question<'_>) -> Option<Vec<f64>> {
        let errors = self.errors.as_ref()?;
        let joint = |unit: &Unit| unit.tokens.iter().map(|&token| errors[token].powi(2)).sum::<f64>().sqrt();
        match &self.scores {
            RawScores::Units(_) => Some(errors.clone()),
            _ => Some(job.units.iter().map(joint).collect()),
        }
    }

    fn reduced(&self, job: &Question<'_>, reduce: Option<Reduce>) -> Result<Option<Vec<f64>>> {
        Ok(match (&self.scores, self.info(job)?) {
            (RawScores::Elements(values, own), Some(info)) => {
                reduce.unwrap_or(*own).tokens(info, job.encoded(), values)
            }
            (RawScores::Elements(..), None) => None,
            (RawScores::Tokens(values), _) => Some(values.clone()),
            (RawScores::Units(values), _) => Some(shared(job, values)),
        })
    }

    /// Whether the scores add up to what they claim.
    pub fn completeness(&self, job: &Question<'_>) -> Result<Option<Completeness>> {
        let Some(claim) = self.claim.as_ref() else { return Ok(None) };
        let sums = match (self.reduced(job, Some(Reduce::Sum))?, &self.scores) {
            (Some(sums), _) => sums,
            (None, RawScores::Elements(values, _)) => values.data.iter().map(|&v| f64::from(v)).collect(),
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

/// The sum of each unit's tokens.
pub(crate) fn sums(units: &[Unit], tokens: &[f64]) -> Vec<f64> {
    units.iter().map(|unit| unit.tokens.iter().map(|&token| tokens[token]).sum()).collect()
}

/// Scores of units, shared evenly by the tokens of each.
fn shared(job: &Question<'_>, values: &[f64]) -> Vec<f64> {
    let mut tokens = vec![0.0; job.encoded().len()];
    for (unit, value) in job.units.iter().zip(values) {
        unit.tokens.iter().for_each(|&token| tokens[token] = value / unit.tokens.len() as f64);
    }
    tokens
}

/// Σ and Σ|·| of a product of two arrays, for a claim at a layer.
pub(crate) fn sum_and_size(job: &Question<'_>, site: Site, values: &Array) -> Result<(f64, f64)> {
    let tokens = Reduce::Sum.tokens(job.info(site)?, job.encoded(), values);
    let sums = tokens.unwrap_or_else(|| values.data.iter().map(|&v| f64::from(v)).collect());
    Ok(sums.iter().fold((0.0, 0.0), |(sum, size), v| (sum + v, size + v.abs())))
}
