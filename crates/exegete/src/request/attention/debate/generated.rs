//! Rows whose deciding word is known, where the user brings none.

use crate::methods::Settings;
use crate::methods::data::{GeneratedRow, Generator, LabelledRow, find_set};
use crate::methods::debate::TestedText;
use crate::{Span, partial};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// The set that is generated: exactly one word decides.
const SET: &str = "keyword";
/// How many rows are learned from where nothing else is said.
const ROWS: usize = 2000;
/// Fewer leave hardly any to test.
pub(super) const LEAST_ROWS: usize = 20;
/// One row in so many is tested.
const TESTED: usize = 4;

/// The rows of a run: those to learn from, then those that are tested.
pub(super) struct GeneratedRows {
    generator: Generator,
    train: u64,
    dev: u64,
}

impl GeneratedRows {
    pub(super) fn new(rows: Option<usize>, seed: u64) -> Result<Self> {
        let rows = rows.unwrap_or(ROWS);
        let generator = Generator::new(find_set(SET)?, Settings::default(), seed)?;
        Ok(Self { generator, train: rows as u64, dev: (rows / TESTED) as u64 })
    }

    /// Writes both files into a folder; their paths.
    pub(super) fn write(&self, folder: &Path) -> Result<[PathBuf; 2]> {
        let file = |name: &str, rows: std::ops::Range<u64>| {
            let path = folder.join(name);
            let line = |number| {
                let cells = self.generator.row(number).cells().into_iter().map(|(_, cell)| cell);
                cells.collect::<Vec<_>>().join("\t") + "\n"
            };
            let text: String =
                std::iter::once(self.generator.set.columns.join("\t") + "\n").chain(rows.map(line)).collect();
            let cannot = || format!("{}: cannot be written", path.display());
            partial::write(&path, text.as_bytes()).with_context(cannot)?;
            anyhow::Ok(path.clone())
        };
        Ok([file("train.tsv", 0..self.train)?, file("dev.tsv", self.train..self.train + self.dev)?])
    }

    /// Which parts of a tested text decide its label.
    pub(super) fn truth(&self, text: &TestedText) -> Vec<bool> {
        let GeneratedRow::Labelled(LabelledRow { truth, .. }) = self.generator.row(self.train + text.number)
        else {
            return vec![false; text.parts.tokens.len()];
        };
        let decides = |span: Span| truth.iter().any(|own| own.start < span.end && span.start < own.end);
        let part = |tokens: &Vec<usize>| {
            tokens.iter().filter_map(|&token| text.encoded.tokens[token].span).any(decides)
        };
        text.parts.tokens.iter().map(part).collect()
    }

    /// What the page says about them.
    pub(super) fn said(&self) -> String {
        format!(
            "generated rows of the set {SET}, {} to learn from and {} tested: {}",
            self.train, self.dev, self.generator.set.summary
        )
    }
}
