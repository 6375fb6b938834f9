//! A table as it is.

use super::{Row, number, word};
use exegete_core::report::{Cell, Table};

/// A column of estimates becomes two and one of intervals three, so that every cell holds one number.
pub(super) fn rows(table: &Table) -> (Row, Vec<Row>) {
    let columns = table.rows.iter().map(Vec::len).fold(table.columns.len(), usize::max);
    let (mut head, mut rows) = (Row::new(), vec![Row::new(); table.rows.len()]);
    for column in 0..columns {
        let name = table.columns.get(column).map_or_else(String::new, |name| word(name));
        let further = further(table, column);
        head.push(name.clone());
        head.extend(further.iter().map(|suffix| format!("{name}_{suffix}")));
        for (row, cells) in rows.iter_mut().zip(&table.rows) {
            let mut parts = cell(cells.get(column), further);
            parts.resize(1 + further.len(), String::new());
            row.append(&mut parts);
        }
    }
    (head, rows)
}

/// What stands beside the numbers of a column.
fn further(table: &Table, column: usize) -> &'static [&'static str] {
    let has = |wanted: fn(&Cell) -> bool| table.rows.iter().filter_map(|row| row.get(column)).any(wanted);
    if has(|cell| matches!(cell, Cell::Interval { .. })) {
        &["lower", "upper"]
    } else if has(|cell| matches!(cell, Cell::Estimate { .. })) {
        &["error"]
    } else {
        &[]
    }
}

fn cell(cell: Option<&Cell>, further: &[&str]) -> Vec<String> {
    match cell {
        // Among intervals there is no column for a standard error.
        Some(Cell::Estimate { mean, .. }) if further.len() != 1 => vec![number(*mean)],
        Some(Cell::Estimate { mean, error }) => vec![number(*mean), number(*error)],
        Some(Cell::Interval { value, lower, upper }) => [value, lower, upper].map(|v| number(*v)).to_vec(),
        Some(Cell::Number(value)) => vec![number(*value)],
        Some(Cell::Word(text)) => vec![word(text)],
        Some(Cell::Empty) | None => vec![String::new()],
    }
}
