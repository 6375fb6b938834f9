use super::consistent::lengths;
use crate::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Named columns of numbers and words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// The heading: what the table shows.
    pub title: String,
    /// The heads of the columns.
    pub columns: Vec<String>,
    /// One list of cells a row, as long as the columns.
    pub rows: Vec<Vec<Cell>>,
    /// What the reader must know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One entry of a [`Table`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Cell {
    /// A number, with its standard error where it is an estimate.
    Estimate {
        /// The mean over texts.
        mean: f64,
        /// The standard error of that mean.
        error: f64,
    },
    /// A number without an error.
    Number(f64),
    /// A word or a sentence.
    Word(String),
    /// A cell with nothing to say.
    Empty,
}

impl Table {
    /// One cell a column in every row.
    pub(super) fn consistent(&self) -> Result<()> {
        let row = |(index, row): (usize, &Vec<_>)| {
            lengths(&format!("rows[{index}]"), row.len(), "columns", self.columns.len())
        };
        self.rows.iter().enumerate().try_for_each(row)
    }
}
