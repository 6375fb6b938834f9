use crate::units::words;
use crate::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Bytes of one field of the user's own text; every score points at one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// Which field of the example.
    pub field: usize,
    /// The first byte within the field.
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
        let (field, start, end) = (span.map(|s| s.field), span.map(|s| s.start), span.map(|s| s.end));
        SpanOrNulls { field, start, end }.serialize(serializer)
    }

    /// The span as a byte range of its field.
    pub fn range(&self) -> Range<usize> {
        self.start..self.end
    }
}

/// A span as it is written where there may be none.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SpanOrNulls {
    /// Which field of the example.
    field: Option<usize>,
    /// The first byte within the field.
    start: Option<usize>,
    /// One past the last byte.
    end: Option<usize>,
}

/// One named piece of text: `text`, or `premise` and `hypothesis`, or `question` and `context`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Field {
    /// What the piece is called in reports.
    pub name: String,
    /// The text itself, never normalised.
    pub text: String,
}

impl Field {
    /// The field with nothing but these pieces, each written in the place of the bytes it stands for, and with the spacing
    /// that was there; exactly as it was where nothing is gone.
    pub fn with(&self, pieces: &[(Span, &str)]) -> Self {
        let (mut text, mut done) = (String::with_capacity(self.text.len()), 0);
        for (span, piece) in pieces {
            let between = self.text.get(done..span.start).unwrap_or("");
            text.push_str(if between.trim().is_empty() { between } else { space(between, &text, piece) });
            text.push_str(piece);
            done = span.end;
        }
        let rest = self.text.get(done..).unwrap_or("");
        text.push_str(if rest.trim().is_empty() { rest } else { "" });
        Self { name: self.name.clone(), text }
    }
}

/// What a model is asked about: one text, or several fields that belong together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Example {
    /// The fields in the order the model reads them.
    pub fields: Vec<Field>,
    /// The gold label, where one is known.
    pub label: Option<String>,
    /// The attention that each word of the first field gets, for models that take it from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<Vec<f32>>,
}

impl Example {
    /// One text without a label.
    pub fn text(text: impl Into<String>) -> Self {
        Self { fields: vec![Field { name: "text".into(), text: text.into() }], label: None, weights: None }
    }

    /// Two texts that the model reads as a pair.
    pub fn pair(first: impl Into<String>, second: impl Into<String>) -> Self {
        let mut example = Self::text(first);
        example.fields.push(Field { name: "pair".into(), text: second.into() });
        example
    }

    /// An error where attention is given, for models that have their own.
    pub fn check_unweighted(&self) -> Result<()> {
        match self.weights {
            Some(_) => {
                Err(Error::Input("this model has its own attention; leave the weights out".to_owned()))
            }
            None => Ok(()),
        }
    }
}

/// One token as a model reads it, pointing at its bytes of the text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Token {
    /// Its row in the word matrix.
    pub id: u32,
    /// Its segment, for models that tell the fields of a pair apart.
    pub type_id: u32,
    /// The vocabulary's own string.
    pub piece: String,
    /// The bytes it came from; none for special tokens.
    pub span: Option<Span>,
    /// Whether the tokenizer added it.
    pub special: bool,
    /// The attention that it gets, where that is imposed from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f32>,
}

/// One example as one model reads it. Flips, triggers and masks change this, never the text and back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Encoded {
    /// The fields of the example, as the user wrote them.
    pub fields: Vec<Field>,
    /// Every model token in order.
    pub tokens: Vec<Token>,
    /// Whether text was cut off to fit the model's length.
    pub truncated: bool,
}

/// What vocabularies call a piece of text that they do not hold.
const UNKNOWN: [&str; 2] = ["[UNK]", "<unk>"];

impl Encoded {
    /// How many tokens stand for text that the vocabulary does not hold, so that the model cannot tell them apart.
    pub fn unknown(&self) -> usize {
        let lost = |token: &&Token| {
            let text = token.span.map(|span| self.slice(span));
            UNKNOWN.contains(&&*token.piece) && text.is_some_and(|text| *text != *token.piece)
        };
        self.tokens.iter().filter(lost).count()
    }

    /// Tokens without text, for benchmarks and toys: only the ids matter.
    pub fn from_ids(ids: &[u32]) -> Self {
        let token = |&id: &u32| Token {
            id,
            type_id: 0,
            piece: id.to_string(),
            span: None,
            special: false,
            weight: None,
        };
        Self { fields: Vec::new(), tokens: ids.iter().map(token).collect(), truncated: false }
    }

