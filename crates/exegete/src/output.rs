//! Predictions as text, JSON or CSV, written row by row as they come.

mod csv_table;
mod destination;
mod file;
mod json;
pub(crate) mod report;
mod terminal;

use crate::cli::PredictionFormat;
use anyhow::Result;
pub(crate) use destination::{Read, destination, is_replaceable, refuse_reads};
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

    /// Closes the document.
    pub(crate) fn finish(&self, out: &mut dyn Write) -> Result<()> {
        if self.format == PredictionFormat::Json {
            out.write_all(json::CLOSING)?;
        }
        Ok(out.flush()?)
    }
}

/// The most probable of some scores, by index; the first where several are equal.
fn best<T>(scores: &[T], prob: impl Fn(&T) -> f64) -> Option<&T> {
    scores.iter().reduce(|best, score| if prob(score) > prob(best) { score } else { best })
}

/// The label a user would read off a prediction, where it has one.
pub(crate) fn label(prediction: &Prediction) -> Option<&str> {
    use exegete::Scores::{Answer, Classes, Labels};
    match &prediction.scores {
        Classes(scores) | Labels(scores) => best(scores, |s| s.prob).map(|s| s.label.as_str()),
        Answer(answer) => Some(&answer.answer),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
