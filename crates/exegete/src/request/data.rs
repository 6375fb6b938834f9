//! The request of `exegete data make`: texts whose label and right explanation are known.

use super::{Stop, check_stop};
use crate::methods::Settings;
use crate::methods::data::{GeneratedRow, Generator, find_set};
use crate::methods::parameter::grouped;
use anyhow::{Context, Result, ensure};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// More rows than anybody reads; at about a hundred bytes each a file of a gigabyte.
const MOST_ROWS: usize = 10_000_000;

/// What `exegete data make` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct DataRequest {
    /// The set; without one the sets are listed.
    pub name: Option<String>,
    /// How many rows; a longer file begins with the shorter one.
    #[arg(long, value_name = "N", default_value_t = Self::default().rows)]
    pub rows: usize,
    /// The seed of everything random.
    #[arg(long, value_name = "N", default_value_t = Self::default().seed)]
    pub seed: u64,
    /// How many words copy, reverse and bigram_flip draw from.
    #[arg(long, value_name = "N", default_value_t = Self::default().vocabulary)]
    pub vocabulary: usize,
    /// A setting of the set, such as min=5.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

impl Default for DataRequest {
    fn default() -> Self {
        Self { name: None, rows: 2000, seed: 0, vocabulary: 100, set: Vec::new() }
    }
}

/// Makes the rows, and hands them over one after the other.
pub fn run(
    request: &DataRequest,
    stop: &Stop,
    sink: &mut dyn FnMut(&GeneratedRow) -> Result<()>,
) -> Result<()> {
    open(request)?.each(stop, sink)
}

/// Checks the request; what it returns makes the rows.
pub fn open(request: &DataRequest) -> Result<MadeData> {
    let name = request.name.as_deref().context("there is no set to make; name one")?;
    let (set, rows) = (find_set(name)?, request.rows);
    ensure!(
        (1..=MOST_ROWS).contains(&rows),
        "rows={rows}: must be a whole number from 1 to {}",
        grouped(MOST_ROWS)
    );
    // A vocabulary that was asked for and is of no use is refused as any other setting is.
    let has_vocabulary = set.parameters.iter().any(|parameter| parameter.name == "vocabulary");
    let asked = has_vocabulary || request.vocabulary != DataRequest::default().vocabulary;
    let vocabulary = asked.then(|| format!("vocabulary={}", request.vocabulary));
    let words: Vec<String> = vocabulary.into_iter().chain(request.set.iter().cloned()).collect();
    Ok(MadeData { generator: Generator::new(set, Settings::parse(&words)?, request.seed)?, rows })
}

/// Rows that are made one after another as they are asked for.
#[derive(Debug)]
pub struct MadeData {
    /// What makes a row by its number.
    pub generator: Generator,
    rows: usize,
}

impl MadeData {
    /// Hands every row to a sink, in order.
    pub fn each(&self, stop: &Stop, sink: &mut dyn FnMut(&GeneratedRow) -> Result<()>) -> Result<()> {
        (0..self.rows as u64).try_for_each(|number| {
            check_stop(stop)?;
            sink(&self.generator.row(number))
        })
    }
}
