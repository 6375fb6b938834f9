use super::consistent::{lengths, tokens, units};
use super::{Checks, Subject, TokenText, UnitText, number};
use crate::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A score for each token and unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Attribution {
    /// What it is about.
    #[serde(flatten)]
    pub subject: Subject,
    /// Where the scores were taken.
    pub site: String,
    /// Every model token in order.
    pub tokens: Vec<TokenText>,
    /// The score of each model token, in their order.
    #[serde(serialize_with = "number::short_each")]
    pub token_values: Vec<f64>,
    /// Pieces of the text.
    pub units: Vec<UnitText>,
    /// The score of each unit, in their order.
    #[serde(serialize_with = "number::short_each")]
    pub values: Vec<f64>,
    /// The standard error of each unit's value, where the method samples.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<f64>,
    /// F at what the method compares the text with: its baseline (the mean over several), or the text with everything hidden.
    /// Absent where it compares with nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_value: Option<f64>,
    /// How far it can be trusted.
    pub checks: Checks,
}

impl Attribution {
    /// One score a token and a unit, and pieces that are of the text.
    pub(super) fn consistent(&self) -> Result<()> {
        let Self { subject, tokens, token_values, units, values, errors, checks, .. } = self;
        lengths("token_values", token_values.len(), "tokens", tokens.len())?;
        lengths("values", values.len(), "units", units.len())?;
        if !errors.is_empty() {
            lengths("errors", errors.len(), "units", units.len())?;
        }
        self::tokens(tokens, subject)?;
        self::units(units, subject)?;
        checks.consistent(units.len()).map_err(|error| error.at("checks"))
    }
}
