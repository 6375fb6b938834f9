//! Explanations that were made elsewhere, one JSON object a text.

use crate::raw_attribution::sums;
use exegete_core::report::{Attribution, Item, SCHEMA};
use exegete_core::{Encoded, Error, Result, Unit};
use serde::Deserialize;
use serde_json::Value;

/// One explanation from elsewhere, before it is known whether it fits its text.
///
/// `{"tokens": […], "scores": […]}` scores the model's own tokens, special ones included or not; `{"units": [{"text": …,
/// "start": …, "end": …, "score": …}]}` scores pieces of the text by byte offsets (of field 0 unless a `field` is given);
/// a line of `exegete explain --format jsonl` is read as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalExplanation {
    pieces: Pieces,
    /// What it explains, where it says so.
    pub target: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
enum Pieces {
    Tokens(Vec<String>, Vec<f64>),
    Spans(Vec<ScoredPiece>),
    /// The text that was explained, its units, and its tokens for other units.
    Report(Vec<String>, Vec<ScoredPiece>, Vec<ScoredPiece>),
}

/// A piece of the text with its score.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct ScoredPiece {
    text: Option<String>,
    #[serde(default)]
    field: usize,
    start: usize,
    end: usize,
    score: f64,
}

impl ExternalExplanation {
    /// Reads an explanation from one line of a file.
    pub fn parse(line: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(line).map_err(|e| wrong("not a JSON object", &e))?;
        let typed = |name: &str| value.get(name).filter(|value| !value.is_null()).cloned();
        let pieces = match (typed("items"), typed("tokens"), typed("units")) {
            (Some(items), ..) => return Self::report(&value, items),
            (_, Some(tokens), _) => {
                let tokens: Vec<String> = serde_json::from_value(tokens)
                    .map_err(|e| wrong("'tokens' is no list of strings", &e))?;
                let scores = typed("scores").unwrap_or_default();
                let scores: Vec<f64> = serde_json::from_value(scores)
                    .map_err(|e| wrong("'scores' is no list of numbers", &e))?;
                same("scores", scores.len(), "tokens", tokens.len())?;
                Pieces::Tokens(tokens, scores)
            }
            (_, _, Some(units)) => Pieces::Spans(
                serde_json::from_value(units)
                    .map_err(|e| wrong("'units' is no list of objects with start, end and score", &e))?,
            ),
            _ => {
                return Err(Error::Input(
                    "neither 'tokens' with 'scores', nor 'units', nor the 'items' of a report".into(),
                ));
            }
        };
        Ok(Self { pieces, target: None })
    }

    fn report(report: &Value, mut items: Value) -> Result<Self> {
        if report.get("schema").and_then(Value::as_str) != Some(SCHEMA) {
            return Err(Error::Input(format!("a report of another schema than {SCHEMA}")));
        }
        let first = items.get_mut(0).map(Value::take).unwrap_or_default();
        let item = serde_json::from_value(first).map_err(|e| wrong("items[0] is no attribution", &e))?;
        let Item::Attribution(attribution) = item else {
            return Err(Error::Input("items[0] is no attribution".into()));
        };
        let Attribution { subject, tokens, token_values, units, values, .. } = *attribution;
        same("values", values.len(), "units", units.len())?;
        same("token_values", token_values.len(), "tokens", tokens.len())?;
        let units = units.into_iter().zip(values).map(|(unit, score)| ScoredPiece {
            text: Some(unit.text),
            field: unit.field,
            start: unit.start,
            end: unit.end,
            score,
        });
        let inside = tokens.into_iter().zip(token_values).filter(|(token, _)| !token.special);
        let tokens = inside.filter_map(|(token, score)| {
            let (field, start, end) = (token.field?, token.start?, token.end?);
            Some(ScoredPiece { text: token.text, field, start, end, score })
        });
        let fields = subject.input.into_iter().map(|field| field.text).collect();
        let pieces = Pieces::Report(fields, units.collect(), tokens.collect());
        Ok(Self { pieces, target: Some(subject.target) })
    }

    /// Whether any score is below zero, so that signs mean something.
    pub fn has_negative(&self) -> bool {
        match &self.pieces {
            Pieces::Tokens(_, scores) => scores.iter().any(|score| *score < 0.0),
            Pieces::Spans(pieces) | Pieces::Report(_, pieces, _) => pieces.iter().any(|p| p.score < 0.0),
        }
    }

