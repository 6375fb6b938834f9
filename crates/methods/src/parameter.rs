//! What a method can be told, described once: from it come the reading of `key=value` words with their errors, the table
//! of the method's page and a JSON schema.

use exegete_core::{Error, Result};
use serde_json::{Value, json};
use std::ops::{Bound, RangeBounds, RangeInclusive};

/// One parameter of a method.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Its key, in snake case.
    pub name: &'static str,
    /// What values it takes, and which it has where the user gives none.
    pub takes: Takes,
    /// What it does, in one line; where it has no default, also what happens then.
    pub help: &'static str,
}

/// The values that a parameter takes. One without a default is open: what happens without it depends on other things.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Takes {
    /// A whole number between two, both included.
    Count {
        /// The smallest value that is allowed.
        least: usize,
        /// The largest value that is allowed.
        most: usize,
        /// The value where the user gives none; none where it depends on something.
        default: Option<usize>,
    },
    /// A finite number within bounds.
    Number {
        /// The lower and the upper bound.
        range: (Bound<f64>, Bound<f64>),
        /// The value where the user gives none; none where it depends on something.
        default: Option<f64>,
    },
    /// One of several words.
    Choice {
        /// All words that it may be.
        of: &'static [&'static str],
        /// The value where the user gives none; none where it depends on something.
        default: Option<&'static str>,
    },
    /// Anything written, which the method itself reads.
    Text {
        /// One that is right.
        example: &'static str,
        /// The value where the user gives none; none where it depends on something.
        default: Option<&'static str>,
    },
}

/// The bounds of numbers above zero.
pub const POSITIVE: (Bound<f64>, Bound<f64>) = (Bound::Excluded(0.0), Bound::Unbounded);

/// The bounds of numbers between two, both included.
pub const fn between(low: f64, high: f64) -> (Bound<f64>, Bound<f64>) {
    (Bound::Included(low), Bound::Included(high))
}

impl Parameter {
    /// A parameter that is a whole number within a range.
    pub const fn count(
        name: &'static str,
        range: RangeInclusive<usize>,
        default: Option<usize>,
        help: &'static str,
    ) -> Self {
        Self { name, takes: Takes::Count { least: *range.start(), most: *range.end(), default }, help }
    }

    /// A parameter that is a number within bounds.
    pub const fn number(
        name: &'static str,
        range: (Bound<f64>, Bound<f64>),
        default: Option<f64>,
        help: &'static str,
    ) -> Self {
        Self { name, takes: Takes::Number { range, default }, help }
    }

