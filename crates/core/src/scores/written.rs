use super::{AnswerPart, AnswerShape, Brief, NumberWords};
use crate::report::number;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One word of a text that a model wrote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WrittenWord {
    /// How the vocabulary writes it.
    pub word: String,
    /// Its probability after the words before it.
    #[serde(serialize_with = "number::short")]
    pub prob: f64,
}

/// A text of the model's own with the logarithm of its probability.
pub(super) struct OwnText<'a> {
    pub(super) text: &'a str,
    pub(super) log_prob: f64,
}

impl AnswerShape for OwnText<'_> {
    fn brief(&self, _: NumberWords) -> Brief {
        Brief { decision: format!("“{}”", self.text), ..Brief::default() }
    }

    fn lines(&self) -> Vec<Vec<AnswerPart>> {
        let after = format!("  log-probability {:.4}", self.log_prob);
        vec![vec![AnswerPart::Strong(self.text.to_owned()), AnswerPart::Plain(after)]]
    }

    fn cell(&self) -> String {
        self.text.to_owned()
    }

    fn prob(&self) -> Option<f64> {
        Some(self.log_prob.exp())
    }
}
