//! What a model answers and what its classes are called, from the class that saved it.

use super::Config;
use super::fields::Fields;
use crate::fault::{fault, unsupported};
use exegete_core::task::{Spelling, Widths};
use exegete_core::{Error, Result, TASKS, Task};
use serde_json::Value;

impl Config {
    /// What the model answers, by the name of the class in `architectures`; without one, the bare encoder.
    pub fn task(&self) -> Result<&'static dyn Task> {
        // Whatever comes before "For" is the family, which `model_type` has already told.
        let class = self.architecture.as_deref().unwrap_or("Model");
        let head = match class.split_once("For") {
            Some((_, head)) => Some(head),
            // A causal head hides behind `BertLMHeadModel`.
            None if class.ends_with("Model") && !class.ends_with("LMHeadModel") => None,
            None => return Err(self.unknown_head(class)),
        };
        let fitting: Vec<Spelled> = spelled().filter(|(spelling, _)| spelling.head == head).collect();
        match fitting[..] {
            [] => Err(self.unknown_head(class)),
            [(_, only)] => Ok(only),
            _ => self.task_of_problem(&fitting),
        }
    }

    /// Which of the tasks that share a head is meant.
    fn task_of_problem(&self, tasks: &[Spelled]) -> Result<&'static dyn Task> {
        let count = self.labels().len();
        let fits = |spelling: &Spelling| spelling.outputs.is_none_or(|outputs| outputs == count);
        let found = tasks.iter().find(|(spelling, _)| match self.problem_type.as_deref() {
            Some(given) => spelling.problem == Some(given),
            None => spelling.implied && fits(spelling),
        });
        let given = self.problem_type.as_deref().unwrap_or_default();
        match found {
            Some((spelling, task)) if fits(spelling) => Ok(*task),
            Some((Spelling { outputs, .. }, _)) => Err(unsupported(
                &self.place,
                format!(
                    "{given} with {count} outputs is not supported, only with {}",
                    outputs.unwrap_or(count)
                ),
            )),
            None => {
                let known: Vec<&str> = tasks.iter().filter_map(|(spelling, _)| spelling.problem).collect();
                let known = known.join(", ");
                Err(fault(&self.place, format!("problem_type '{given}' is not known; known are {known}")))
            }
        }
    }

    fn unknown_head(&self, class: &str) -> Error {
        let mut heads: Vec<String> = spelled()
            .map(|(spelling, _)| spelling.head.map_or("Model".to_owned(), |head| format!("For{head}")))
            .collect();
        heads.dedup();
        let heads = heads.join(", ");
        unsupported(&self.place, format!("the head of '{class}' is not supported; supported are {heads}"))
    }

    /// The sizes that an output's width follows from.
    pub fn widths(&self) -> Widths {
        Widths { labels: self.labels().len(), hidden: self.hidden_size, vocabulary: self.vocab_size }
    }
}

/// A task with its spelling.
type Spelled = (Spelling, &'static dyn Task);

fn spelled() -> impl Iterator<Item = Spelled> {
    TASKS.iter().filter_map(|&task| Some((task.spelling()?, task)))
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
