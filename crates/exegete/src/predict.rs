//! `exegete predict`: predictions, written as they come.

use crate::journal::Journal;
use crate::output::{self, Output, Printer, Style, is_replaceable};
use crate::stop::after_texts;
use crate::{cli, progress};
use anyhow::{Context, Result, bail};
use exegete::request::predict::{self, PredictedTexts, Predictor};
use exegete::request::{Notice, Stop, text_sha256};
use exegete::{Card, Example, Prediction, Scores, task::Classes};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::Path;

/// Asks the model for its answers and writes them.
pub(crate) fn run(args: &cli::Predict, stop: &Stop) -> Result<()> {
    let path = output::destination(args.output.as_deref(), &args.request.reads())?;
    let predictor = predict::open(&args.request, stop, &mut progress::say)?;
    refuse_unused_labels(args, predictor.model().card())?;
    match path.filter(|path| is_replaceable(path) && args.request.texts.many()) {
        Some(path) => resumable(args, &predictor, path),
        None => stream(args, &predictor, path),
    }
}

/// Labels are counted for an accuracy, or written beside the answers.
fn refuse_unused_labels(args: &cli::Predict, card: &Card) -> Result<()> {
    let read = card.task.classes() == Classes::One || args.format == cli::PredictionFormat::Json;
    match &args.request.texts.label_column {
        Some(_) if !read => bail!(
            "--label-column is for models that give a text one class, and the task of this one is {}; leave it out, or take \
             --format json, which writes the labels beside",
            card.task.title()
        ),
        _ => Ok(()),
    }
}

/// Rows as they come.
fn stream(args: &cli::Predict, predictor: &Predictor<'_>, path: Option<&Path>) -> Result<()> {
    let mut output = Output::open(path)?;
    let colour = output.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let mut printer = Printer::new(args.format, Style { colour });
    let mut tally = Tally::new(predictor);
    let progress = progress::reading();
    let tell = &mut |notice: Notice<'_>| progress.show(notice);
    let done = predictor.each(&[], tell, &mut |texts| {
        let rows = printed(&mut printer, texts)?;
        rows.iter().for_each(|row| tally.add(row));
        let written = rows.iter().try_for_each(|row| output.write_all(row.printed.as_bytes()));
        progress.suspend(|| written.and_then(|()| output.flush())).context("the output cannot be written")
    });
    progress.finish();
    done.map_err(|error| after_texts(error, tally.rows, false))?;
    printer.finish(&mut output).context("the output cannot be written")?;
    output.complete()?;
    tally.say();
    Ok(())
}

/// The same into a file; what an earlier run finished is not done again.
fn resumable(args: &cli::Predict, predictor: &Predictor<'_>, path: &Path) -> Result<()> {
    let mut identity = args.request.identity(predictor.model().card())?;
    identity.insert("format".to_owned(), format!("{:?}", args.format).to_lowercase());
    let mut journal = Journal::open(path, &identity)?;
    let finished = journal.finished.clone();
    let mut printer = Printer::new(args.format, Style { colour: false }).after(finished.len());
    let progress = progress::reading();
    let tell = &mut |notice: Notice<'_>| progress.show(notice);
    let done = predictor.each(&finished, tell, &mut |texts| {
        let rows = texts.examples.iter().zip(printed(&mut printer, texts)?);
        let line = |(example, row)| Ok((text_sha256(example), serde_json::to_string::<Printed>(&row)?));
        journal.add(&rows.map(line).collect::<Result<Vec<_>>>()?)
    });
    progress.finish();
    if let Err(error) = done {
        let texts = journal.finished.len();
        return journal.leave().and(Err(after_texts(error, texts, true)));
    }
    let mut tally = Tally::new(predictor);
    journal.complete(|journal, output| {
        for line in journal.results()? {
            let row: Printed = serde_json::from_str(&line?)?;
            output.write_all(row.printed.as_bytes())?;
            tally.add(&row);
        }
        printer.finish(output)
    })?;
    tally.say();
    Ok(())
}

/// A row as it is written, and what is counted of it.
#[derive(Serialize, Deserialize)]
struct Printed {
    printed: String,
    truncated: bool,
    /// Whether the label is the right one, where that is known.
    right: Option<bool>,
}

fn printed(printer: &mut Printer, texts: &PredictedTexts<'_>) -> Result<Vec<Printed>> {
    let print = |(example, prediction): (&Example, &Prediction)| {
        let mut bytes = Vec::new();
        printer.row(&mut bytes, example, prediction)?;
        let right = match (&prediction.scores, &example.label) {
            (Scores::Classes { .. }, Some(gold)) => {
                texts.card.task.meant(texts.card, gold)?;
                Some(is_right(texts.card, output::label(prediction), gold))
            }
            _ => None,
        };
        Ok(Printed { printed: String::from_utf8(bytes)?, truncated: prediction.truncated, right })
    };
    texts.examples.iter().zip(texts.predictions).map(print).collect()
}

/// What is said about a run once its rows are out.
#[derive(Debug, Default)]
struct Tally {
    max_tokens: usize,
    rows: usize,
    truncated: usize,
    first_truncated: usize,
    labelled: usize,
    right: usize,
}

impl Tally {
    fn new(predictor: &Predictor<'_>) -> Self {
        Self { max_tokens: predictor.model().card().max_tokens, ..Self::default() }
    }

    fn add(&mut self, row: &Printed) {
        self.rows += 1;
        if row.truncated {
            self.truncated += 1;
            self.first_truncated = if self.truncated == 1 { self.rows } else { self.first_truncated };
        }
        self.labelled += usize::from(row.right.is_some());
        self.right += usize::from(row.right == Some(true));
    }

    fn say(&self) {
        if self.truncated > 0 {
            let Self { rows, truncated, first_truncated: first, max_tokens: most, .. } = self;
            eprintln!(
                "warning: {truncated} of {rows} texts cut to the model's {most} tokens, the first in row {first}"
            );
        }
        if self.labelled > 0 {
            let accuracy = self.right as f64 / self.labelled as f64;
            eprintln!("accuracy {accuracy:.4} ({} of {})", self.right, self.labelled);
        }
    }
}

/// Whether the predicted label is the one that the data means.
fn is_right(card: &Card, predicted: Option<&str>, gold: &str) -> bool {
    let meant = exegete::class_index(&card.labels, gold).map(|index| &card.labels[index]);
    meant.is_some_and(|label| predicted == Some(label))
}
