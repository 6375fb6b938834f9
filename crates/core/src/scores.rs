//! Answers: one file a shape, with its types and what it says to whoever shows it.

mod classes;
mod fills;
mod span;
mod tags;
mod value;
mod vector;
mod written;

use crate::report::number;
pub use classes::ClassScore;
pub use fills::{Fill, TokenScore};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use span::Answer;
pub use tags::Tag;
pub use written::WrittenWord;

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

    /// Those that were decided for: labels, or the most probable where none is likely; none where nothing is chosen among names.
    pub fn chosen(&self) -> &[String] {
        match self {
            Self::Labels { labels, .. } if !labels.is_empty() => labels,
            Self::Labels { label, .. } | Self::Classes { label, .. } => std::slice::from_ref(label),
            _ => &[],
        }
    }

    /// What it says to whoever shows it: the one place that names every shape.
    pub fn shape(&self) -> Box<dyn AnswerShape + '_> {
        match self {
            Self::Labels { scores, .. } | Self::Classes { scores, .. } => {
                Box::new(classes::ChosenClasses { chosen: self.chosen(), scores })
            }
            Self::Value { value } => Box::new(value::OneValue(*value)),
            Self::Tags { tags } => Box::new(&tags[..]),
            Self::Answer(answer) => Box::new(answer),
            Self::Fills { masks } => Box::new(&masks[..]),
            Self::Written { text, log_prob, .. } => Box::new(written::OwnText { text, log_prob: *log_prob }),
            Self::Vector { vector } => Box::new(vector::TextVector(vector)),
        }
    }
}

/// What an answer of one shape says, in the words and cells that every format shares.
pub trait AnswerShape {
    /// A few words, for a headline.
    fn brief(&self, wording: NumberWords) -> Brief;

    /// A line for each thing that is said, for a terminal.
    fn lines(&self) -> Vec<Vec<AnswerPart>>;

    /// The answer as one cell of a table.
    fn cell(&self) -> String;

    /// The probability of the answer, where the answer is one thing.
    fn prob(&self) -> Option<f64> {
        None
    }

    /// What its further numbers are called; every answer of one model has the same.
    fn columns(&self) -> Vec<String> {
        Vec::new()
    }

    /// As many numbers as there are columns.
    fn numbers(&self) -> Vec<Option<f64>> {
        Vec::new()
    }
}

/// An answer in a few words.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Brief {
    /// The label or word that the model decides for.
    pub decision: String,
    /// The probability of that, from 0 to 1, where there is one.
    pub probability: Option<f64>,
    /// What else it considered.
    pub others: String,
}

/// How whoever shows an answer writes numbers.
#[derive(Debug, Clone, Copy)]
pub struct NumberWords {
    /// A number of any size.
    pub number: fn(f64) -> String,
    /// A share from 0 to 1.
    pub share: fn(f64) -> String,
}

/// A piece of a line about an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerPart {
    /// Words like all others.
    Plain(String),
    /// Words that say what was decided.
    Strong(String),
    /// Words that matter less.
    Faint(String),
    /// A bar of this share, from 0 to 1, two cells from what is before it; nothing at all for a share of nothing.
    Bar(f64),
}

/// How many classes, words or candidates a headline tells before the rest is only counted.
const TOLD: usize = 4;

/// How many classes, candidates or elements have a line or word of their own.
const SHOWN: usize = 8;

/// The first few, and how many more there are.
fn brief(all: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = all.collect();
    let told = all[..all.len().min(TOLD)].join(", ");
    match all.len().saturating_sub(TOLD) {
        0 => told,
        more => format!("{told} and {more} more"),
    }
}

/// A line that counts what has none.
fn rest(more: usize) -> Option<Vec<AnswerPart>> {
    (more > 0).then(|| vec![AnswerPart::Faint(format!("and {more} more"))])
}

fn percent(prob: f64) -> String {
    format!("{:>5.1} %", 100.0 * prob)
}

fn best_label(scores: &[ClassScore]) -> String {
    best(scores).map_or_else(String::new, |best| best.label.clone())
}

/// The most probable; the first where several are equal.
fn best(scores: &[ClassScore]) -> Option<&ClassScore> {
    scores.iter().reduce(|best, score| if score.prob > best.prob { score } else { best })
}
