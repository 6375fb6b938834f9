use crate::{Answer, ClassScore, Fill, Scores, Tag};
use serde::{Deserialize, Serialize};

/// A prediction as it is written, by task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Answered {
    /// Labels that may apply together.
    Labels {
        /// The most probable one.
        label: String,
        /// Those with a probability of at least one half.
        labels: Vec<String>,
        /// All of them.
        scores: Vec<ClassScore>,
    },
    /// One of several classes.
    Classes {
        /// The most probable one.
        label: String,
        /// All of them.
        scores: Vec<ClassScore>,
    },
    /// A number.
    Value {
        /// The number.
        #[serde(serialize_with = "super::number::short")]
        value: f64,
    },
    /// A label a word.
    Tags {
        /// In the order of the text.
        tags: Vec<Tag>,
    },
    /// A span.
    Answer(Answer),
    /// The words behind masks.
    Fills {
        /// One a mask.
        masks: Vec<Fill>,
    },
    /// A vector.
    Vector {
        /// The pooled vector.
        vector: Vec<f32>,
    },
}

impl From<&Scores> for Answered {
    fn from(scores: &Scores) -> Self {
        let label = |scores: &[ClassScore]| best(scores).map_or_else(String::new, |best| best.label.clone());
        match scores.clone() {
            Scores::Classes(scores) => Self::Classes { label: label(&scores), scores },
            Scores::Labels(scores) => {
                let on = scores.iter().filter(|score| score.prob >= 0.5);
                let labels = on.map(|score| score.label.clone()).collect();
                Self::Labels { label: label(&scores), labels, scores }
            }
            Scores::Value(value) => Self::Value { value },
            Scores::Tags(tags) => Self::Tags { tags },
            Scores::Answer(answer) => Self::Answer(answer),
            Scores::Fills(masks) => Self::Fills { masks },
            Scores::Vector(vector) => Self::Vector { vector },
        }
    }
}

impl Answered {
    /// The most probable class or label with its probability, where there are any; an answer with its own.
    pub fn decision(&self) -> Option<(&str, f64)> {
        match self {
            Self::Labels { scores, .. } | Self::Classes { scores, .. } => {
                best(scores).map(|best| (best.label.as_str(), best.prob))
            }
            Self::Answer(answer) => Some((&answer.answer, answer.prob)),
            _ => None,
        }
    }
}

/// The most probable; the first where several are equal.
fn best(scores: &[ClassScore]) -> Option<&ClassScore> {
    scores.iter().reduce(|best, score| if score.prob > best.prob { score } else { best })
}
