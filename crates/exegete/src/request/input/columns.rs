//! Which columns of a table, or keys of a JSON object, hold the text, its pair and the label.

use super::lines::Lines;
use super::{Raw, TextInput};
use crate::Task;
use anyhow::Result;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// The names asked for, each a list of candidates of which the first that exists is taken.
pub(crate) struct Columns {
    text: Vec<String>,
    pair: Vec<String>,
    label: Option<String>,
    /// Whether the model cannot do without a second text.
    pub(crate) needs_pair: bool,
    named: bool,
    /// Whether columns go by their numbers, since there is no header.
    pub(crate) numbered: bool,
}

/// The columns of one table, found in its header.
pub(crate) struct Indices {
    text: usize,
    pair: Option<usize>,
    label: Option<usize>,
    width: usize,
    /// What all rows must be as wide as.
    first: &'static str,
}

impl Columns {
    /// What the arguments ask for; a question-answering file may call its columns question and context.
    pub(crate) fn new(ask: &TextInput, task: &dyn Task) -> Self {
        let (needs_pair, [first, second]) = (task.needs_pair(), task.fields());
        let TextInput { text_column, pair_column, label_column, .. } = ask;
        let or = |asked: &Option<String>, defaults: &[&str]| match asked {
            Some(name) => vec![name.clone()],
            None => defaults.iter().map(|&name| name.to_owned()).collect(),
        };
        let texts: &[&str] = match (ask.no_header, needs_pair, first) {
            (true, ..) => &["1"],
            (_, true, first) => &[first, "text"],
            (_, _, "text") => &["text", "sentence", "content"],
            (_, _, first) => &[first, "text", "sentence", "content"],
        };
        let pairs: &[&str] = match needs_pair && ask.pair.is_none() {
            true if ask.no_header => &["2"],
            true => &[second, "pair"],
            false => &[],
        };
        Self {
            text: or(text_column, texts),
            pair: or(pair_column, pairs),
            label: label_column.clone(),
            needs_pair,
            named: text_column.is_some() || pair_column.is_some() || label_column.is_some(),
            numbered: ask.no_header,
        }
    }

    /// Whether the user named a column.
    pub(crate) fn named_by_user(&self) -> bool {
        self.named
    }

    /// The places of the columns in a header.
    pub(crate) fn find(
        &self,
        lines: &Lines,
        line: usize,
        header: Vec<String>,
        mark: char,
    ) -> Result<Indices> {
        if let Some(twice) = (1..header.len()).find(|&at| header[..at].contains(&header[at])) {
            let what = format!("two columns are called '{}'; give each a name of its own", header[twice]);
            return Err(lines.error(line, what));
        }
        let place = |wanted: &[String]| {
            let found = wanted.iter().find_map(|name| header.iter().position(|column| column == name));
            let told =
                || format!("{}{}", missing(wanted, header.iter().map(String::as_str)), advice(&header, mark));
            found.ok_or_else(|| lines.error(line, told()))
        };
        let text = place(&self.text)?;
        let pair = if self.pair.is_empty() { None } else { Some(place(&self.pair)?) };
        let label = self.label.as_ref().map(|name| place(std::slice::from_ref(name))).transpose()?;
        Ok(Indices { text, pair, label, width: header.len(), first: "the header" })
    }

    /// The places of the columns in a table without a header, whose first row is this wide.
    pub(crate) fn count(&self, lines: &Lines, line: usize, width: usize) -> Result<Indices> {
        let place = |wanted: &String| {
            let number = match wanted.as_str() {
                TextInput::LAST_COLUMN => Some(width),
                wanted => wanted.parse::<usize>().ok(),
            };
            let place = number.and_then(|number| number.checked_sub(1)).filter(|&place| place < width);
            place.ok_or_else(|| {
                let what = format!("without a header the columns are 1 to {width}, or last");
                lines.error(line, format!("no column '{wanted}'; {what}"))
            })
        };
        let first = |wanted: &[String]| wanted.first().map(place).transpose();
        let (text, pair) = (first(&self.text)?.unwrap_or_default(), first(&self.pair)?);
        let label = self.label.as_ref().map(place).transpose()?;
        if label.is_some_and(|label| label == text || Some(label) == pair) {
            let what = "a column cannot hold both a text and the label; is the separator another one?";
            return Err(lines.error(line, what));
        }
        Ok(Indices { text, pair, label, width, first: "the first row" })
    }

