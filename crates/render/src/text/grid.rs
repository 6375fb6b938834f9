//! Aligned columns.

use super::paint::Span;
use super::screen::Screen;
use crate::figures::fixed;
use crate::visible::clipped;
use exegete_core::report::{Cell, Table};

/// One column's head.
pub(super) struct Column {
    head: Span,
    right: bool,
}

impl Column {
    /// Numbers stand right.
    pub(super) fn number(head: &str) -> Self {
        Self { head: Span::faint(head), right: true }
    }

    /// Words stand left.
    pub(super) fn word(head: &str) -> Self {
        Self { head: Span::faint(head), right: false }
    }
}

/// Aligned columns; those that do not fit follow below, with the first column again.
pub(super) struct Grid {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<Span>>,
    indent: usize,
    gap: usize,
}

impl Grid {
    pub(super) fn new(indent: usize, gap: usize) -> Self {
        Self { columns: Vec::new(), rows: Vec::new(), indent, gap }
    }

    pub(super) fn print(&self, screen: &mut Screen) {
        let widths = self.widths(screen.width);
        let Some((first, others)) = widths.split_first() else { return };
        let mut start = 0;
        loop {
            let mut used = self.indent + first;
            let fit = others[start..].iter().take_while(|width| {
                used += self.gap + **width;
                used <= screen.width
            });
            let end = (start + fit.count().max(1)).min(others.len());
            let shown: Vec<usize> = std::iter::once(0).chain(start + 1..end + 1).collect();
            self.block(screen, &shown, &widths);
            start = end;
            if start >= others.len() {
                return;
            }
            screen.blank();
        }
    }

    /// As wide as the widest cell. The first column takes at most a third of the line, so that others have room.
    fn widths(&self, line: usize) -> Vec<usize> {
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column)).map(Span::width);
            cells.chain(self.columns.get(column).map(|c| c.head.width())).max().unwrap_or(0)
        };
        let columns = self.rows.iter().map(Vec::len).fold(self.columns.len(), usize::max);
        let first =
            |width: usize| if columns > 1 { width.min(line / 3) } else { width.min(line - self.indent) };
        let room = line.saturating_sub(self.indent + self.gap + first(widest(0)));
        (0..columns).map(|c| if c == 0 { first(widest(0)) } else { widest(c).min(room) }).collect()
    }

    fn block(&self, screen: &mut Screen, shown: &[usize], widths: &[usize]) {
        let heads: Vec<Span> = self.columns.iter().map(|column| column.head.clone()).collect();
        if shown.iter().any(|column| heads.get(*column).is_some_and(|head| head.width() > 0)) {
            screen.row(&self.laid_out(&heads, shown, widths));
        }
        for row in &self.rows {
            screen.row(&self.laid_out(row, shown, widths));
        }
    }

    fn laid_out(&self, row: &[Span], shown: &[usize], widths: &[usize]) -> Vec<Span> {
        let mut spans = vec![Span::plain(" ".repeat(self.indent))];
        for (place, &column) in shown.iter().enumerate() {
            if place > 0 {
                spans.push(Span::plain(" ".repeat(self.gap)));
            }
            let cell = row.get(column).cloned().unwrap_or_else(|| Span::plain(""));
            let cell = cell.with(&clipped(cell.text(), widths[column]));
            let padding = Span::plain(" ".repeat(widths[column].saturating_sub(cell.width())));
            if self.columns.get(column).is_some_and(|column| column.right) {
                spans.extend([padding, cell]);
            } else {
                spans.extend([cell, padding]);
            }
        }
        spans
    }
}

/// A table of a report.
pub(super) fn table(screen: &mut Screen, table: &Table) {
    screen.line(0, 2, &[Span::strong(&table.title)]);
    let mut grid = Grid::new(2, 2);
    for (index, head) in table.columns.iter().enumerate() {
        let words = table.rows.iter().any(|row| matches!(row.get(index), Some(Cell::Word(_))));
        grid.columns.push(if words { Column::word(head) } else { Column::number(head) });
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
        Cell::Number(value) => fixed(*value, decimals),
        Cell::Word(word) => word.clone(),
        Cell::Empty => String::new(),
    }
}
