use super::Finding;
use crate::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an experiment comes to: one word, the rule that chose it, and the sentences that say why.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judgement {
    /// What programs know it by, in snake case.
    pub name: String,
    /// The verdict as a word in snake case, such as says_nothing.
    pub verdict: String,
    /// The number of the rule that held, where rules are tried one after another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<u32>,
    /// The verdict and what goes with it, one thing a sentence.
    pub sentences: Vec<String>,
    /// The numbers behind the sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// What the reader must know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Judgement {
    /// A verdict needs its name and its word.
    pub(super) fn consistent(&self) -> Result<()> {
        if self.name.is_empty() || self.verdict.is_empty() {
            return Err(Error::Input("an item of kind 'verdict' has no 'name' or no 'verdict'".to_owned()));
        }
        Ok(())
    }
}