    /// The fields of one line of JSON.
    pub(crate) fn json_row(&self, lines: &Lines, line: usize, text: &str) -> Result<Raw> {
        if text.trim().is_empty() {
            return Err(lines.error(line, "the line is empty; every line holds one JSON object"));
        }
        let wrong = |e: serde_json::Error| {
            // The library's own "line 1" would contradict the line of the file.
            let cause = e.to_string();
            let cause = cause.split(" at line").next().unwrap_or_default();
            lines.error(line, format!("not a JSON object: {cause} at column {}", e.column()))
        };
        let JsonRow { fields: object, twice } = serde_json::from_str(text).map_err(wrong)?;
        if let Some(twice) = twice {
            let what = format!("two fields are called '{twice}'; give each a name of its own");
            return Err(lines.error(line, what));
        }
        let place = |wanted: &[String]| {
            let found = wanted.iter().find_map(|name| object.get_key_value(name));
            found.ok_or_else(|| lines.error(line, missing(wanted, object.keys().map(String::as_str))))
        };
        let string = |wanted: &[String]| {
            let (name, value) = place(wanted)?;
            let text = value.as_str().map(str::to_owned);
            text.ok_or_else(|| lines.error(line, format!("'{name}' is not a string")))
        };
        let pair = if self.pair.is_empty() { None } else { Some(string(&self.pair)?) };
        let label = self.label.as_ref().map(|name| place(std::slice::from_ref(name))).transpose()?;
        if let Some((name, Value::Null)) = label {
            return Err(lines.error(line, format!("'{name}' is null; remove the row or fill it in")));
        }
        Ok(Raw { text: string(&self.text)?, pair, label: label.map(|(_, value)| plain(value)) })
    }
}

/// The fields of a line of JSON.
struct JsonRow {
    fields: Map<String, Value>,
    /// A name that more than one of them has.
    twice: Option<String>,
}

impl<'de> Deserialize<'de> for JsonRow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RowVisitor)
    }
}

struct RowVisitor;

impl<'de> Visitor<'de> for RowVisitor {
    type Value = JsonRow;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonRow, A::Error> {
        let mut row = JsonRow { fields: Map::new(), twice: None };
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            if row.fields.contains_key(&name) {
                row.twice.get_or_insert(name);
            } else {
                row.fields.insert(name, value);
            }
        }
        Ok(row)
    }
}

impl Indices {
    /// The fields of one row, which must be as wide as the header.
    pub(crate) fn raw(&self, lines: &Lines, line: usize, mut fields: Vec<String>) -> Result<Raw> {
        if let ([only], true) = (&fields[..], self.width > 1)
            && only.trim().is_empty()
        {
            return Err(lines.error(line, "the line is empty; remove it"));
        }
        if fields.len() != self.width {
            let what = format!("the row has {} fields, {} {}", fields.len(), self.first, self.width);
            return Err(lines.error(line, what));
        }
        let label = self.label.map(|index| fields[index].clone());
        let pair = self.pair.map(|index| fields[index].clone());
        Ok(Raw { text: std::mem::take(&mut fields[self.text]), pair, label })
    }
}

/// What may be wrong with a line of names in which a column is missing.
fn advice(header: &[String], mark: char) -> String {
    match uncut(header, mark) {
        told if !told.is_empty() => told,
        // Names are short, and numbers are none.
        _ if header.iter().any(|name| name.trim().contains(' ') || name.trim().parse::<f64>().is_ok()) => {
            "; if line 1 is a row already, --no-header reads it".to_owned()
        }
        _ => "; for a table without a header give --no-header".to_owned(),
    }
}

/// Where a header is one column that holds another mark, that is what stands between the columns.
fn uncut(header: &[String], mark: char) -> String {
    let [only] = header else { return String::new() };
    let other = ['\t', ';', ',', '|'].into_iter().find(|&other| other != mark && only.contains(other));
    other.map_or_else(String::new, |other| {
        let name = if other == '\t' { "tab".to_owned() } else { format!("'{other}'") };
        format!("; the header is one column with {name} in it: --delimiter {name} cuts it there")
    })
}

fn missing<'a>(wanted: &[String], present: impl Iterator<Item = &'a str>) -> String {
    let present = present.collect::<Vec<_>>().join(", ");
    let option = "name another with --text-column, --pair-column or --label-column";
    match wanted {
        [one] => format!("no column '{one}'; the columns are {present}"),
        _ => format!("no column {}; the columns are {present}; {option}", wanted.join(", ")),
    }
}

/// A label as text: JSON labels are often numbers.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
