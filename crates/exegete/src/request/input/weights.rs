//! The attention of each text's words, from a file of its own: a JSON list of numbers a line, in the order of the texts.

use super::Lines;
use crate::Example;
use crate::request::TextInput;
use anyhow::{Result, bail};
use std::io::Cursor;
use std::path::Path;

/// Weights that are handed to texts as they are read.
pub(crate) struct WeightLines(Lines);

impl WeightLines {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Ok(Self(Lines::open(path)?.0))
    }

    /// Those of some texts, where they are given: from their file, or the list itself.
    pub(crate) fn of(texts: &TextInput) -> Result<Option<Self>> {
        match texts.own_weights() {
            Some(list) => Ok(Some(Self(Lines::new(Cursor::new(list.to_owned()), "--weights")))),
            None => texts.weights_file().map(Self::open).transpose(),
        }
    }

    /// The same text with the next line's weights.
    pub(crate) fn give(&mut self, example: Example) -> Result<Example> {
        let Some((line, text)) = self.0.read()? else {
            bail!("{}: holds fewer lines than there are texts; give one a text", self.0.name());
        };
        let weights: Vec<f32> = serde_json::from_str(&text)
            .map_err(|_| self.0.error(line, "is no JSON list of numbers, such as [0.7, 0.2, 0.1]"))?;
        Ok(Example { weights: Some(weights), ..example })
    }

    /// An error where there are weights without a text.
    pub(crate) fn finish(mut self) -> Result<()> {
        match self.0.read()? {
            Some((line, _)) => Err(self.0.error(line, "holds weights, but there are no more texts")),
            None => Ok(()),
        }
    }
}
