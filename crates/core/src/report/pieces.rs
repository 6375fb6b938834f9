use crate::{Encoded, Span, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One model token as a report shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenText {
    /// The token as the vocabulary writes it.
    pub piece: String,
    /// The bytes of the text; none for special tokens.
    pub text: Option<String>,
    /// Which field they are of.
    pub field: Option<usize>,
    /// Its first byte in the field; none for special tokens.
    pub start: Option<usize>,
    /// One past the last.
    pub end: Option<usize>,
    /// Whether the tokenizer added it.
    pub special: bool,
}

/// One unit as a report shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnitText {
    /// The bytes of the text.
    pub text: String,
    /// Which field they are of.
    pub field: usize,
    /// Its first byte in the field.
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