    /// One of several words, of which the first is the default.
    pub const fn choice(name: &'static str, of: &'static [&'static str], help: &'static str) -> Self {
        Self { name, takes: Takes::Choice { of, default: Some(of[0]) }, help }
    }

    /// A parameter that the method reads from text by itself.
    pub const fn text(
        name: &'static str,
        example: &'static str,
        default: Option<&'static str>,
        help: &'static str,
    ) -> Self {
        Self { name, takes: Takes::Text { example, default }, help }
    }

    /// The value that a user's word stands for, or one line that says what is taken.
    pub fn read(&self, word: &str) -> Result<Value> {
        let found = match self.takes {
            Takes::Count { least, most, .. } => {
                word.parse().ok().filter(|count| (least..=most).contains(count)).map(Value::from)
            }
            Takes::Number { range, .. } => {
                let number: Option<f64> = word.parse().ok();
                number.filter(|number| number.is_finite() && range.contains(number)).map(Value::from)
            }
            Takes::Choice { of, .. } => of.contains(&word).then(|| word.into()),
            Takes::Text { .. } => Some(word.into()),
        };
        found.ok_or_else(|| Error::Request(format!("{}={word}: must be {}", self.name, self.range())))
    }

    /// The value where the user gives none; null where that depends on other things.
    pub fn default(&self) -> Value {
        match self.takes {
            Takes::Count { default, .. } => default.into(),
            Takes::Number { default, .. } => default.into(),
            Takes::Choice { default, .. } | Takes::Text { default, .. } => default.into(),
        }
    }

    /// What it takes, in words.
    pub fn range(&self) -> String {
        match self.takes {
            Takes::Count { least, most, .. } => {
                format!("a whole number from {} to {}", grouped(least), grouped(most))
            }
            Takes::Number { range, .. } => match range {
                (Bound::Excluded(low), Bound::Unbounded) => format!("a number above {low}"),
                (Bound::Included(low), Bound::Unbounded) => format!("a number of at least {low}"),
                (Bound::Included(low), Bound::Included(high)) => format!("a number from {low} to {high}"),
                _ => "a number".to_owned(),
            },
            Takes::Choice { of, .. } => format!("one of {}", of.join(", ")),
            Takes::Text { example, .. } => format!("text such as {example}"),
        }
    }

    /// Its part of a JSON schema.
    fn schema(&self) -> Value {
        let mut schema = match self.takes {
            Takes::Count { least, most, .. } => {
                json!({ "type": "integer", "minimum": least, "maximum": most })
            }
            Takes::Number { range, .. } => bounded(range),
            Takes::Choice { of, .. } => json!({ "type": "string", "enum": of }),
            Takes::Text { example, .. } => json!({ "type": "string", "examples": [example] }),
        };
        // Null stands for leaving an open parameter out, so that the default is itself right.
        if self.default().is_null() {
            schema["type"] = json!([schema["type"], "null"]);
            if let Some(words) = schema.get_mut("enum").and_then(Value::as_array_mut) {
                words.push(Value::Null);
            }
        }
        schema["default"] = self.default();
        schema["description"] = self.help.into();
        schema
    }
}

/// The schema of a number within bounds.
fn bounded((low, high): (Bound<f64>, Bound<f64>)) -> Value {
    let mut schema = json!({ "type": "number" });
    let mut say = |key: &str, value: f64| schema[key] = value.into();
    match low {
        Bound::Included(low) => say("minimum", low),
        Bound::Excluded(low) => say("exclusiveMinimum", low),
        Bound::Unbounded => {}
    }
    match high {
        Bound::Included(high) => say("maximum", high),
        Bound::Excluded(high) => say("exclusiveMaximum", high),
        Bound::Unbounded => {}
    }
    schema
}

/// The JSON schema (draft 2020-12) of an object with these parameters.
pub fn schema(parameters: &[&Parameter]) -> Value {
    let properties: serde_json::Map<String, Value> =
        parameters.iter().map(|parameter| (parameter.name.to_owned(), parameter.schema())).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

/// A Markdown table of parameters, with columns that stand below each other.
pub fn table(parameters: &[&Parameter]) -> String {
    let row = |parameter: &&Parameter| {
        let default = match parameter.default() {
            Value::Null => "—".to_owned(),
            Value::String(word) if word.is_empty() => "none".to_owned(),
            Value::String(word) => format!("`{word}`"),
            value => format!("`{value}`"),
        };
        let range = parameter.range();
        let range = range.trim_start_matches("a whole number from ").trim_start_matches("a number ");
        let range = range.trim_start_matches("of ").trim_start_matches("one of ");
        // A bar would end the cell.
        [
            format!("`{}`", parameter.name),
            default,
            range.replace('|', "\\|"),
            parameter.help.replace('|', "\\|"),
        ]
    };
    let head = ["parameter", "default", "takes", "what it does"].map(str::to_owned);
    let rows: Vec<[String; 4]> = std::iter::once(head).chain(parameters.iter().map(row)).collect();
    let widths: [usize; 3] =
        [0, 1, 2].map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    let mut text = String::new();
    for (i, [name, default, range, help]) in rows.iter().enumerate() {
        let [a, b, c] = widths;
        text += &format!("| {name:a$} | {default:b$} | {range:c$} | {help} |\n");
        if i == 0 {
            text += &format!("|{:-<1$}", "", a + 2);
            text += &format!("|{:-<1$}", "", b + 2);
            text += &format!("|{:-<1$}", "", c + 2);
            text += "|---|\n";
        }
    }
    text
}

/// The names of choices, for [`Parameter::choice`].
pub const fn names<T, const N: usize>(choices: &[(&'static str, T); N]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut i = 0;
    while i < N {
        names[i] = choices[i].0;
        i += 1;
    }
    names
}

/// The name of a choice.
pub(crate) fn name_of<T: PartialEq>(choices: &[(&'static str, T)], value: &T) -> &'static str {
    choices.iter().find(|(_, choice)| choice == value).map_or("", |(name, _)| name)
}

/// A whole number with a comma between every three digits.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests;
