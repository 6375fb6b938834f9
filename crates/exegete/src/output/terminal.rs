//! Predictions for reading: the text, then what the model says of it.

use exegete::report::number::percent;
use exegete::{ClassScore, Example, Prediction, Scores};
use std::io::{self, Write};

/// How many classes, candidates or vector elements are shown before the rest is only counted.
const SHOWN: usize = 8;
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
    match &prediction.scores {
        Scores::Classes { scores, .. } | Scores::Labels { scores, .. } => classes(out, scores, style),
        Scores::Value { value } => writeln!(out, "  value {value:.4}"),
        Scores::Tags { tags } => self::tags(out, tags, style),
        Scores::Answer(answer) => self::answer(out, answer),
        Scores::Fills { masks } => masks.iter().try_for_each(|fill| self::fill(out, fill)),
        Scores::Written { text, log_prob, .. } => {
            writeln!(out, "  {}  log-probability {log_prob:.4}", style.strong(&visible(text)))
        }
        Scores::Vector { vector } => self::vector(out, vector),
    }
}

/// The text without control characters, so that a file cannot drive the reader's terminal.
fn visible(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn classes(out: &mut dyn Write, scores: &[ClassScore], style: Style) -> io::Result<()> {
    let mut sorted: Vec<_> = scores.iter().collect();
    sorted.sort_by(|a, b| b.prob.total_cmp(&a.prob));
    let shown = &sorted[..sorted.len().min(SHOWN)];
    let width = shown.iter().map(|s| s.label.chars().count()).max().unwrap_or(0);
    for (rank, score) in shown.iter().enumerate() {
        let label = format!("{:<width$}", visible(&score.label));
        let label = if rank == 0 { style.strong(&label) } else { label };
        let line = format!("  {label}  {}  {}", padded(score.prob), style.paint("36", &bar(score.prob)));
        writeln!(out, "{}", line.trim_end())?;
    }
    match scores.len() - shown.len() {
        0 => Ok(()),
        more => writeln!(out, "  {}", style.faint(&format!("and {more} more"))),
    }
}

fn tags(out: &mut dyn Write, tags: &[exegete::Tag], style: Style) -> io::Result<()> {
    let text_width = tags.iter().map(|t| t.text.chars().count()).max().unwrap_or(0);
    let label_width = tags.iter().map(|t| t.label.chars().count()).max().unwrap_or(0);
    for tag in tags {
        let label = format!("{:<label_width$}", visible(&tag.label));
        let label = if tag.label == "O" { style.faint(&label) } else { style.strong(&label) };
        writeln!(out, "  {:<text_width$}  {label}  {}", visible(&tag.text), padded(tag.prob))?;
    }
    Ok(())
}

fn answer(out: &mut dyn Write, answer: &exegete::Answer) -> io::Result<()> {
    let text = if answer.answer.is_empty() { "no answer".to_owned() } else { visible(&answer.answer) };
    writeln!(out, "  answer: {text}  {}  score {:.3}", padded(answer.prob), answer.score)
}

fn fill(out: &mut dyn Write, fill: &exegete::Fill) -> io::Result<()> {
    let top = fill.top.iter().take(SHOWN);
    let words: Vec<_> = top.map(|s| format!("{} {}", visible(&s.piece), percent(s.prob, 1))).collect();
    writeln!(out, "  mask at token {}: {}", fill.position, words.join(", "))
}

fn vector(out: &mut dyn Write, vector: &[f32]) -> io::Result<()> {
    let shown: Vec<_> = vector.iter().take(SHOWN).map(|v| format!("{v:.4}")).collect();
    let rest = if vector.len() > SHOWN { " …" } else { "" };
    writeln!(out, "  vector of {}: {}{rest}", vector.len(), shown.join(" "))
}

/// As wide as the largest, so that a column lines up.
fn padded(prob: f64) -> String {
    format!("{:>7}", percent(prob, 1))
}

/// A bar in eighths of a character cell.
fn bar(prob: f64) -> String {
    let eighths = (prob.clamp(0.0, 1.0) * BAR_CELLS * 8.0).round() as usize;
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    format!("{}{rest}", "█".repeat(eighths / 8))
}
