use super::consistent::lengths;
use crate::Result;
use serde::{Deserialize, Serialize};

/// Named columns of numbers and words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// The heads of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
    /// What the reader must know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One entry of a [`Table`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// A number, with its standard error where it is an estimate.
    Estimate {
        /// The number.
        mean: f64,
        /// Its standard error.
        error: f64,
    },
    /// A number.
    Number(f64),
    /// A word.
    Word(String),
    /// Nothing to say.
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
