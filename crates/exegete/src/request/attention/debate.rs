//! The request of `exegete attention debate`: trains what is needed, runs every experiment and says what attention is worth.

mod generated;
mod models;
mod page;
mod run;
#[cfg(test)]
mod tests;

pub use models::DebatedModel;
pub use run::{AttentionDebate, WorkFolder, open, run};

use super::super::Resources;
use crate::methods::debate::seeds::LEAST_SEEDS;
use crate::methods::nearest;
use crate::small::KINDS;
use anyhow::{Result, bail};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// More seeds than this are a slip.
const MOST_SEEDS: usize = 100;
/// More generated rows than this are no first look any more.
const MOST_ROWS: usize = 1_000_000;

/// What `exegete attention debate` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct AttentionDebateRequest {
    /// Rows to learn from: .tsv or .csv with a header, or .jsonl [default: generated rows whose deciding word is known].
    #[arg(long, value_name = "FILE", requires = "dev")]
    pub train: Option<PathBuf>,
    /// Rows to choose epochs by and to test on.
    #[arg(long, value_name = "FILE", requires = "train")]
    pub dev: Option<PathBuf>,
    /// How many rows are generated to learn from, where no files are given; a quarter as many are tested [default: 2000].
    #[arg(long, value_name = "N", conflicts_with = "train")]
    pub rows: Option<usize>,
    /// The column that holds the text [default: the first of text, sentence, content].
    #[arg(long, value_name = "C")]
    pub text_column: Option<String>,
    /// The column that holds the second text of a pair.
    #[arg(long, value_name = "C")]
    pub pair_column: Option<String>,
    /// The column that holds the label [default: label].
    #[arg(long, value_name = "C")]
    pub label_column: Option<String>,
    /// Tables have no header: columns are numbered from 1, the text is the first and the label the last.
    #[arg(long)]
    pub no_header: bool,
    /// What stands between the columns of a table, one character or tab [default: a tab in .tsv, a comma in .csv].
    #[arg(long, value_name = "D")]
    pub delimiter: Option<String>,
    /// The class of F1 [default: the last].
    #[arg(long, value_name = "LABEL")]
    pub positive: Option<String>,
    /// The kinds of small model, each with its attention behind a colon (additive unless said); the verdict is about the first
    /// [default: lstm,average,cnn,lstm:dot; for generated rows none,lstm].
    #[arg(long, value_name = "KIND[:ATTENTION],…", value_delimiter = ',')]
    pub kinds: Option<Vec<String>>,
    /// How many models of each kind are trained, from different random numbers.
    #[arg(long, value_name = "N", default_value_t = Self::default().seeds)]
    pub seeds: usize,
    /// Word vectors to start from, as `train` reads them [default: random].
    #[arg(long, value_name = "FILE")]
    pub vectors: Option<PathBuf>,
    /// The width of word vectors [default: that of --vectors, else that of `train`; for generated rows 50].
    #[arg(long, value_name = "N")]
    pub embedding: Option<usize>,
    /// The width of a state in one direction [default: that of `train`; for generated rows 32].
    #[arg(long, value_name = "N")]
    pub hidden: Option<usize>,
    /// How often every row is seen [default: that of `train`].
    #[arg(long, value_name = "N")]
    pub epochs: Option<usize>,
    /// Texts with fewer words are left out of the experiments.
    #[arg(long, value_name = "N", default_value_t = Self::default().min_words)]
    pub min_words: usize,
    /// The first of the seeds.
    #[arg(long, value_name = "N", default_value_t)]
    pub seed: u64,
    /// What the run may use.
    #[serde(flatten)]
    #[command(flatten)]
    pub resources: Resources,
}

impl Default for AttentionDebateRequest {
    fn default() -> Self {
        Self {
            train: None,
            dev: None,
            rows: None,
            text_column: None,
            pair_column: None,
            label_column: None,
            no_header: false,
            delimiter: None,
            positive: None,
            kinds: None,
            seeds: 5,
            vectors: None,
            embedding: None,
            hidden: None,
            epochs: None,
            min_words: 6,
            seed: 0,
            resources: Resources::default(),
        }
    }
}

impl AttentionDebateRequest {
    /// Whether the rows are made and not read.
    pub(super) fn generates(&self) -> bool {
        self.train.is_none()
    }

