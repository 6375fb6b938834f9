//! What a model answers and what its classes are called, from the class that saved it.

use super::Config;
use super::fields::Fields;
use crate::fault::{fault, unsupported};
use exegete_core::{Result, Task};
use serde_json::Value;

const HEADS: &str =
    "ForSequenceClassification, ForTokenClassification, ForQuestionAnswering, ForMaskedLM, Model";

impl Config {
    /// What the model answers, by the name of the class in `architectures`; without one, the bare encoder.
    pub fn task(&self) -> Result<Task> {
        let Some(name) = self.architecture.as_deref() else { return Ok(Task::Encoder) };
        // Whatever comes before "For" is the family, which `model_type` has already told.
        match name.split_once("For") {
            Some((_, "SequenceClassification")) => self.classification(),
            Some((_, "TokenClassification")) => Ok(Task::TokenClassification),
            Some((_, "QuestionAnswering")) => Ok(Task::QuestionAnswering),
            Some((_, "MaskedLM")) => Ok(Task::MaskedLanguageModel),
            // A causal head hides behind `BertLMHeadModel`.
            None if name.ends_with("Model") && !name.ends_with("LMHeadModel") => Ok(Task::Encoder),
            _ => Err(unsupported(
                &self.place,
                format!("the head of '{name}' is not supported; supported are {HEADS}"),
            )),
        }
    }

    fn classification(&self) -> Result<Task> {
        let count = self.labels().len();
        match self.problem_type.as_deref() {
            Some("multi_label_classification") => Ok(Task::MultiLabel),
            Some("regression") | None if count == 1 => Ok(Task::Regression),
            Some("regression") => Err(unsupported(
                &self.place,
                format!("regression with {count} outputs is not supported, only with 1"),
            )),
            Some("single_label_classification") | None => Ok(Task::Classification),
            Some(other) => Err(fault(
                &self.place,
                format!(
                    "problem_type '{other}' is not known; known are regression, single_label_classification, \
                     multi_label_classification"
                ),
            )),
        }
    }
}

/// The names under `id2label` in the order of their numbers, or `LABEL_0`, `LABEL_1`, … as transformers calls them.
pub(super) fn labels(fields: &Fields) -> Result<Vec<String>> {
    let named = match fields.get("id2label") {
        None => Vec::new(),
        Some(Value::Object(map)) => map.iter().map(|(id, name)| (id.trim().parse().ok(), name)).collect(),
        Some(Value::Array(list)) => list.iter().enumerate().map(|(id, name)| (Some(id), name)).collect(),
        Some(other) => return Err(fields.wrong("id2label", "a map from numbers to names", other)),
    };
    if named.is_empty() {
        let count = fields.size_or(&["num_labels", "_num_labels"], 2)?;
        return Ok((0..count).map(|id| format!("LABEL_{id}")).collect());
    }
    let mut names: Vec<Option<String>> = vec![None; named.len()];
    for (id, name) in named {
        let slot = id.and_then(|id: usize| names.get_mut(id)).filter(|slot| slot.is_none());
        let Some(slot) = slot else {
            let what = "the numbers in 'id2label' must be 0, 1, 2 and so on, each once; correct the file";
            return Err(fault(fields.place(), what));
        };
        *slot = Some(as_name(name));
    }
    Ok(names.into_iter().flatten().collect())
}

/// Some files name classes by number.
fn as_name(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
