use anyhow::{Result, bail};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The texts of a request: one that is given, or a file and how to read it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default)]
pub struct TextInput {
    /// The text, or `-` for one text a line from stdin.
    #[arg(conflicts_with = "input")]
    pub text: Option<String>,
    /// A file: .txt (a text a line), .tsv or .csv with a header, or .jsonl.
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    /// The second text of a pair; the context for a question-answering model.
    #[arg(long, value_name = "TEXT2", conflicts_with = "pair_column")]
    pub pair: Option<String>,
    /// The column that holds the text [default: the first of text, sentence, content].
    #[arg(long, value_name = "C", requires = "input")]
    pub text_column: Option<String>,
    /// The column that holds the second text of a pair.
    #[arg(long, value_name = "C", requires = "input")]
    pub pair_column: Option<String>,
    /// The column that holds the right label.
    #[arg(long, value_name = "C", requires = "input")]
    pub label_column: Option<String>,
    /// A file with the attention of each text's words, for models with --attention imposed: a JSON list of numbers a line. Of one
    /// text also the list itself.
    #[arg(long, value_name = "FILE")]
    pub weights: Option<PathBuf>,
    /// Tables have no header: columns are numbered from 1, and the text is the first.
    #[arg(long, requires = "input")]
    pub no_header: bool,
    /// What stands between the columns of a table, one character or tab [default: a tab in .tsv, a comma in .csv].
    #[arg(long, value_name = "D", requires = "input")]
    pub delimiter: Option<String>,
}

impl TextInput {
    /// Names the last column of a table without a header.
    pub(super) const LAST_COLUMN: &str = "last";

    /// The list that stands in the place of a file of weights.
    pub(super) fn own_weights(&self) -> Option<&str> {
        self.weights.as_deref().and_then(Path::to_str).filter(|weights| weights.starts_with('['))
    }

    /// The file of weights, where there is one.
    pub(super) fn weights_file(&self) -> Option<&Path> {
        self.weights.as_deref().filter(|_| self.own_weights().is_none())
    }

    /// An error where there is nothing to read, or two things.
    pub(super) fn check(&self) -> Result<()> {
        match (&self.text, &self.input) {
            (None, None) => bail!("there is no text; give one, `-` for lines from stdin, or --input FILE"),
            (Some(_), Some(_)) => bail!("a text and --input cannot be used together"),
            _ => Ok(()),
        }
    }

    /// Whether they are pairs.
    pub(super) fn pairs(&self) -> bool {
        self.pair.is_some() || self.pair_column.is_some()
    }

    /// Whether there may be many of them: a file, or lines from stdin.
    pub fn many(&self) -> bool {
        self.input.is_some() || self.text.as_deref() == Some("-")
    }
}
