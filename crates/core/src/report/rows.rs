use super::{Picture, ReportRow};
use crate::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One object a text, unit, head or word, each with the same fields.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rows {
    /// What programs know it by, in snake case.
    pub name: String,
    /// What it shows, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The objects, in the order in which they are shown.
    pub rows: Vec<ReportRow>,
    /// What was left out and why, and what else the reader must know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// How the rows are drawn beside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<Picture>,
}

impl Rows {
    /// The fields of all objects, in the order in which they first occur.
    pub fn columns(&self) -> Vec<&str> {
        let mut columns: Vec<&str> = Vec::new();
        for (key, _) in self.rows.iter().flat_map(|row| &row.0) {
            if !columns.contains(&key.as_str()) {
                columns.push(key);
            }
        }
        columns
    }

    /// A report's item without a name could be found by nobody.
    pub(super) fn consistent(&self) -> Result<()> {
        if self.name.is_empty() {
            return Err(Error::Input("an item of kind 'rows' has no 'name'".to_owned()));
        }
        Ok(())
    }
}
