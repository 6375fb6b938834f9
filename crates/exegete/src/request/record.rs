//! What a report remembers of its request, so that it can be repeated.

mod library;

use super::attention::debate::AttentionDebateRequest;
use super::attention::deceive::AttentionDeceiveRequest;
use super::attention::heads::AttentionHeadsRequest;
use super::attention::norms::AttentionNormsRequest;
use super::attention::test::AttentionTestRequest;
use super::attention::words::AttentionWordsRequest;
use super::eval::EvalRequest;
use super::explain::ExplainRequest;
use super::{Read, TextInput};
use crate::report::{Item, RecordedFile, RecordedRequest};
use crate::{Example, Model, Target, sha256_of};
use anyhow::{Context, Result};
pub(crate) use library::of_library;
use serde::Serialize;
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The request of a report with the files that it names. None where a path is no Unicode: JSON cannot hold it.
pub(super) fn recorded(
    command: &str,
    request: &impl Serialize,
    files: Vec<RecordedFile>,
) -> Option<RecordedRequest> {
    let Ok(Value::Object(fields)) = serde_json::to_value(request) else { return None };
    Some(RecordedRequest { command: command.to_owned(), fields, files })
}

/// Items with what must be known of the model's answers, so that whoever reads the report later knows it too.
pub(super) fn warned(mut items: Vec<Item>, model: &dyn Model) -> Vec<Item> {
    let warnings = model.warnings();
    for notes in items.iter_mut().filter_map(Item::notes_mut) {
        notes.extend(warnings.iter().map(|warning| format!("the model: {warning}")));
    }
    items
}

/// Files by what they hold now.
pub(super) fn files(reads: &[Read<'_>]) -> Result<Vec<RecordedFile>> {
    reads.iter().map(|(_, path)| file(path)).collect()
}

fn file(path: &Path) -> Result<RecordedFile> {
    let cannot = || format!("{}: cannot be read", path.display());
    let hash = || sha256_of(File::open(path)?);
    // What is not there is no stream.
    path.metadata().with_context(cannot)?;
    // A pipe gives what it holds once, to whoever reads it for the answer.
    let sha256 = path.is_file().then(hash).transpose().with_context(cannot)?;
    Ok(RecordedFile { path: path.display().to_string(), sha256 })
}

impl ExplainRequest {
    /// The same question about one text alone.
    pub(super) fn about(&self, example: &Example) -> Self {
        let text = |field: usize| example.fields.get(field).map(|field| field.text.clone());
        // Of a file of weights only this text's line belongs to it.
        let weights = example.weights.as_ref().and_then(|weights| serde_json::to_string(weights).ok());
        let weights = weights.map(PathBuf::from);
        let texts = TextInput { text: text(0), pair: text(1), weights, ..TextInput::default() };
        // A label that no target asks for changed nothing, and would be refused.
        let loss = |target: &String| target.parse::<Target>().is_ok_and(|target| target.is_loss());
        let label =
            example.label.clone().filter(|_| self.top_labels.is_none() && self.target.iter().any(loss));
        Self { texts, label, ..self.clone() }
    }

    /// Every file that it names, the model and the cache aside, but for the standard input.
    pub(super) fn named_files(&self) -> Vec<Read<'_>> {
        named(self.reads())
    }
}

impl EvalRequest {
    /// Every file that it names, the model and the cache aside, but for the standard input.
    pub(super) fn named_files(&self) -> Vec<Read<'_>> {
        named(self.reads())
    }
}

impl AttentionTestRequest {
    /// Every file that it names, the model aside, but for the standard input.
    pub(super) fn named_files(&self) -> Vec<Read<'_>> {
        named(self.reads())
    }
}

impl AttentionDeceiveRequest {
    /// Every file that it names, the model aside.
    pub(super) fn named_files(&self) -> Vec<Read<'_>> {
        named(self.reads())
    }
}

impl AttentionDebateRequest {
    /// Every file that it names, but for the standard input.
    pub(super) fn named_files(&self) -> Vec<Read<'_>> {
        named(self.reads())
    }
}

impl AttentionHeadsRequest {
    /// Every file that it names, the model aside, but for the standard input.
    pub(super) fn named_files(&self) -> Vec<Read<'_>> {
        named(self.reads())
    }
}

impl AttentionNormsRequest {
    /// Every file that it names, the model aside, but for the standard input.
    pub(super) fn named_files(&self) -> Vec<Read<'_>> {
        named(self.reads())
    }
}

impl AttentionWordsRequest {
    /// Every file that it names, the model aside, but for the standard input.
    pub(super) fn named_files(&self) -> Vec<Read<'_>> {
        named(self.reads())
    }
}

fn named(reads: Vec<Read<'_>>) -> Vec<Read<'_>> {
    let other =
        |(name, path): &Read<'_>| !matches!(*name, "the model" | "--cache") && path.as_os_str() != "-";
    reads.into_iter().filter(other).collect()
}
