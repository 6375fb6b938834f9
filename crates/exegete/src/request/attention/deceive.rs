//! The request of `exegete attention deceive`: models that are trained to hide from their attention what they read.

mod arms;
mod measure;
mod published;
mod rows;
mod run;

pub use run::run;

use super::super::Resources;
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What `exegete attention deceive` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct AttentionDeceiveRequest {
    /// Rows to learn from: .tsv or .csv with a header, or .jsonl.
    #[arg(long, value_name = "FILE", required = true)]
    pub train: Option<PathBuf>,
    /// Rows to measure on, and to choose each model's best epoch by.
    #[arg(long, value_name = "FILE", required = true)]
    pub dev: Option<PathBuf>,
    /// The column that holds the text [default: the first of text, sentence, content; source with --kind seq2seq].
    #[arg(long, value_name = "C")]
    pub text_column: Option<String>,
    /// The column that holds the second text of a pair [default: none; target with --kind seq2seq].
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
    /// Train a small model: none, average, cnn, rnn, gru, lstm, atae, flan, or seq2seq.
    #[arg(long, value_name = "KIND", conflicts_with = "model")]
    pub kind: Option<String>,
    /// The folder of the transformer to start from [default: where there is no --kind, the model that is part of the
    /// program].
    #[arg(long, value_name = "DIR")]
    pub model: Option<PathBuf>,
    /// How a small model weighs words: additive or dot; of seq2seq bahdanau or luong [default: additive; seq2seq bahdanau].
    #[arg(long, value_name = "A")]
    pub attention: Option<String>,
    /// What attention must not show: words with commas between them, a file with one a line, or truth for the column truth of generated
    /// data (of seq2seq the column alignment).
    #[arg(long, value_name = "WORDS|FILE|truth")]
    pub impermissible: Option<String>,
    /// Joins a sentence of this treebank to every text, whose own words are then what attention must not show.
    #[arg(long, value_name = "FILE.conllu", conflicts_with = "impermissible")]
    pub join: Option<PathBuf>,
    /// What of a transformer's heads is penalised: their mean, or the worst of them.
    #[arg(long, value_enum, default_value_t)]
    pub penalty: DeceivePenalty,
    /// How much the penalty counts beside the task, one model each.
    #[arg(long, value_name = "A,B,…", default_value_t = Self::default().lambda)]
    pub lambda: String,
    /// In every layer, let impermissible words and the others read nothing of each other.
    #[arg(long)]
    pub restricted: bool,
    /// How many times everything is trained, with seeds that follow each other.
    #[arg(long, value_name = "N", default_value_t = Self::default().seeds)]
    pub seeds: usize,
    /// On how many texts of --dev it is measured what notices the deception; 0 for none [default: 100; 20 of a transformer].
    #[arg(long, value_name = "N")]
    pub texts: Option<usize>,
    /// The width of word vectors [default: that of --vectors, else 128; seq2seq 64].
    #[arg(long, value_name = "N")]
    pub embedding: Option<usize>,
    /// The width of a state in one direction [default: 64; seq2seq 128].
    #[arg(long, value_name = "N")]
    pub hidden: Option<usize>,
    /// Word vectors to start from, as GloVe writes them [default: random].
    #[arg(long, value_name = "FILE")]
    pub vectors: Option<PathBuf>,
    /// How often every row is seen at most [default: 30; 4 of a transformer].
    #[arg(long, value_name = "N")]
    pub epochs: Option<usize>,
    /// How many rows make a step [default: 16; seq2seq 128].
    #[arg(long, value_name = "N")]
    pub batch: Option<usize>,
    /// The learning rate at its highest [default: 5e-3; seq2seq 1e-3; of a transformer 2e-5].
    #[arg(long, value_name = "X")]
    pub rate: Option<f64>,
    /// Stop after this many epochs in a row without a lower loss on --dev, penalty included [default: 5; seq2seq 2; of a
    /// transformer never].
    #[arg(long, value_name = "N")]
    pub patience: Option<usize>,
    /// The first seed of everything random.
    #[arg(long, value_name = "N", default_value_t)]
    pub seed: u64,
    /// The folder that keeps every trained model; a killed run goes on there [default: with -o FILE the folder
    /// FILE.unfinished.models, which is removed when the report is written].
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
    /// What the run may use.
    #[serde(flatten)]
    #[command(flatten)]
    pub resources: Resources,
}

