//! A table as it is.

use super::{Row, number, word};
use exegete_core::report::{Cell, Table};

/// A column of estimates becomes two, so that every cell holds one number.
pub(super) fn rows(table: &Table) -> (Row, Vec<Row>) {
    let estimated =
        |column: &usize| table.rows.iter().any(|row| matches!(row.get(*column), Some(Cell::Estimate { .. })));
    let columns = table.rows.iter().map(Vec::len).fold(table.columns.len(), usize::max);
    let (mut head, mut rows) = (Row::new(), vec![Row::new(); table.rows.len()]);
    for column in 0..columns {
        let name = table.columns.get(column).map_or_else(String::new, |name| word(name));
        let estimated = estimated(&column);
        head.push(name.clone());
        head.extend(estimated.then(|| format!("{name}_error")));
        for (row, cells) in rows.iter_mut().zip(&table.rows) {
            let (value, error) = cell(cells.get(column));
            row.push(value);
            row.extend(estimated.then_some(error));
        }
    }
    (head, rows)
}

fn cell(cell: Option<&Cell>) -> (String, String) {
    match cell {
        Some(Cell::Estimate { mean, error }) => (number(*mean), number(*error)),
        Some(Cell::Number(value)) => (number(*value), String::new()),
        Some(Cell::Word(text)) => (word(text), String::new()),
        Some(Cell::Empty) | None => Default::default(),
    }
}
