use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Bytes of one field of the user's own text; every score points at one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    /// Which field of the example.
    pub field: usize,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// Field, start and end side by side, all null where there is no span.
    pub(crate) fn or_nulls<S: serde::Serializer>(
        span: &Option<Self>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Place {
            field: Option<usize>,
            start: Option<usize>,
            end: Option<usize>,
        }
        let place =
            Place { field: span.map(|s| s.field), start: span.map(|s| s.start), end: span.map(|s| s.end) };
        place.serialize(serializer)
    }

    /// The span as a byte range of its field.
    pub fn range(&self) -> Range<usize> {
        self.start..self.end
    }
}

/// One named piece of text: `text`, or `premise` and `hypothesis`, or `question` and `context`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// What the piece is called in reports.
    pub name: String,
    /// The text itself, never normalised.
    pub text: String,
}

/// What a model is asked about: one text, or several fields that belong together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// The fields in the order the model reads them.
    pub fields: Vec<Field>,
    /// The gold label, where one is known.
    pub label: Option<String>,
}

impl Example {
    /// One text without a label.
    pub fn text(text: impl Into<String>) -> Self {
        Self { fields: vec![Field { name: "text".into(), text: text.into() }], label: None }
    }

    /// Two texts that the model reads as a pair.
    pub fn pair(first: impl Into<String>, second: impl Into<String>) -> Self {
        let mut example = Self::text(first);
        example.fields.push(Field { name: "pair".into(), text: second.into() });
        example
    }
}

/// One model token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Its row in the word matrix.
    pub id: u32,
    /// Its segment, for models that tell the fields of a pair apart.
    pub kind: u32,
    /// The vocabulary's own string.
    pub piece: String,
    /// The bytes it came from; none for special tokens.
    pub span: Option<Span>,
    /// Whether the tokenizer added it.
    pub special: bool,
}

/// One example as one model reads it. Flips, triggers and masks change this, never the text and back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Encoded {
    /// The example's fields.
    pub fields: Vec<Field>,
    /// Every model token in order.
    pub tokens: Vec<Token>,
    /// Whether text was cut off to fit the model's length.
    pub truncated: bool,
}

impl Encoded {
    /// Tokens without text, for benchmarks and toys: only the ids matter.
    pub fn from_ids(ids: &[u32]) -> Self {
        let token = |&id: &u32| Token { id, kind: 0, piece: id.to_string(), span: None, special: false };
        Self { fields: Vec::new(), tokens: ids.iter().map(token).collect(), truncated: false }
    }

    /// The number of tokens, special ones included.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether there is no token at all.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The bytes of the user's text that a span points at.
    pub fn slice(&self, span: Span) -> &str {
        self.fields.get(span.field).and_then(|f| f.text.get(span.range())).unwrap_or("")
    }
}
