//! The request of `exegete attention test`: the published experiments on a model and a file of texts.

mod run;

pub use super::arms::TrainedArms;
pub use run::{AttentionTest, open, run};

use super::super::{Resources, TextInput};
use crate::methods::debate::{Experiment, PlaceChoice};
use anyhow::Result;
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What `exegete attention test` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct AttentionTestRequest {
    /// The texts: .txt (a text a line), .tsv or .csv with a header, or .jsonl.
    #[arg(long, value_name = "FILE", required = true)]
    pub input: Option<PathBuf>,
    /// The column that holds the text [default: the first of text, sentence, content].
    #[arg(long, value_name = "C")]
    pub text_column: Option<String>,
    /// The column that holds the second text of a pair.
    #[arg(long, value_name = "C")]
    pub pair_column: Option<String>,
    /// Tables have no header: columns are numbered from 1, and the text is the first.
    #[arg(long)]
    pub no_header: bool,
    /// What stands between the columns of a table, one character or tab [default: a tab in .tsv, a comma in .csv].
    #[arg(long, value_name = "D")]
    pub delimiter: Option<String>,
    /// The folder of a small model or of a transformer [default: the model for English sentiment that is part of the
    /// program].
    #[arg(long, value_name = "MODEL")]
    pub model: Option<PathBuf>,
    /// Only these experiments: correlation, permutation, adversary, concentration, uniform, seeds, guide, adversarial_training, erase, share [default: all that can run].
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub only: Option<Vec<String>>,
    /// Rows to train models on beside this one, with the columns that it was trained by: for uniform, seeds, guide and
    /// adversarial_training.
    #[arg(long, value_name = "FILE", requires = "dev")]
    pub train: Option<PathBuf>,
    /// Rows to measure those models on.
    #[arg(long, value_name = "FILE", requires = "train")]
    pub dev: Option<PathBuf>,
    /// How many seeds they are trained with, this model's own counted [default: 5].
    #[arg(long, value_name = "N", requires = "train")]
    pub seeds: Option<usize>,
    /// Which layer of a transformer, from 0 [default: the last].
    #[arg(long, value_name = "N")]
    pub layer: Option<usize>,
    /// Which heads of a transformer: 0,3 or all.
    #[arg(long, value_name = "LIST", default_value_t = Self::default().head)]
    pub head: String,
    /// Whose attention of a transformer is read.
    #[arg(long, value_enum, default_value_t)]
    pub row: AttentionRow,
    /// What weights are given to, where a model weighs words and sentences.
    #[arg(long, value_enum, default_value_t)]
    pub level: AttentionLevel,
    /// Texts with fewer words are left out.
    #[arg(long, value_name = "N", default_value_t = Self::default().min_words)]
    pub min_words: usize,
    /// Only the first texts of the file.
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// The seed of everything random.
    #[arg(long, value_name = "N", default_value_t)]
    pub seed: u64,
    /// What the run may use.
    #[serde(flatten)]
    #[command(flatten)]
    pub resources: Resources,
}

impl Default for AttentionTestRequest {
    fn default() -> Self {
        Self {
            input: None,
            text_column: None,
            pair_column: None,
            no_header: false,
            delimiter: None,
            model: None,
            only: None,
            train: None,
            dev: None,
            seeds: None,
            layer: None,
            head: "all".to_owned(),
            row: AttentionRow::default(),
            level: AttentionLevel::default(),
            min_words: 6,
            limit: None,
            seed: 0,
            resources: Resources::default(),
        }
    }
}

/// Whose attention of a transformer is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum AttentionRow {
    /// The first token's, which classifiers read.
    #[default]
    Cls,
    /// The mean over all words.
    Mean,
}

/// What weights are given to, where a model weighs words and sentences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum AttentionLevel {
    /// Sentences, one weight each.
    #[default]
    Sentence,
    /// Words, each with its weight times that of its sentence.
    Word,
}

impl AttentionTestRequest {
    /// The experiments that are asked for, and whether by name.
    pub(super) fn asked(&self) -> Result<Vec<Experiment>> {
        match &self.only {
            None => Ok(Experiment::ALL.to_vec()),
            Some(names) => {
                let found =
                    names.iter().map(|name| Experiment::find(name)).collect::<crate::Result<Vec<_>>>()?;
                Ok(Experiment::ALL.into_iter().filter(|known| found.contains(known)).collect())
            }
        }
    }

    pub(super) fn choice(&self) -> Result<PlaceChoice> {
        let number = |word: &str| {
            let word = word.trim();
            word.parse().map_err(|_| anyhow::anyhow!("--head '{word}' is no head; write 0,3 or all"))
        };
        let heads = match self.head.trim() {
            "all" => None,
            list => Some(list.split(',').map(number).collect::<Result<Vec<usize>>>()?),
        };
        Ok(PlaceChoice {
            layer: self.layer,
            heads,
            mean_row: self.row == AttentionRow::Mean,
            words_of_sentences: self.level == AttentionLevel::Word,
        })
    }

    /// The request without what changes no number: threads and memory.
    pub fn meaning(&self) -> Self {
        Self { resources: Resources::default(), ..self.clone() }
    }

    pub(super) fn texts(&self) -> TextInput {
        TextInput {
            input: self.input.clone(),
            text_column: self.text_column.clone(),
            pair_column: self.pair_column.clone(),
            no_header: self.no_header,
            delimiter: self.delimiter.clone(),
            ..TextInput::default()
        }
    }
}
