//! What all commands about the attention of a corpus are told, and how they read it.

use super::super::input::TextReader;
use super::super::{AddressOptions, Listener, Read, Resources, Stop, TextInput, model, record};
use crate::report::{Item, Provenance, RecordedFile, Report, SCHEMA};
use crate::{Driver, Encoded, Example, Model};
use anyhow::{Result, bail};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// The texts, the model, and the seed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default)]
pub struct CorpusOptions {
    /// The texts: .txt (a text a line), .tsv or .csv with a header, or .jsonl.
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    /// The column that holds the text [default: the first of text, sentence, content].
    #[arg(long, value_name = "C")]
    pub text_column: Option<String>,
    /// The column that holds the second text of a pair.
    #[arg(long, value_name = "C")]
    pub pair_column: Option<String>,
    /// The column that holds the right label.
    #[arg(long, value_name = "C")]
    pub label_column: Option<String>,
    /// The folder of a model [default: the model for English sentiment that is part of the program].
    #[arg(long, value_name = "MODEL")]
    pub model: Option<PathBuf>,
    /// Tables have no header: columns are numbered from 1, and the text is the first.
    #[arg(long)]
    pub no_header: bool,
    /// What stands between the columns of a table, one character or tab [default: a tab in .tsv, a comma in .csv].
    #[arg(long, value_name = "D")]
    pub delimiter: Option<String>,
    /// Only the first texts of the file.
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// The seed of everything random.
    #[arg(long, value_name = "N", default_value_t)]
    pub seed: u64,
}

impl CorpusOptions {
    fn input(&self) -> TextInput {
        let Self { input, text_column, pair_column, label_column, no_header, delimiter, .. } = self.clone();
        TextInput {
            input,
            text_column,
            pair_column,
            label_column,
            no_header,
            delimiter,
            ..TextInput::default()
        }
    }
}

/// A run over a corpus with its model open.
pub(super) struct CorpusRun<'a> {
    /// The texts and the model as they were asked for.
    pub(super) options: &'a CorpusOptions,
    resources: &'a Resources,
    /// The model, whose inside can be read.
    pub(super) model: Arc<dyn Model>,
    /// What runs the rows and counts them.
    pub(super) driver: Driver,
    recorded: Vec<RecordedFile>,
    started: Instant,
}

/// What makes texts the same beside request and model: fields and labels, as they were read.
pub(super) fn contents(texts: &[LabelledText]) -> Vec<String> {
    texts.iter().map(|text| format!("{:?} {:?}", text.encoded.fields, text.label)).collect()
}

/// A text with its label, if it has any.
pub(super) struct LabelledText {
    /// The text as the model reads it.
    pub(super) encoded: Arc<Encoded>,
    /// What it should be.
    pub(super) label: Option<String>,
}

impl<'a> CorpusRun<'a> {
    /// Opens the model; `files` are those whose content the report remembers.
    pub(super) fn open(
        (options, resources): (&'a CorpusOptions, &'a Resources),
        files: &[Read<'_>],
        stop: &Stop,
        tell: Listener<'_>,
    ) -> Result<Self> {
        let (pairs, address) = (options.pair_column.is_some(), AddressOptions::default());
        let model = model::load(options.model.as_deref(), resources, &address, pairs, tell)?;
        let mut driver = Driver::new(resources.memory());
        driver.stop = stop.clone();
        let recorded = record::files(files)?;
        Ok(Self { options, resources, model, driver, recorded, started: Instant::now() })
    }

    /// The texts of `--input`, of which there must be one.
    pub(super) fn texts(&mut self, stop: &Stop) -> Result<Vec<LabelledText>> {
        let limit = self.options.limit;
        let texts = self.options.input();
        let mut source = TextReader::open_until(&texts, self.model.card().task, stop)?;
        let mut found = Vec::new();
        while limit.is_none_or(|limit| found.len() < limit)
            && let Some(example) = source.read()?
        {
            found.push(self.encoded(&example)?);
        }
        self.recorded.extend(source.recorded_stdin());
        if found.is_empty() { bail!("{}: holds no text", source.name()) } else { Ok(found) }
    }

    /// A text as the model's tokens.
    pub(super) fn encoded(&self, example: &Example) -> Result<LabelledText> {
        Ok(LabelledText { encoded: self.model.encoded(example)?.into(), label: example.label.clone() })
    }

    /// The report of what was found.
    pub(super) fn report(&self, command: &str, request: &impl Serialize, items: Vec<Item>) -> Report {
        let request = record::recorded(command, request, self.recorded.clone());
        let (seconds, spent) = (self.started.elapsed().as_secs_f64(), self.driver.spent());
        let (seed, threads) = (self.options.seed, self.resources.count());
        let provenance = Provenance::new(self.model.card(), seed, threads, seconds, spent);
        Report { schema: SCHEMA.to_owned(), provenance, request, items }
    }
}
