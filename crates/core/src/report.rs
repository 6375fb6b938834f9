//! What every method returns and every renderer takes: schema `exegete.report/1`.

mod answered;
mod checks;
mod found;
pub mod number;

pub use answered::Answered;
pub use checks::{
    Checks, Completeness, Curve, Drop, Erasure, Flip, Hiding, Infidelity, LayerSum, Randomisation,
    Sensitivity, Stability, Verdict, Weighed,
};
pub use found::{Bounded, Chance, Edited, Edits, Rule, RuleStep, Swap};

use crate::{Card, Encoded, Field, Span, Spent, Unit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema of a [`Report`].
pub const SCHEMA: &str = "exegete.report/1";

/// One or more answers with where they came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// What made it.
    pub provenance: Provenance,
    /// The answers.
    pub items: Vec<Item>,
}

/// What made a report, and what it cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Of exegete.
    pub version: String,
    /// Which model.
    pub model: ModelName,
    /// Of everything random.
    pub seed: u64,
    /// How many were used.
    pub threads: usize,
    /// From the request to the report, without opening the model.
    pub seconds: f64,
    /// Rows that were asked for, those that were remembered included.
    #[serde(default)]
    pub asked_rows: usize,
    /// Rows run forward.
    pub forward_rows: usize,
    /// Rows run backward.
    pub backward_rows: usize,
}

/// Which model a report is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelName {
    /// What the user calls it.
    pub name: String,
    /// Its architecture.
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

/// One answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// Named columns.
    Table(Table),
}

/// What an answer is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subject {
    /// The method's name.
    pub method: String,
    /// Its parameters as they were used.
    pub params: BTreeMap<String, serde_json::Value>,
    /// The text or texts.
    pub input: Vec<Field>,
    /// What the model says.
    pub prediction: Answered,
    /// What was explained.
    pub target: String,
    /// Its value F for the text.
    pub value: f64,
    /// What the reader must know: text that was cut off, a cap that was reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A score for each token and unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attribution {
    /// What it is about.
    #[serde(flatten)]
    pub subject: Subject,
    /// Where the scores were taken.
    pub site: String,
    /// Every model token in order.
    pub tokens: Vec<TokenText>,
    /// One a token.
    #[serde(serialize_with = "number::short_each")]
    pub token_values: Vec<f64>,
    /// Pieces of the text.
    pub units: Vec<UnitText>,
    /// One a unit.
    #[serde(serialize_with = "number::short_each")]
    pub values: Vec<f64>,
    /// The standard error of each unit's value, where the method samples.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<f64>,
    /// How far it can be trusted.
    pub checks: Checks,
}

/// A score for each token at each of several sites.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Map {
    /// What it is about.
    #[serde(flatten)]
    pub subject: Subject,
    /// Every model token in order.
    pub tokens: Vec<TokenText>,
    /// One a site, in the order of computation.
    pub layers: Vec<MapLayer>,
}

/// One row of a [`Map`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MapLayer {
    /// Where.
    pub site: String,
    /// One a token.
    #[serde(serialize_with = "number::short_each")]
    pub token_values: Vec<f64>,
    /// For each token, how its score is spread over the units of the site.
    pub spread: Vec<Spread>,
    /// −Σ p log₂ p over the tokens, with p the shares of |score|.
    pub entropy: f64,
    /// Whether the scores add up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completeness: Option<Completeness>,
}

/// How one token's score is spread over the units of a site.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The smallest.
    pub min: f64,
    /// A quarter of the units lie below.
    pub lower: f64,
    /// Half do.
    pub median: f64,
    /// Three quarters do.
    pub upper: f64,
    /// The largest.
    pub max: f64,
    /// −Σ p log₂ p over the units, with p the shares of |score|.
    pub entropy: f64,
}

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

/// One model token as a report shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenText {
    /// The vocabulary's string.
    pub piece: String,
    /// The bytes of the text; none for special tokens.
    pub text: Option<String>,
    /// Which field they are of.
    pub field: Option<usize>,
    /// First byte.
    pub start: Option<usize>,
    /// One past the last.
    pub end: Option<usize>,
    /// Whether the tokenizer added it.
    pub special: bool,
}

/// One unit as a report shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitText {
    /// The bytes of the text.
    pub text: String,
    /// Which field they are of.
    pub field: usize,
    /// First byte.
    pub start: usize,
    /// One past the last.
    pub end: usize,
}

impl TokenText {
    /// The tokens of an encoded example.
    pub fn of(encoded: &Encoded) -> Vec<Self> {
        let token = |token: &crate::Token| Self {
            piece: token.piece.clone(),
            text: token.span.map(|span| encoded.slice(span).to_owned()),
            field: token.span.map(|span| span.field),
            start: token.span.map(|span| span.start),
            end: token.span.map(|span| span.end),
            special: token.special,
        };
        encoded.tokens.iter().map(token).collect()
    }
}

impl UnitText {
    /// Units of an encoded example.
    pub fn of(encoded: &Encoded, units: &[Unit]) -> Vec<Self> {
        let unit = |unit: &Unit| {
            let Span { field, start, end } = unit.span;
            Self { text: encoded.slice(unit.span).to_owned(), field, start, end }
        };
        units.iter().map(unit).collect()
    }
}

impl Item {
    /// What it is about, where it is about one text.
    pub fn subject(&self) -> Option<&Subject> {
        match self {
            Self::Attribution(attribution) => Some(&attribution.subject),
            Self::Map(map) => Some(&map.subject),
            Self::Rule(rule) => Some(&rule.subject),
            Self::Edits(edits) => Some(&edits.subject),
            Self::Table(_) => None,
        }
    }
}