    /// One score a unit: the sum of the pieces whose first byte that is no space lies in it.
    pub fn fit(&self, encoded: &Encoded, units: &[Unit]) -> Result<Vec<f64>> {
        match &self.pieces {
            Pieces::Tokens(tokens, scores) => Ok(sums(units, &own_tokens(encoded, tokens, scores)?)),
            Pieces::Spans(pieces) => spread(encoded, units, pieces),
            Pieces::Report(texts, theirs, tokens) => {
                if !encoded.fields.iter().map(|field| &field.text).eq(texts) {
                    let text = texts.first().map_or("", String::as_str);
                    return Err(Error::Input(format!("explains another text: {}", quoted(text))));
                }
                let spans = units.iter().map(|unit| (unit.span.field, unit.span.start, unit.span.end));
                let alike = spans.eq(theirs.iter().map(|piece| (piece.field, piece.start, piece.end)));
                if alike { spread(encoded, units, theirs) } else { spread(encoded, units, tokens) }
            }
        }
    }
}

/// One score a token of the model, special ones included.
fn own_tokens(encoded: &Encoded, tokens: &[String], scores: &[f64]) -> Result<Vec<f64>> {
    let inside = || encoded.tokens.iter().filter(|token| !token.special);
    let (all, some) = (encoded.len(), inside().count());
    let whole = tokens.len() == all;
    if !whole && tokens.len() != some {
        return Err(Error::Input(format!(
            "{} tokens, but the model reads {all} in this text, {some} without special ones",
            tokens.len()
        )));
    }
    let places: Vec<usize> = (0..all).filter(|&i| whole || !encoded.tokens[i].special).collect();
    let mut values = vec![0.0; all];
    for (index, (token, score)) in tokens.iter().zip(scores).enumerate() {
        let here = &encoded.tokens[places[index]];
        if here.piece != *token {
            return Err(Error::Input(format!(
                "token {index} is {}, but the model reads {} there",
                quoted(token),
                quoted(&here.piece)
            )));
        }
        values[places[index]] = *score;
    }
    Ok(values)
}

fn spread(encoded: &Encoded, units: &[Unit], pieces: &[ScoredPiece]) -> Result<Vec<f64>> {
    let mut values = vec![0.0; units.len()];
    for (index, piece) in pieces.iter().enumerate() {
        let home = home(encoded, units, piece).map_err(|error| error.at(format!("units[{index}]")))?;
        if let Some(home) = home {
            values[home] += piece.score;
        }
    }
    Ok(values)
}

/// The unit that a piece belongs to; none where truncation took it.
fn home(encoded: &Encoded, units: &[Unit], piece: &ScoredPiece) -> Result<Option<usize>> {
    let ScoredPiece { text, field, start, end, .. } = piece;
    let whole = encoded.fields.get(*field).ok_or_else(|| {
        Error::Input(format!("field {field} does not exist; the text has {}", encoded.fields.len()))
    })?;
    let slice = whole.text.get(*start..*end).ok_or_else(|| {
        Error::Input(format!(
            "bytes {start} to {end} are no piece of the text; offsets count bytes, not characters"
        ))
    })?;
    if let Some(text) = text.as_ref().filter(|text| *text != slice) {
        let (text, slice) = (quoted(text), quoted(slice));
        return Err(Error::Input(format!(
            "says {text}, but bytes {start} to {end} are {slice}; offsets count bytes, not characters"
        )));
    }
    let first = end - slice.trim_start().len();
    let mut same_field = units.iter().enumerate().filter(|(_, unit)| unit.span.field == *field);
    // A piece of nothing but space goes with what follows, as tokens do.
    let found = same_field.clone().find(|(_, unit)| first < unit.span.end);
    let found = found.filter(|(_, unit)| unit.span.start <= first || slice.trim().is_empty());
    match found {
        Some((home, _)) => Ok(Some(home)),
        None if slice.trim().is_empty() => Ok(same_field.next_back().map(|(last, _)| last)),
        None if encoded.truncated => Ok(None),
        None => Err(Error::Input(format!("{} lies in no unit of the text", quoted(slice)))),
    }
}

fn same(name: &str, found: usize, like: &str, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::Input(format!("'{name}' has {found} entries, but '{like}' has {expected}")))
}

/// The library's own "line 1" would contradict the line of the file.
fn wrong(what: &str, error: &serde_json::Error) -> Error {
    let cause = error.to_string();
    Error::Input(format!("{what}: {}", cause.split(" at line").next().unwrap_or_default()))
}

/// In quotation marks and not too long.
fn quoted(text: &str) -> String {
    let short: String = text.chars().take(40).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("'{}{more}'", short.escape_debug())
}

#[cfg(test)]
mod tests;
