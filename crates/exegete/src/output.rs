//! Predictions as text, JSON or CSV, written row by row as they come.

pub(crate) mod csv_table;
mod destination;
mod file;
mod json;
pub(crate) mod report;
mod terminal;

use crate::cli::PredictionFormat;
use anyhow::Result;
pub(crate) use destination::{destination, is_replaceable};
pub(crate) use exegete::report::number::Number;
use exegete::{Example, Prediction};
pub(crate) use file::Output;
use std::io::Write;
pub(crate) use terminal::Style;

/// Writes predictions in one format.
pub(crate) struct Printer {
    format: PredictionFormat,
    style: Style,
    rows: usize,
}

impl Printer {
    /// A printer at the start of its document; nothing is written before the first row is known to be good.
    pub(crate) fn new(format: PredictionFormat, style: Style) -> Self {
        Self { format, style, rows: 0 }
    }

    /// The same after so many rows, which an earlier run wrote.
    pub(crate) fn after(self, rows: usize) -> Self {
        Self { rows, ..self }
    }

    /// Writes one row, with whatever must stand before it.
    pub(crate) fn row(
        &mut self,
        out: &mut dyn Write,
        example: &Example,
        prediction: &Prediction,
    ) -> Result<()> {
        let first = self.rows == 0;
        self.rows += 1;
        match self.format {
            PredictionFormat::Text => terminal::row(out, example, prediction, self.style)?,
            PredictionFormat::Json => {
                out.write_all(if first { json::OPENING } else { b",\n" })?;
                out.write_all(&serde_json::to_vec(&json::row(example, prediction))?)?;
            }
            PredictionFormat::Csv => {
                if first {
                    csv_table::header(out, example, prediction)?;
                }
                csv_table::row(out, example, prediction)?;
            }
        }
        Ok(())
    }

    /// Writes what closes the document.
    pub(crate) fn finish(&self, out: &mut dyn Write) -> Result<()> {
        if self.format == PredictionFormat::Json {
            out.write_all(json::CLOSING)?;
        }
        Ok(out.flush()?)
    }
}

/// The label a user would read off a prediction, where it has one.
pub(crate) fn label(prediction: &Prediction) -> Option<&str> {
    prediction.scores.decision().map(|(label, _)| label)
}

#[cfg(test)]
mod tests;