    /// What cannot be meant, before any row is read.
    pub(super) fn check(&self) -> Result<()> {
        if self.train.is_some() != self.dev.is_some() {
            bail!("--train and --dev belong together; leave out both for generated rows");
        }
        if !(LEAST_SEEDS..=MOST_SEEDS).contains(&self.seeds) {
            bail!(
                "--seeds {}: expected at least {LEAST_SEEDS}, as fewer have no interval, and at most {MOST_SEEDS}",
                self.seeds
            );
        }
        if self.seed.checked_add(self.seeds as u64 + 1).is_none() {
            bail!("--seed {}: leaves no room for the seeds that follow", self.seed);
        }
        if self.rows.is_some() && !self.generates() {
            bail!("--rows is for generated rows; leave it out, or --train and --dev");
        }
        if let Some(rows) = self.rows.filter(|rows| !(generated::LEAST_ROWS..=MOST_ROWS).contains(rows)) {
            bail!("--rows {rows}: expected {} to {MOST_ROWS}", generated::LEAST_ROWS);
        }
        let columns = [
            ("--text-column", &self.text_column),
            ("--pair-column", &self.pair_column),
            ("--label-column", &self.label_column),
            ("--delimiter", &self.delimiter),
        ];
        let named = columns.iter().find(|(_, column)| column.is_some()).map(|(flag, _)| *flag);
        let named = named.or(self.no_header.then_some("--no-header"));
        match named.filter(|_| self.generates()) {
            Some(flag) => bail!("{flag} is for files; give --train and --dev too"),
            None => self.resources.check(),
        }
    }

    /// The kinds that are trained; the first is the base.
    pub(super) fn kinds(&self) -> Result<Vec<DebatedKind>> {
        let default = if self.generates() { &GENERATED_KINDS[..] } else { &FILE_KINDS };
        let default = || default.iter().map(|&kind| kind.to_owned()).collect();
        let words: Vec<String> = self.kinds.clone().unwrap_or_else(default);
        let kinds = words.iter().map(|word| DebatedKind::parse(word.trim())).collect::<Result<Vec<_>>>()?;
        match (1..kinds.len()).find(|&i| kinds[..i].contains(&kinds[i])) {
            Some(twice) => bail!("--kinds names {} twice", kinds[twice]),
            None if kinds.is_empty() => bail!("--kinds names no kind"),
            None => Ok(kinds),
        }
    }

    /// The request without what changes no number: threads and memory.
    pub(crate) fn meaning(&self) -> Self {
        Self { resources: Resources::default(), ..self.clone() }
    }
}

const FILE_KINDS: [&str; 4] = ["lstm", "average", "cnn", "lstm:dot"];
const GENERATED_KINDS: [&str; 2] = ["none", "lstm"];
/// Kinds that weigh no words of a text that is classified.
const WITHOUT_ATTENTION: [&str; 2] = ["kim", "seq2seq"];

/// A kind of small model with the attention that it is trained with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DebatedKind {
    /// The kind by its name, such as lstm.
    pub kind: String,
    /// The attention by its name: additive or dot.
    pub attention: String,
}

impl DebatedKind {
    fn parse(word: &str) -> Result<Self> {
        let (kind, attention) = word.split_once(':').unwrap_or((word, ADDITIVE));
        let weighing = || KINDS.into_iter().filter(|kind| !WITHOUT_ATTENTION.contains(kind));
        if WITHOUT_ATTENTION.contains(&kind) {
            bail!("--kinds {word}: {kind} has no attention over the words of a text that is classified");
        }
        if !KINDS.contains(&kind) {
            let known = weighing().collect::<Vec<_>>().join(", ");
            let near = nearest(kind, weighing()).map(|near| format!("did you mean '{near}'? "));
            bail!("--kinds: there is no kind '{kind}'; {}kinds are {known}", near.unwrap_or_default());
        }
        match attention {
            ADDITIVE | "dot" => Ok(Self { kind: kind.to_owned(), attention: attention.to_owned() }),
            "uniform" | "none" | "imposed" => bail!(
                "--kinds {word}: a model with attention {attention} learns no weights to test; write additive or dot"
            ),
            other => bail!("--kinds {word}: there is no attention '{other}'; write additive or dot"),
        }
    }
}

const ADDITIVE: &str = "additive";

impl fmt::Display for DebatedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.attention.as_str() {
            ADDITIVE => f.write_str(&self.kind),
            attention => write!(f, "{}:{attention}", self.kind),
        }
    }
}
