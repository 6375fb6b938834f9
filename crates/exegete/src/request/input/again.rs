//! Texts for methods that read them several times.

use super::TextReader;
use crate::methods::{TextPass, TextSource};
use crate::report::RecordedFile;
use crate::request::{Stop, TextInput};
use crate::{Card, Error, Example, Result, Task};
use anyhow::bail;

/// Texts that every pass reads from the start.
pub(crate) enum TextsAgain {
    /// From a file, row by row.
    File(TextInput, &'static dyn Task),
    /// From a stream, which can be read only once, with what it held where it is the standard input.
    Held(Vec<Example>, Option<RecordedFile>),
}

impl TextsAgain {
    /// What a command was asked to read, of which there must be a first text; with a card, labels must be the model's.
    pub(crate) fn open(
        texts: &TextInput,
        task: &'static dyn Task,
        labels: Option<&Card>,
        stop: &Stop,
    ) -> anyhow::Result<Self> {
        let mut source = TextReader::open_until(texts, task, stop)?;
        if !texts.input.as_deref().is_some_and(std::path::Path::is_file) {
            let rows = source.whole(None, labels)?;
            if rows.is_empty() {
                bail!("{}: holds no text", source.name());
            }
            let examples = rows.into_iter().map(|(_, example)| example).collect();
            return Ok(Self::Held(examples, source.recorded_stdin()));
        }
        TextReader::check_file(texts, task, labels)?;
        match source.read()? {
            Some(_) => Ok(Self::File(texts.clone(), task)),
            None => bail!("{}: holds no text", source.name()),
        }
    }

    /// The standard input by what was read of it, where it is the input.
    pub(crate) fn recorded_stdin(&self) -> Option<RecordedFile> {
        match self {
            Self::File(..) => None,
            Self::Held(_, stdin) => stdin.clone(),
        }
    }
}

impl TextSource for TextsAgain {
    fn pass(&self) -> Result<TextPass<'_>> {
        let told = |error: anyhow::Error| Error::Input(format!("{error:#}"));
        match self {
            Self::Held(examples, _) => examples.pass(),
            Self::File(texts, task) => {
                let mut source = TextReader::open(texts, *task).map_err(told)?;
                Ok(Box::new(std::iter::from_fn(move || source.read().map_err(told).transpose())))
            }
        }
    }
}
