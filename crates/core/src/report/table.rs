use super::Picture;
use super::consistent::lengths;
use crate::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Named columns of numbers and words.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// What programs know it by, in snake case; empty where a table has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The heading: what the table shows.
    pub title: String,
    /// The heads of the columns.
    pub columns: Vec<String>,
    /// One list of cells a row, as long as the columns.
    pub rows: Vec<Vec<Cell>>,
    /// What the reader must know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// How the rows are drawn beside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<Picture>,
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
    /// A number with its 95 % interval.
    Interval {
        /// The estimate itself, inside the interval.
        value: f64,
        /// The lower end of the interval.
        lower: f64,
        /// The upper end of the interval.
        upper: f64,
    },
    /// A number without an error.
    Number(f64),
    /// A word or a sentence.
    Word(String),
    /// A cell with nothing to say.
    Empty,
}

impl Table {
    /// A table of these columns that has no rows yet.
    pub fn new(name: &str, title: &str, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|&column| column.to_owned()).collect();
        Self { name: name.to_owned(), title: title.to_owned(), columns, ..Self::default() }
    }

    /// One cell a column in every row; pictures of columns that there are.
    pub(super) fn consistent(&self) -> Result<()> {
        let row = |(index, row): (usize, &Vec<_>)| {
            lengths(&format!("rows[{index}]"), row.len(), "columns", self.columns.len())
        };
        self.rows.iter().enumerate().try_for_each(row)?;
        self.pictures.iter().try_for_each(|picture| self.drawn(picture))
    }

    /// Every column of a picture is one of the table.
    fn drawn(&self, picture: &Picture) -> Result<()> {
        let missing = |(_, name): &(&str, &str)| !self.columns.iter().any(|column| column == name);
        match picture.named().find(missing) {
            Some((field, name)) => {
                let name = name.escape_default();
                Err(Error::Input(format!(
                    "pictures: '{field}' names the column '{name}', which the table lacks"
                )))
            }
            None => Ok(()),
        }
    }
}
