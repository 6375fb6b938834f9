use super::consistent::{lengths, tokens};
use super::{Completeness, Subject, TokenText, number};
use crate::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A score for each token at each of several sites, or the matrix of what is read by rows and tokens by columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Map {
    /// What it is about.
    #[serde(flatten)]
    pub subject: Subject,
    /// Every model token in order.
    pub tokens: Vec<TokenText>,
    /// One a site, in the order of computation.
    pub layers: Vec<MapLayer>,
    /// What rows and columns are, where they make a matrix: each of `layers` is then what reads the tokens, and its `site` a
    /// word. None where they are sites of a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub axes: Option<MatrixAxes>,
}

/// What the two sides of a matrix stand for, in the singular.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MatrixAxes {
    /// Such as target word.
    pub rows: String,
    /// Such as source word.
    pub columns: String,
}

/// One row of a [`Map`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MapLayer {
    /// The layer's site by name; in a matrix the word that reads.
    pub site: String,
    /// The score of each token at this site.
    #[serde(serialize_with = "number::short_each")]
    pub token_values: Vec<f64>,
    /// For each token, how its score is spread over the units of the site.
    pub spread: Vec<Spread>,
    /// −Σ p log₂ p over the tokens, with p the shares of |score|.
    pub entropy: f64,
    /// Whether the scores add up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completeness: Option<Completeness>,
}

/// How one token's score is spread over the units of a site.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// The smallest value of all.
    pub min: f64,
    /// A quarter of the units lie below.
    pub lower: f64,
    /// Half of the values lie below it.
    pub median: f64,
    /// The upper quartile: three quarters of the values lie below it.
    pub upper: f64,
    /// The largest value of all.
    pub max: f64,
    /// −Σ p log₂ p over the units, with p the shares of |score|.
    pub entropy: f64,
}

impl Map {
    /// One score a token at every site.
    pub(super) fn consistent(&self) -> Result<()> {
        tokens(&self.tokens, &self.subject)?;
        for (index, layer) in self.layers.iter().enumerate() {
            let name = format!("layers[{index}].token_values");
            lengths(&name, layer.token_values.len(), "tokens", self.tokens.len())?;
            if !layer.spread.is_empty() {
                lengths(&format!("layers[{index}].spread"), layer.spread.len(), "tokens", self.tokens.len())?;
            }
        }
        Ok(())
    }
}
