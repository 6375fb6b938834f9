//! A table of a report.

use super::grid::{Column, Grid};
use super::paint::Span;
use super::screen::Screen;
use crate::figures::fixed;
use exegete_core::report::{Cell, Table};

/// A table with its title, columns and notes.
pub(super) fn table(screen: &mut Screen, table: &Table) {
    screen.line(0, 2, &[Span::strong(&table.title)]);
    let mut grid = Grid::new(2, 2);
    for (index, head) in table.columns.iter().enumerate() {
        let words = table.rows.iter().any(|row| matches!(row.get(index), Some(Cell::Word(_))));
        grid.columns.push(if words { Column::text(head) } else { Column::number(head) });
    }
    let decimals = crate::figures::columns(table);
    let cell = |(cell, decimals): (&Cell, &usize)| Span::plain(shown(cell, *decimals));
    grid.rows = table.rows.iter().map(|row| row.iter().zip(&decimals).map(cell).collect()).collect();
    grid.print(screen);
    super::notes(screen, 0, &table.notes);
}

fn shown(cell: &Cell, decimals: usize) -> String {
    match cell {
        Cell::Estimate { mean, error } => format!("{} ± {}", fixed(*mean, decimals), fixed(*error, decimals)),
        Cell::Interval { value, lower, upper } => {
            let [value, lower, upper] = [value, lower, upper].map(|number| fixed(*number, decimals));
            format!("{value} ({lower} to {upper})")
        }
        Cell::Number(value) => fixed(*value, decimals),
        Cell::Word(word) => word.clone(),
        Cell::Empty => String::new(),
    }
}
