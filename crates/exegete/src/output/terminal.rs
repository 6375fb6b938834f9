//! Predictions for reading: the text, then what the model says of it.

use exegete::{AnswerPart, Example, Prediction};
use std::io::{self, Write};

const BAR_CELLS: f64 = 24.0;

/// Whether to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    /// Escape sequences are written only where they will be shown.
    pub(crate) colour: bool,
}

impl Style {
    fn paint(self, code: &str, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    fn strong(self, text: &str) -> String {
        self.paint("1", text)
    }

    fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }

    fn part(self, part: &AnswerPart) -> String {
        match part {
            AnswerPart::Plain(text) => visible(text),
            AnswerPart::Strong(text) => self.strong(&visible(text)),
            AnswerPart::Faint(text) => self.faint(&visible(text)),
            AnswerPart::Bar(share) => match bar(*share) {
                none if none.is_empty() => none,
                bar => format!("  {}", self.paint("36", &bar)),
            },
        }
    }
}

/// One row: its fields, then a line for each thing the model says.
pub(crate) fn row(
    out: &mut dyn Write,
    example: &Example,
    prediction: &Prediction,
    style: Style,
) -> io::Result<()> {
    for field in &example.fields {
        let name = if example.fields.len() > 1 { format!("{}: ", field.name) } else { String::new() };
        writeln!(out, "{}{}", style.faint(&name), style.strong(&visible(&field.text)))?;
    }
    if prediction.truncated {
        writeln!(out, "  {}", style.paint("33", "truncated: the model saw only the beginning"))?;
    }
    if prediction.unknown > 0 {
        let (n, s) = (prediction.unknown, if prediction.unknown == 1 { "" } else { "s" });
        writeln!(
            out,
            "  {}",
            style.paint("33", &format!("{n} unknown word{s}: the vocabulary holds none of them"))
        )?;
    }
    let lines = prediction.scores.shape().lines();
    lines.iter().try_for_each(|line| {
        let line: String = line.iter().map(|part| style.part(part)).collect();
        writeln!(out, "  {line}")
    })
}

/// The text without control characters, so that a file cannot drive the reader's terminal.
fn visible(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A bar in eighths of a character cell.
fn bar(prob: f64) -> String {
    let eighths = (prob.clamp(0.0, 1.0) * BAR_CELLS * 8.0).round() as usize;
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    format!("{}{rest}", "█".repeat(eighths / 8))
}
