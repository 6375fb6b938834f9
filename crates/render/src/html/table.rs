//! A table of a report.

use crate::figures::figure;
use crate::markup::{Escaped, minus};
use exegete_core::report::{Cell, Table};

/// Title, columns, notes.
pub(super) fn table(table: &Table) -> String {
    let head = |head: &String| format!("<th>{}</th>", Escaped(head));
    let heads: String = table.columns.iter().map(head).collect();
    let row = |row: &Vec<Cell>| format!("<tr>{}</tr>\n", row.iter().map(cell).collect::<String>());
    let rows: String = table.rows.iter().map(row).collect();
    format!(
        "<h1>{}</h1>\n<div class=\"wide\"><table class=\"table\">\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n{}",
        Escaped(&table.title),
        super::notes(&table.notes)
    )
}

fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Estimate { mean, error } => {
            let (mean, error) = (minus(&figure(*mean)), figure(*error));
            format!("<td class=\"number\">{mean} <span class=\"soft\">± {error}</span></td>")
        }
        Cell::Number(value) => format!("<td class=\"number\">{}</td>", minus(&figure(*value))),
        Cell::Word(word) => format!("<td><bdi>{}</bdi></td>", Escaped(word)),
        Cell::Empty => "<td></td>".to_owned(),
    }
}
