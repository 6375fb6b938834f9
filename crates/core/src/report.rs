//! What every method returns and every renderer takes: schema `exegete.report/1`.

mod attribution;
mod checks;
mod consistent;
mod edits;
mod judgement;
mod map;
pub mod number;
mod picture;
mod pieces;
mod record;
mod recorded;
mod rows;
mod rule;
mod schema;
mod sense;
mod table;
mod verdict;

pub use attribution::Attribution;
pub use checks::{
    AgainstChance, ChanceVerdict, Checks, Completeness, Curve, Erasure, Flip, Hiding, Infidelity, LayerSum,
    Randomisation, RankAgreement, ReluSwap, Sensitivity, Stability, UnitDrop,
};
pub use edits::{Chance, Edited, Edits, Swap};
pub use judgement::Judgement;
pub use map::{Map, MapLayer, MatrixAxes, Spread};
pub use picture::{Picture, Shape};
pub use pieces::{TokenText, UnitText};
pub use record::ReportRow;
pub use recorded::{RecordedFile, RecordedRequest};
pub use rows::Rows;
pub use rule::{Bounded, Rule, RuleStep};
pub use schema::json_schema;
pub use sense::Sense;
pub use table::{Cell, Table};
pub use verdict::{Finding, Verdict};

use crate::{Card, Field, Result, Scores, Spent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema of a [`Report`].
pub const SCHEMA: &str = "exegete.report/1";

/// One or more answers with where they came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// The name and version of this schema.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// Which program, model, seed and machine settings made the report, and what it cost.
    pub provenance: Provenance,
    /// What was asked; reports of other programs and earlier versions lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RecordedRequest>,
    /// The answers, in the order of methods within targets.
    pub items: Vec<Item>,
}

/// What made a report, and what it cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// The version of exegete that wrote it.
    pub version: String,
    /// The model that was asked.
    pub model: ModelName,
    /// The seed of all random numbers, a whole number from 0 up; the same seed gives the same numbers again.
    pub seed: u64,
    /// How many threads were used.
    pub threads: usize,
    /// From the request to the report, without opening the model.
    pub seconds: f64,
    /// Rows that were asked for, those that were remembered included.
    #[serde(default)]
    pub asked_rows: usize,
    /// How many rows were run forward through the model.
    pub forward_rows: usize,
    /// How many rows were run backward through the model, for gradients.
    pub backward_rows: usize,
}

/// Which model a report is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelName {
    /// What the user calls it.
    pub name: String,
    /// Its architecture, such as bert.
    pub family: String,
    /// A hash of its weights and of what changes their meaning.
    pub fingerprint: String,
}

impl From<&Card> for ModelName {
    fn from(card: &Card) -> Self {
        let Card { name, family, fingerprint, .. } = card.clone();
        Self { name, family, fingerprint }
    }
}

impl Provenance {
    /// What a driver spent on a model.
    pub fn new(card: &Card, seed: u64, threads: usize, seconds: f64, spent: Spent) -> Self {
        let Spent { forward_rows, backward_rows, remembered_rows, .. } = spent;
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let (model, asked_rows) = (card.into(), forward_rows + remembered_rows);
        Self { version, model, seed, threads, seconds, asked_rows, forward_rows, backward_rows }
    }
}

/// One answer, by its kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Item {
    /// A score for each token and unit.
    Attribution(Box<Attribution>),
    /// A score for each token at each of several sites.
    Map(Box<Map>),
    /// Units that hold the answer.
    Rule(Box<Rule>),
    /// Changes of the text and what the model says then.
    Edits(Box<Edits>),
    /// Rows of cells under named columns.
    Table(Table),
    /// One object a text, unit, head or word.
    Rows(Rows),
    /// What an experiment comes to.
    Verdict(Judgement),
}

/// What an answer is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Subject {
    /// The name of the method, as `exegete methods` lists it.
    pub method: String,
    /// Its parameters as they were used.
    pub params: BTreeMap<String, serde_json::Value>,
    /// The text or texts.
    pub input: Vec<Field>,
    /// What the model says.
    pub prediction: Scores,
    /// What was explained, in the words of `--target`.
    pub target: String,
    /// Its value F for the text.
    pub value: f64,
    /// What the sign of its scores says, and whether they are about the class at all.
    #[serde(default, skip_serializing_if = "Sense::is_usual")]
    pub sense: Sense,
    /// What the reader must know: text that was cut off, a cap that was reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Item {
    /// What it is about, where it is about one text.
    pub fn subject(&self) -> Option<&Subject> {
        match self {
            Self::Attribution(attribution) => Some(&attribution.subject),
            Self::Map(map) => Some(&map.subject),
            Self::Rule(rule) => Some(&rule.subject),
            Self::Edits(edits) => Some(&edits.subject),
            Self::Table(_) | Self::Rows(_) | Self::Verdict(_) => None,
        }
    }

    /// What its reader is told beside it.
    pub fn notes_mut(&mut self) -> Option<&mut Vec<String>> {
        match self {
            Self::Attribution(attribution) => Some(&mut attribution.subject.notes),
            Self::Map(map) => Some(&mut map.subject.notes),
            Self::Rule(rule) => Some(&mut rule.subject.notes),
            Self::Edits(edits) => Some(&mut edits.subject.notes),
            Self::Table(table) => Some(&mut table.notes),
            Self::Rows(_) | Self::Verdict(_) => None,
        }
    }

    /// Whether its lists are as long as one another and its spans lie within the text.
    pub fn consistent(&self) -> Result<()> {
        match self {
            Self::Attribution(attribution) => attribution.consistent(),
            Self::Map(map) => map.consistent(),
            Self::Rule(rule) => rule.consistent(),
            Self::Edits(edits) => edits.consistent(),
            Self::Table(table) => table.consistent(),
            Self::Rows(rows) => rows.consistent(),
            Self::Verdict(judgement) => judgement.consistent(),
        }
    }
}
