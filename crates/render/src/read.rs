//! Saved reports back in, with what is wrong in one line.

use crate::visible::visible;
use exegete_core::report::{Item, Provenance, Report, SCHEMA};
use exegete_core::{Error, Result};
use serde_json::Value;

/// Keys that may hold null: a number that could not be measured, or the span of a special token.
const MAY_BE_NULL: [&str; 7] = ["logit", "tau", "p_value", "text", "field", "start", "end"];

/// A report from JSON, indented or on one line. Its numbers and spans are checked, because users also write such
/// files themselves.
pub fn read(json: &[u8]) -> Result<Report> {
    let value: Value = serde_json::from_slice(json)
        .map_err(|error| Error::Input(format!("{error}; is this a whole JSON document, and only one?")))?;
    let Value::Object(mut object) = value else {
        return Err(Error::Input(format!("this is no object, so no report; expected schema '{SCHEMA}'")));
    };
    schema(object.get("schema"))?;
    let provenance: Provenance = typed(object.remove("provenance"), "provenance")?;
    let items = match object.remove("items") {
        Some(Value::Array(items)) => items,
        _ => return Err(Error::Input("'items' must be a list".to_owned())),
    };
    let request = object.remove("request").map(serde_json::from_value).transpose();
    let request = request.map_err(|error| Error::Input(visible(&format!("request: {error}"))))?;
    let item = |(index, value)| typed::<Item>(Some(value), &format!("items[{index}]"));
    let items = items.into_iter().enumerate().map(item).collect::<Result<Vec<Item>>>()?;
    for (index, item) in items.iter().enumerate() {
        item.consistent().map_err(|error| error.at(format!("items[{index}]")))?;
    }
    Ok(Report { schema: SCHEMA.to_owned(), provenance, request, items })
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

fn typed<T: serde::de::DeserializeOwned>(value: Option<Value>, place: &str) -> Result<T> {
    let value = value.ok_or_else(|| Error::Input(format!("'{place}' is missing")))?;
    let null = null(&value, place);
    serde_json::from_value(value).map_err(|error| {
        let message = match null {
            Some(place) => format!("{place} is null, expected a number; NaN and infinity have no JSON"),
            None => format!("{place}: {error}"),
        };
        // Keys and names of variants are quoted as they stand in the file.
        Error::Input(visible(&message))
    })
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
