//! Objects as a table: a column a field.

use exegete_core::report::{Cell, ReportRow, Rows, Table};
use serde_json::{Map, Value};

/// More rows than that are for programs, not for reading.
const SHOWN: usize = 20;

/// All rows, lists and objects in a cell as JSON.
pub(crate) fn whole(rows: &Rows) -> Table {
    table(rows, &rows.columns(), rows.rows.len())
}

/// The first rows, and of the fields those that are numbers or words; a note says what is left out.
pub(crate) fn for_reading(rows: &Rows) -> Table {
    let nested = |column: &&str| {
        rows.rows
            .iter()
            .filter_map(|row| row.get(column))
            .any(|value| matches!(cell(value), Cell::Empty) && !value.is_null())
    };
    let (hidden, shown): (Vec<&str>, Vec<&str>) = rows.columns().into_iter().partition(nested);
    let mut table = table(rows, &shown, SHOWN);
    if rows.rows.len() > SHOWN {
        table.notes.push(format!("the first {SHOWN} of {} rows; JSON and CSV have all", rows.rows.len()));
    }
    if !hidden.is_empty() {
        table.notes.push(format!("JSON and CSV also have {}", hidden.join(", ")));
    }
    table
}

fn table(rows: &Rows, columns: &[&str], most: usize) -> Table {
    let row =
        |row: &ReportRow| columns.iter().map(|column| row.get(column).map_or(Cell::Empty, any)).collect();
    Table {
        name: rows.name.clone(),
        title: if rows.title.is_empty() { rows.name.replace('_', " ") } else { rows.title.clone() },
        columns: columns.iter().map(|&column| column.to_owned()).collect(),
        rows: rows.rows.iter().take(most).map(row).collect(),
        notes: rows.notes.clone(),
        ..Table::default()
    }
}

/// A value as a cell, whatever it is.
fn any(value: &Value) -> Cell {
    match (cell(value), value) {
        (Cell::Empty, Value::Array(_) | Value::Object(_)) => Cell::Word(value.to_string()),
        (cell, _) => cell,
    }
}

/// The field of an object, or the field of a field where the name has a point: `a.b` is the field b of a.
pub(crate) fn field<'a>(row: &'a ReportRow, name: &str) -> Option<&'a Value> {
    let nested = || {
        let (outer, inner) = name.split_once('.')?;
        inner.split('.').try_fold(row.get(outer)?, |value, name| value.get(name))
    };
    row.get(name).or_else(nested)
}

/// A value that is read as one cell; lists and other objects are none.
pub(crate) fn cell(value: &Value) -> Cell {
    match value {
        Value::Number(number) => number.as_f64().map_or(Cell::Empty, Cell::Number),
        Value::String(word) => Cell::Word(word.clone()),
        Value::Bool(yes) => Cell::Word(if *yes { "yes" } else { "no" }.to_owned()),
        Value::Object(fields) => spread(fields).unwrap_or(Cell::Empty),
        Value::Null | Value::Array(_) => Cell::Empty,
    }
}

/// A number with its error or its interval.
fn spread(fields: &Map<String, Value>) -> Option<Cell> {
    let number = |name: &str| fields.get(name).and_then(Value::as_f64);
    match fields.len() {
        2 => Some(Cell::Estimate { mean: number("mean")?, error: number("error")? }),
        3 => {
            Some(Cell::Interval { value: number("value")?, lower: number("lower")?, upper: number("upper")? })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_become_columns_and_lists_are_left_to_programs() {
        let json = r#"{"name": "texts", "rows": [
            {"text": "a", "tau": 0.5, "alpha": [0.5, 0.5]},
            {"text": "b", "tau": null, "alpha": [1.0], "share": {"value": 1.0, "lower": 0.0, "upper": 2.0}}
        ]}"#;
        let rows: Rows = serde_json::from_str(json).unwrap();
        let (read, whole) = (for_reading(&rows), whole(&rows));
        assert_eq!(read.columns, ["text", "tau", "share"]);
        assert_eq!(read.notes, ["JSON and CSV also have alpha"]);
        assert_eq!(read.rows[1][1], Cell::Empty);
        assert_eq!(read.rows[1][2], Cell::Interval { value: 1.0, lower: 0.0, upper: 2.0 });
        assert_eq!(whole.columns, ["text", "tau", "alpha", "share"]);
        assert_eq!(whole.rows[0][2], Cell::Word("[0.5,0.5]".to_owned()));
    }
}
