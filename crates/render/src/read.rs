//! Saved reports back in, with what is wrong in one line.

use crate::visible::visible;
use exegete_core::report::{Item, Provenance, Report, SCHEMA};
use exegete_core::{Error, Result};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Keys that may hold null: a number that could not be measured, or the span of a special token.
const MAY_BE_NULL: [&str; 7] = ["logit", "tau", "p_value", "text", "field", "start", "end"];

/// A report from JSON, indented or on one line. Its numbers and spans are checked, because users also write such
/// files themselves.
pub fn read(json: &[u8]) -> Result<Report> {
    let whole: &RawValue = serde_json::from_slice(json)
        .map_err(|error| Error::Input(format!("{error}; is this a whole JSON document, and only one?")))?;
    // Each part is read from its own text: a JSON object in memory would forget the order of its fields.
    let Ok(parts) = serde_json::from_str::<BTreeMap<String, &RawValue>>(whole.get()) else {
        return Err(Error::Input(format!("this is no object, so no report; expected schema '{SCHEMA}'")));
    };
    schema(parts.get("schema").and_then(|found| serde_json::from_str(found.get()).ok()).as_ref())?;
    let provenance: Provenance = typed(parts.get("provenance"), "provenance")?;
    let items = parts.get("items").map(|items| serde_json::from_str::<Vec<&RawValue>>(items.get()));
    let Some(Ok(items)) = items else {
        return Err(Error::Input("'items' must be a list".to_owned()));
    };
    let request = parts.get("request").map(|request| typed(Some(request), "request")).transpose()?;
    let item = |(index, value)| typed::<Item>(Some(value), &format!("items[{index}]"));
    let items = items.iter().enumerate().map(item).collect::<Result<Vec<Item>>>()?;
    for (index, item) in items.iter().enumerate() {
        item.consistent().map_err(|error| error.at(format!("items[{index}]")))?;
    }
    Ok(Report { schema: SCHEMA.to_owned(), provenance, request: request.flatten(), items })
}

fn schema(found: Option<&Value>) -> Result<()> {
    let advice = match found {
        Some(Value::String(schema)) if schema == SCHEMA => return Ok(()),
        Some(Value::String(schema)) => {
            let named = schema.chars().take(60).collect::<String>();
            format!(
                "schema is '{}', expected '{SCHEMA}'; was it made by another version or command?",
                named.escape_default()
            )
        }
        _ => format!("there is no 'schema', expected '{SCHEMA}'; is this a report?"),
    };
    Err(Error::Input(advice))
}

fn typed<T: serde::de::DeserializeOwned>(value: Option<&&RawValue>, place: &str) -> Result<T> {
    let json = value.ok_or_else(|| Error::Input(format!("'{place}' is missing")))?.get();
    serde_json::from_str(json).map_err(|error| {
        let value = serde_json::from_str::<Value>(json).unwrap_or_default();
        let message = match null(&value, place) {
            Some(place) => format!("{place} is null, expected a number; NaN and infinity have no JSON"),
            None => format!("{place}: {}", told(&error)),
        };
        // Keys and names of variants are quoted as they stand in the file.
        Error::Input(visible(&message))
    })
}

/// What is wrong, without a line and column that count from the beginning of the part.
fn told(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    message.strip_suffix(&place).unwrap_or(&message).to_owned()
}

/// The first null where none may be: what NaN is written as, and what serde's message would not locate.
fn null(value: &Value, place: &str) -> Option<String> {
    match value {
        Value::Null => Some(place.to_owned()),
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(i, item)| null(item, &format!("{place}[{i}]")))
        }
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, _)| {
                !MAY_BE_NULL.contains(&key.as_str())
                    && !matches!(key.as_str(), "params" | "rows" | "findings")
            })
            .find_map(|(key, field)| null(field, &format!("{place}.{key}"))),
        _ => None,
    }
}
