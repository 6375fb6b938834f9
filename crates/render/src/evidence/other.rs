//! Checks that this build draws no picture of: what they say of themselves, else their numbers.

use super::Line;
use crate::figures::{count, setting};
use crate::visible::clipped;
use serde_json::Value;
use std::borrow::Cow;

/// How many entries of a list or an object are told before the rest is left out.
const TOLD: usize = 8;
/// Columns of a name.
const LONGEST: usize = 30;

/// The line of any check.
pub(super) fn line(name: &str, found: &Value) -> Line<'static> {
    let says = found.get("says").and_then(Value::as_str);
    let figures = says.map_or_else(|| told(found), str::to_owned);
    let name = Cow::Owned(clipped(&name.replace('_', " "), LONGEST));
    Line { name, figures, gloss: "", meaning: "", good: "", chart: None }
}

/// Names and numbers, lists and objects one level deep.
fn told(found: &Value) -> String {
    let few = |parts: Vec<String>, more: bool| parts.join(", ") + if more { ", …" } else { "" };
    match found {
        Value::Object(fields) => {
            let part =
                |(name, value): (&String, &Value)| format!("{} {}", name.replace('_', " "), plain(value));
            few(fields.iter().take(TOLD).map(part).collect(), fields.len() > TOLD)
        }
        Value::Array(entries) => few(entries.iter().take(TOLD).map(plain).collect(), entries.len() > TOLD),
        single => plain(single),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), setting),
        Value::String(text) => text.clone(),
        Value::Array(entries) => count(entries.len(), "value"),
        Value::Object(_) => "…".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn any_value_has_a_line() {
        for (found, expected) in [
            (json!({"says": "half of it", "share": 0.5}), "half of it"),
            (json!({"share": 0.5, "of_units": 12, "kept": true}), "kept yes, of units 12, share 0.5"),
            (json!({"says": 3, "parts": [1, 2], "more": {"a": 1}}), "more …, parts 2 values, says 3"),
            (json!([0.25, null, "x"]), "0.25, none, x"),
            (json!([1, 2, 3, 4, 5, 6, 7, 8, 9]), "1, 2, 3, 4, 5, 6, 7, 8, …"),
            (json!(2.5), "2.5"),
        ] {
            let line = line("a_name", &found);
            assert_eq!((line.name.as_ref(), line.figures.as_str()), ("a name", expected));
        }
    }
}
