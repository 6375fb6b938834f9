use super::{AnswerPart, AnswerShape, Brief, NumberWords, brief, percent};
use crate::Span;
use crate::report::number;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The label of one word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tag {
    /// The word as it stands in the text.
    pub text: String,
    /// The bytes of the text that it stands at.
    #[serde(flatten)]
    pub span: Span,
    /// The label of its first token.
    pub label: String,
    /// The probability of that label, from 0 to 1.
    #[serde(serialize_with = "number::short")]
    pub prob: f64,
}

/// The label of a word that is none of what is looked for.
const OUTSIDE: &str = "O";

impl AnswerShape for &[Tag] {
    fn brief(&self, _: NumberWords) -> Brief {
        let found = self.iter().filter(|tag| tag.label != OUTSIDE);
        let found = found.map(|tag| format!("{} {}", tag.text, tag.label));
        Brief { decision: brief(found), ..Brief::default() }
    }

    fn lines(&self) -> Vec<Vec<AnswerPart>> {
        let text_width = self.iter().map(|tag| tag.text.chars().count()).max().unwrap_or(0);
        let label_width = self.iter().map(|tag| tag.label.chars().count()).max().unwrap_or(0);
        let line = |tag: &Tag| {
            let label = format!("{:<label_width$}", tag.label);
            let label =
                if tag.label == OUTSIDE { AnswerPart::Faint(label) } else { AnswerPart::Strong(label) };
            let text = AnswerPart::Plain(format!("{:<text_width$}  ", tag.text));
            vec![text, label, AnswerPart::Plain(format!("  {}", percent(tag.prob)))]
        };
        self.iter().map(line).collect()
    }

    fn cell(&self) -> String {
        self.iter().map(|tag| tag.label.as_str()).collect::<Vec<_>>().join(" ")
    }
}