impl Default for AttentionDeceiveRequest {
    fn default() -> Self {
        Self {
            train: None,
            dev: None,
            text_column: None,
            pair_column: None,
            label_column: None,
            no_header: false,
            delimiter: None,
            kind: None,
            model: None,
            attention: None,
            impermissible: None,
            join: None,
            penalty: DeceivePenalty::default(),
            lambda: "0,0.1,1".to_owned(),
            restricted: false,
            seeds: 5,
            texts: None,
            embedding: None,
            hidden: None,
            vectors: None,
            epochs: None,
            batch: None,
            rate: None,
            patience: None,
            seed: 0,
            work: None,
            resources: Resources::default(),
        }
    }
}

/// What of a transformer's heads is penalised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum DeceivePenalty {
    /// The mean over heads.
    #[default]
    Mean,
    /// The largest of any head.
    Worst,
}

/// The most seeds that are no slip.
const MOST_SEEDS: usize = 1_000;

impl AttentionDeceiveRequest {
    /// Whether a model that writes is trained.
    fn writes(&self) -> bool {
        self.kind.as_deref() == Some("seq2seq")
    }

    /// The weights of the penalty, in rising order.
    fn lambdas(&self) -> Result<Vec<f64>> {
        let number = |word: &str| {
            let word = word.trim();
            let number = word.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
            number.ok_or_else(|| anyhow::anyhow!("--lambda '{word}' is no number from 0 up; write 0,0.1,1"))
        };
        let mut found = self.lambda.split(',').map(number).collect::<Result<Vec<f64>>>()?;
        found.sort_by(f64::total_cmp);
        match found.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => bail!("--lambda names {} twice", pair[0]),
            None => Ok(found),
        }
    }

    /// What can be refused before anything is read.
    fn check(&self) -> Result<()> {
        self.resources.check()?;
        if !(1..=MOST_SEEDS).contains(&self.seeds) {
            bail!("--seeds {}: expected a number from 1 to {MOST_SEEDS}", self.seeds);
        }
        let of_small = [
            ("--attention", self.attention.is_some()),
            ("--embedding", self.embedding.is_some()),
            ("--hidden", self.hidden.is_some()),
            ("--vectors", self.vectors.is_some()),
        ];
        match of_small.iter().find(|(_, given)| *given) {
            Some((flag, _)) if self.kind.is_none() => {
                bail!("{flag} describes a small model; give --kind too")
            }
            _ => {}
        }
        if self.kind.is_some() && self.restricted {
            bail!("--restricted is for transformers, whose words read each other; leave out --kind");
        }
        if self.kind.is_some() && self.penalty == DeceivePenalty::Worst {
            bail!("--penalty worst is for the heads of transformers; a small model has one attention");
        }
        if self.writes() && self.impermissible.as_deref() != Some("truth") {
            bail!(
                "--kind seq2seq hides the source word that each target word comes from; give --impermissible truth and a column alignment"
            );
        }
        if self.no_header && self.impermissible.as_deref() == Some("truth") {
            bail!(
                "--impermissible truth reads a column by its name, which --no-header says that there is none of; \
                 name words, or give the tables a header"
            );
        }
        if self.impermissible.is_none() && self.join.is_none() {
            bail!(
                "nothing is impermissible; give --impermissible WORDS, FILE or truth, or --join FILE.conllu"
            );
        }
        if self.join.is_some() && self.pair_column.is_some() {
            bail!("--join makes one text of two sentences; leave out --pair-column");
        }
        self.lambdas().map(drop)
    }

    /// The request without what changes no number: threads, memory, and where models are kept.
    pub fn meaning(&self) -> Self {
        Self { resources: Resources::default(), work: None, ..self.clone() }
    }
}
