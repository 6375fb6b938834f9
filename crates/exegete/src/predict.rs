//! `exegete predict`: examples in, predictions out, a chunk at a time.

use crate::cli;
use crate::input::Source;
use crate::output::{self, Output, Printer, Style};
use crate::{model, progress};
use anyhow::{Context, Result, bail};
use exegete::{Card, Driver, Example, Prediction, Scores};
use std::io::Write;

/// How many rows are read, predicted and written together. Packed batches need no sorting by length, so this only
/// has to be large enough to fill the driver's batches.
const CHUNK_ROWS: usize = 256;

/// Runs the command.
pub(crate) fn run(args: &cli::Predict) -> Result<()> {
    let path = output::destination(args.output.as_deref(), &args.reads())?;
    let model = model::load(args.model.as_deref(), &args.resources, &args.remote, args.texts.pairs())?;
    let driver = Driver::new(args.resources.memory());
    let mut source = Source::open(&args.texts.ask(), model.card().task)?;
    let mut output = Output::open(path)?;
    let colour = output.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let mut printer = Printer::new(args.format, Style { colour });
    let mut tally = Tally::default();
    let progress = progress::bytes(&source);
    loop {
        let examples = source.chunk(CHUNK_ROWS)?;
        if examples.is_empty() {
            break;
        }
        let predictions = exegete::predict(&driver, &*model, &examples)?;
        let written = progress.suspend(|| write(&mut printer, &mut output, &examples, &predictions));
        written.context("the output cannot be written")?;
        tally.add(model.card(), &examples, &predictions);
        progress.set_position(source.bytes());
    }
    progress.finish_and_clear();
    if tally.rows == 0 {
        bail!("{}: holds no text", source.name());
    }
    printer.finish(&mut output).context("the output cannot be written")?;
    output.complete()?;
    tally.say(model.card());
    Ok(())
}

fn write(
    printer: &mut Printer,
    output: &mut Output,
    examples: &[Example],
    predictions: &[Prediction],
) -> Result<()> {
    for (example, prediction) in examples.iter().zip(predictions) {
        printer.row(output, example, prediction)?;
    }
    Ok(output.flush()?)
}

/// What is said about a run once its rows are out.
#[derive(Debug, Default)]
struct Tally {
    rows: usize,
    truncated: usize,
    first_truncated: usize,
    labelled: usize,
    right: usize,
}

impl Tally {
    fn add(&mut self, card: &Card, examples: &[Example], predictions: &[Prediction]) {
        for (example, prediction) in examples.iter().zip(predictions) {
            self.rows += 1;
            if prediction.truncated {
                self.truncated += 1;
                self.first_truncated = if self.truncated == 1 { self.rows } else { self.first_truncated };
            }
            if let (Scores::Classes(_), Some(gold)) = (&prediction.scores, &example.label) {
                self.labelled += 1;
                self.right += usize::from(is_right(card, output::label(prediction), gold));
            }
        }
    }

    fn say(&self, card: &Card) {
        if self.truncated > 0 {
            let Self { rows, truncated, first_truncated: first, .. } = self;
            let most = card.max_tokens;
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
