//! A table of a report.

use crate::figures::fixed;
use crate::markup::{Escaped, minus};
use exegete_core::report::{Cell, Table};

/// From this many rows on, a table is folded: its pictures and what stands below it would be pages apart.
const FOLDED: usize = 40;

/// A table with its title, pictures, columns and notes.
pub(super) fn table(table: &Table, plots: &str) -> String {
    format!("<h1>{}</h1>\n{plots}{}", Escaped(&table.title), body(table))
}

/// The columns of a table and its notes, without a heading.
pub(super) fn body(table: &Table) -> String {
    let head = |(index, head): (usize, &String)| {
        let words = table.rows.iter().any(|row| matches!(row.get(index), Some(Cell::Word(_))));
        format!("<th{}>{}</th>", if words { "" } else { " class=\"number\"" }, Escaped(head))
    };
    let heads: String = table.columns.iter().enumerate().map(head).collect();
    let decimals = crate::figures::columns(table);
    let cell = |(cell, decimals): (&Cell, &usize)| self::cell(cell, *decimals);
    let row =
        |row: &Vec<Cell>| format!("<tr>{}</tr>\n", row.iter().zip(&decimals).map(cell).collect::<String>());
    let rows: String = table.rows.iter().map(row).collect();
    let all = format!(
        "<div class=\"wide\"><table class=\"table\">\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    );
    let shown = match table.rows.len() {
        count if count < FOLDED => all,
        count => format!("<details>\n<summary>all {count} rows</summary>\n{all}</details>\n"),
    };
    format!("{shown}{}", super::notes(&table.notes))
}

fn cell(cell: &Cell, decimals: usize) -> String {
    match cell {
        Cell::Estimate { mean, error } => {
            let (mean, error) = (minus(&fixed(*mean, decimals)), fixed(*error, decimals));
            format!("<td class=\"number\">{mean} <span class=\"soft\">± {error}</span></td>")
        }
        Cell::Interval { value, lower, upper } => {
            let [value, lower, upper] = [value, lower, upper].map(|number| minus(&fixed(*number, decimals)));
            format!("<td class=\"number\">{value} <span class=\"soft\">{lower} to {upper}</span></td>")
        }
        Cell::Number(value) => format!("<td class=\"number\">{}</td>", minus(&fixed(*value, decimals))),
        // Other columns leave long texts enough to be read.
        Cell::Word(word) if word.chars().count() > 40 => {
            format!("<td class=\"long\"><bdi>{}</bdi></td>", Escaped(word))
        }
        Cell::Word(word) => format!("<td><bdi>{}</bdi></td>", Escaped(word)),
        Cell::Empty => "<td></td>".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_tables_are_folded_and_their_notes_stay() {
        let folded = |count: usize| {
            let rows = (0..count).map(|at| vec![Cell::Number(at as f64)]).collect();
            body(&Table { columns: vec!["n".into()], rows, notes: vec!["note".into()], ..Table::default() })
        };
        assert!(!folded(FOLDED - 1).contains("<details>"));
        let long = folded(FOLDED);
        assert!(long.contains("<summary>all 40 rows</summary>"), "{long}");
        assert!(long.find("note") > long.find("</details>"), "{long}");
    }
}