    /// One token a word, for models that read plain text: black boxes. A piece is what is written in its place.
    pub fn of_words(example: &Example) -> Self {
        let tokens = example.fields.iter().enumerate().flat_map(|(field, Field { text, .. })| {
            let token = move |range: Range<usize>| Token {
                id: 0,
                type_id: field as u32,
                piece: text[range.clone()].to_owned(),
                span: Some(Span { field, start: range.start, end: range.end }),
                special: false,
                weight: None,
            };
            words(text).into_iter().map(token)
        });
        Self { tokens: tokens.collect(), fields: example.fields.clone(), truncated: false }
    }

    /// The text that the tokens of [`Self::of_words`] stand for, after some were taken out or replaced: each field with its
    /// own spacing, and exactly as it was where nothing changed.
    pub fn written(&self) -> Vec<Field> {
        let field = |(index, field): (usize, &Field)| {
            let all = self.tokens.iter().filter_map(|token| Some((token.span?, token.piece.as_str())));
            let own: Vec<(Span, &str)> = all.filter(|(span, _)| span.field == index).collect();
            field.with(&own)
        };
        self.fields.iter().enumerate().map(field).collect()
    }

    /// The sentences that a model's own markers tell apart: runs of the text's tokens between special ones, by their places.
    pub fn sentences(&self) -> Vec<Range<usize>> {
        let (mut runs, mut start) = (Vec::new(), 0);
        for run in self.tokens.chunk_by(|a, b| a.special == b.special) {
            if !run[0].special {
                runs.push(start..start + run.len());
            }
            start += run.len();
        }
        runs
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

/// The space that is left where words are gone.
fn space<'t>(between: &'t str, before: &str, after: &str) -> &'t str {
    if before.is_empty() {
        return "";
    }
    let closing = &between[between.trim_end().len()..];
    let opening = &between[..between.len() - between.trim_start().len()];
    let joins = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    // Two words must not grow together where the mark between them is gone.
    let words = joins(before.chars().next_back()) && joins(after.chars().next());
    match (closing.is_empty(), opening.is_empty()) {
        (false, _) => closing,
        (true, false) if words => opening,
        (true, true) if words => " ",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written without some words, and with others instead.
    fn check(text: &str, gone: &[usize], replaced: &[(usize, &str)], expected: &str) {
        let mut encoded = Encoded::of_words(&Example::text(text));
        for (index, word) in replaced {
            encoded.tokens[*index].piece = (*word).to_owned();
        }
        let tokens = std::mem::take(&mut encoded.tokens).into_iter().enumerate();
        encoded.tokens = tokens.filter(|(index, _)| !gone.contains(index)).map(|(_, token)| token).collect();
        assert_eq!(encoded.written()[0].text, expected, "{text:?} without {gone:?}");
    }

    #[test]
    fn words_go_and_spacing_stays() {
        let text = "  A  well-made film,\nnot bad. ";
        check(text, &[], &[], text);
        check(text, &[0], &[], "well-made film,\nnot bad. ");
        check(text, &[1], &[], "  A-made film,\nnot bad. ");
        check(text, &[2], &[], "  A  well made film,\nnot bad. ");
        check(text, &[5], &[], "  A  well-made film\nnot bad. ");
        check(text, &[6, 7], &[], "  A  well-made film,. ");
        check(text, &[6, 7, 8], &[], "  A  well-made film,");
        check(text, &[0, 1, 2, 3, 4, 5, 6, 7, 8], &[], "");
        check(text, &[], &[(0, "The"), (7, "good")], "  The  well-made film,\nnot good. ");
        check("I (really) do", &[1], &[], "I really) do");
        check("", &[], &[], "");
        check(" ", &[], &[], " ");
        check("love 👍🏽 it", &[1], &[], "love it");
    }

    #[test]
    fn fields_stay_apart() {
        let encoded = Encoded::of_words(&Example::pair("a man", "a woman sleeps"));
        let mut shorter = encoded.clone();
        shorter.tokens.remove(1);
        let texts = |encoded: &Encoded| encoded.written().into_iter().map(|f| f.text).collect::<Vec<_>>();
        assert_eq!(texts(&encoded), ["a man", "a woman sleeps"]);
        assert_eq!(texts(&shorter), ["a", "a woman sleeps"]);
    }
}
