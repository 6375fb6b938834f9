use crate::Span;
use crate::report::number;
use crate::text::SpanOrNulls;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a model answers, by task, as it is written and read back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Scores {
    /// Labels that may apply together, with independent probabilities: see [`Scores::labels`].
    Labels {
        /// The most probable one.
        label: String,
        /// Those with a probability of at least one half.
        labels: Vec<String>,
        /// The score of every label.
        scores: Vec<ClassScore>,
    },
    /// One of several classes, whose probabilities sum to one: see [`Scores::classes`].
    Classes {
        /// The most probable one.
        label: String,
        /// The score of every class.
        scores: Vec<ClassScore>,
    },
    /// One number, as regression gives it.
    Value {
        /// The number itself, null where it is not finite.
        #[serde(serialize_with = "number::short")]
        value: f64,
    },
    /// A label a word.
    Tags {
        /// In the order of the text.
        tags: Vec<Tag>,
    },
    /// A span of the text that answers a question.
    Answer(Answer),
    /// The words behind masks.
    Fills {
        /// The words that fit, one list for each mask of the text.
        masks: Vec<Fill>,
    },
    /// A text of the model's own.
    Written {
        /// Its words, with spaces between them.
        text: String,
        /// The natural logarithm of its probability: the sum over its words, its end included where it was written.
        #[serde(serialize_with = "number::short")]
        log_prob: f64,
        /// Each word with its probability after the words before it, the end included.
        words: Vec<WrittenWord>,
    },
    /// What a bare encoder gives for the whole text.
    Vector {
        /// The pooled vector of the text, one number for each hidden dimension.
        vector: Vec<f32>,
    },
}

impl Scores {
    /// One of several classes.
    pub fn classes(scores: Vec<ClassScore>) -> Self {
        Self::Classes { label: best_label(&scores), scores }
    }

    /// Labels that may apply together.
    pub fn labels(scores: Vec<ClassScore>) -> Self {
        let on = scores.iter().filter(|score| score.prob >= 0.5);
        Self::Labels {
            label: best_label(&scores),
            labels: on.map(|score| score.label.clone()).collect(),
            scores,
        }
    }

    /// The classes or labels, where there are any.
    pub fn by_class(&self) -> Option<&[ClassScore]> {
        match self {
            Self::Labels { scores, .. } | Self::Classes { scores, .. } => Some(scores),
            _ => None,
        }
    }

    /// The most probable class or label with its probability, where there are any; an answer with its own.
    pub fn decision(&self) -> Option<(&str, f64)> {
        match self {
            Self::Answer(answer) => Some((&answer.answer, answer.prob)),
            _ => self.by_class().and_then(best).map(|best| (best.label.as_str(), best.prob)),
        }
    }
}

fn best_label(scores: &[ClassScore]) -> String {
    best(scores).map_or_else(String::new, |best| best.label.clone())
}

/// The most probable; the first where several are equal.
fn best(scores: &[ClassScore]) -> Option<&ClassScore> {
    scores.iter().reduce(|best, score| if score.prob > best.prob { score } else { best })
}

/// One class with its logit and probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassScore {
    /// What the class is called.
    pub label: String,
    /// Its logit; black boxes may have none.
    #[serde(serialize_with = "number::short_or_null")]
    pub logit: Option<f64>,
    /// The number itself, null where it is not finite.
    #[serde(serialize_with = "number::short")]
    pub prob: f64,
}

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

/// One candidate for a masked position.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TokenScore {
    /// The token as the vocabulary writes it.
    pub piece: String,
    /// The number itself, null where it is not finite.
    #[serde(serialize_with = "number::short")]
    pub logit: f64,
    /// The number itself, null where it is not finite.
    #[serde(serialize_with = "number::short")]
    pub prob: f64,
}

/// One word of a text that a model wrote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WrittenWord {
    /// How the vocabulary writes it.
    pub word: String,
    /// Its probability after the words before it.
    #[serde(serialize_with = "number::short")]
    pub prob: f64,
}

/// The best candidates for one masked position.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fill {
    /// Index into the tokens.
    pub position: usize,
    /// The most probable tokens, best first.
    pub top: Vec<TokenScore>,
}
