use super::consistent::{fields, known, units};
use super::{Subject, UnitText, Verdict, number};
use crate::{Field, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An estimate with the bounds of its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bounded {
    /// The estimate, between the bounds.
    #[serde(serialize_with = "number::short")]
    pub value: f64,
    /// The lower bound of that share, from 0 to 1.
    #[serde(serialize_with = "number::short")]
    pub low: f64,
    /// The upper bound of that share, from 0 to 1.
    #[serde(serialize_with = "number::short")]
    pub high: f64,
}

/// Units of the text that hold the answer, whatever happens to the others: "if … then …".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rule {
    /// What it is about.
    #[serde(flatten)]
    pub subject: Subject,
    /// Pieces of the text.
    pub units: Vec<UnitText>,
    /// The units that must stay, by index and in the order of the text.
    pub conditions: Vec<usize>,
    /// How often the answer stays where the rule applies.
    pub precision: Bounded,
    /// How often the rule applies.
    pub coverage: Bounded,
    /// The precision that was asked for.
    pub threshold: f64,
    /// Whether the bounds show that the precision is reached.
    pub met: bool,
    /// How the rule grew: one line for each condition, the empty rule first.
    pub steps: Vec<RuleStep>,
    /// Texts under the rule that keep the answer.
    pub keeps: Vec<Vec<Field>>,
    /// Texts under the rule that lose it.
    pub breaks: Vec<Vec<Field>>,
    /// The mean precision of random rules with as many conditions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random: Option<Bounded>,
    /// The evidence in plain words.
    pub verdict: Verdict,
}

/// A rule on the way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RuleStep {
    /// The units that must stay.
    pub conditions: Vec<usize>,
    /// How often the answer stays.
    pub precision: Bounded,
    /// How often the rule applies.
    pub coverage: Bounded,
}

impl Rule {
    /// Conditions are units, and the texts have the fields of the original.
    pub(super) fn consistent(&self) -> Result<()> {
        let Self { subject, units, conditions, steps, keeps, breaks, .. } = self;
        self::units(units, subject)?;
        known("conditions", conditions, units.len())?;
        for (index, step) in steps.iter().enumerate() {
            known(&format!("steps[{index}]"), &step.conditions, units.len())?;
        }
        for (name, texts) in [("keeps", keeps), ("breaks", breaks)] {
            for (index, text) in texts.iter().enumerate() {
                fields(&format!("{name}[{index}]"), text, subject)?;
            }
        }
        Ok(())
    }
}
