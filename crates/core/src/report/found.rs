//! What is no score: rules that hold an answer, and edits that change it.

use super::{Answered, Subject, UnitText, Verdict, number};
use crate::Field;
use serde::{Deserialize, Serialize};

/// An estimate with the bounds of its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bounded {
    /// The estimate.
    #[serde(serialize_with = "number::short")]
    pub value: f64,
    /// The lower bound.
    #[serde(serialize_with = "number::short")]
    pub low: f64,
    /// The upper bound.
    #[serde(serialize_with = "number::short")]
    pub high: f64,
}

/// Units of the text that hold the answer, whatever happens to the others: "if … then …".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RuleStep {
    /// The units that must stay.
    pub conditions: Vec<usize>,
    /// How often the answer stays.
    pub precision: Bounded,
    /// How often the rule applies.
    pub coverage: Bounded,
}

/// Changes of the text and what the model says then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Edits {
    /// What it is about.
    #[serde(flatten)]
    pub subject: Subject,
    /// What was looked for, in words: "the fewest words whose removal changes the decision".
    pub goal: String,
    /// The texts that were found, best first; those that reach the goal come before the others.
    pub found: Vec<Edited>,
    /// Whether it is proven that nothing smaller would do: no smaller change, or nothing less left where as little as possible is to stay.
    pub smallest: bool,
    /// How often random changes of the same size reach the goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random: Option<Chance>,
    /// The evidence in plain words.
    pub verdict: Verdict,
}

/// A changed text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Edited {
    /// The text as it became.
    pub input: Vec<Field>,
    /// What was changed, in the order of the original text.
    pub swaps: Vec<Swap>,
    /// What the model says of it.
    pub prediction: Answered,
    /// F of it.
    #[serde(serialize_with = "number::short")]
    pub value: f64,
    /// Whether it reaches the goal.
    pub reached: bool,
}

/// One change: bytes of the original text become something else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swap {
    /// Which field.
    pub field: usize,
    /// First byte.
    pub start: usize,
    /// One past the last; the start itself where something is put in.
    pub end: usize,
    /// What stood there.
    pub before: String,
    /// What stands there now; nothing where it was taken out.
    pub after: String,
}

/// How often something happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chance {
    /// Times that it did.
    pub hits: usize,
    /// Times that it was tried.
    pub trials: usize,
}
