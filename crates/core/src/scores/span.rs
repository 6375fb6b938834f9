use super::{AnswerPart, AnswerShape, Brief, NumberWords, percent};
use crate::Span;
use crate::report::number;
use crate::text::SpanOrNulls;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The span a question-answering model chose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// The answer's text; empty where the model answers that there is none.
    pub answer: String,
    /// Its bytes in the context.
    #[serde(flatten, serialize_with = "Span::or_nulls")]
    #[schemars(with = "SpanOrNulls")]
    pub span: Option<Span>,
    /// Start logit plus end logit.
    #[serde(serialize_with = "number::short")]
    pub score: f64,
    /// The probability of start times that of end.
    #[serde(serialize_with = "number::short")]
    pub prob: f64,
}

/// What is said where the model answers that the text has no answer.
const NONE: &str = "no answer";

impl AnswerShape for &Answer {
    fn brief(&self, _: NumberWords) -> Brief {
        let decision =
            if self.answer.is_empty() { NONE.to_owned() } else { format!("“{}”", self.answer) };
        Brief { decision, probability: Some(self.prob), ..Brief::default() }
    }

    fn lines(&self) -> Vec<Vec<AnswerPart>> {
        let text = if self.answer.is_empty() { NONE } else { &self.answer };
        let line = format!("answer: {text}  {}  score {:.3}", percent(self.prob), self.score);
        vec![vec![AnswerPart::Plain(line)]]
    }

    fn cell(&self) -> String {
        self.answer.clone()
    }

    fn prob(&self) -> Option<f64> {
        Some(self.prob)
    }
}
