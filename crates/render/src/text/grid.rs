//! Columns of text, aligned by the width that a terminal gives each character.

use super::paint::Span;
use super::screen::Screen;
use crate::visible::{broken, clipped};

/// Columns that break leave one another at least so much.
const NARROW: usize = 18;
/// Lines of a cell before the rest of it is left out.
const LINES: usize = 10;

/// The head of one column, and how its cells stand.
pub(super) struct Column {
    head: Span,
    right: bool,
    breaks: bool,
}

impl Column {
    /// A column of numbers, which stand on the right.
    pub(super) fn number(head: &str) -> Self {
        Self { head: Span::faint(head), right: true, breaks: false }
    }

    /// A column of words, which stand on the left.
    pub(super) fn word(head: &str) -> Self {
        Self { head: Span::faint(head), right: false, breaks: false }
    }

    /// Text stands left, on several lines where one does not hold it.
    pub(super) fn text(head: &str) -> Self {
        Self { head: Span::faint(head), right: false, breaks: true }
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

    /// As wide as the widest cell, as far as columns that break have room for theirs. The first column takes at most a
    /// third of the line where it would push others out.
    fn widths(&self, line: usize) -> Vec<usize> {
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column)).map(Span::width);
            cells.chain(self.columns.get(column).map(|c| c.head.width())).max().unwrap_or(0)
        };
        let columns = self.rows.iter().map(Vec::len).fold(self.columns.len(), usize::max);
        let mut widths: Vec<usize> = (0..columns).map(widest).collect();
        self.share(&mut widths, line);
        let Some((first, others)) = widths.split_first_mut() else { return widths };
        *first = (*first).min(if others.is_empty() { line - self.indent } else { line / 3 });
        let room = line.saturating_sub(self.indent + self.gap + *first);
        others.iter_mut().for_each(|width| *width = (*width).min(room));
        widths
    }

    /// Columns that break get what the others leave of the line: the narrow ones all they need, the wide ones the same.
    /// The first is repeated where others follow below, so it keeps its third.
    fn share(&self, widths: &mut [usize], line: usize) {
        let breaks = |column: &usize| self.columns.get(*column).is_some_and(|column| column.breaks);
        let mut breaking: Vec<usize> = (0..widths.len()).filter(breaks).collect();
        breaking.sort_by_key(|column| widths[*column]);
        let fixed: usize =
            (0..widths.len()).filter(|column| !breaks(column)).map(|column| widths[column]).sum();
        let gaps = self.indent + self.gap * widths.len().saturating_sub(1);
        let mut room = line.saturating_sub(fixed + gaps);
        for (place, column) in breaking.iter().enumerate() {
            let share = room / (breaking.len() - place);
            let least = if *column == 0 { line / 3 } else { NARROW };
            widths[*column] = widths[*column].min(share.max(least));
            room = room.saturating_sub(widths[*column]);
        }
    }

    fn block(&self, screen: &mut Screen, shown: &[usize], widths: &[usize]) {
        let heads: Vec<Span> = self.columns.iter().map(|column| column.head.clone()).collect();
        if shown.iter().any(|column| heads.get(*column).is_some_and(|head| head.width() > 0)) {
            self.row(screen, &heads, shown, widths);
        }
        for row in &self.rows {
            self.row(screen, row, shown, widths);
        }
    }

    fn row(&self, screen: &mut Screen, row: &[Span], shown: &[usize], widths: &[usize]) {
        let lines = |column: &usize| self.lines(row.get(*column), *column, widths[*column]);
        let cells: Vec<Vec<Span>> = shown.iter().map(lines).collect();
        for line in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
            let mut spans = vec![Span::plain(" ".repeat(self.indent))];
            for (place, (cell, &column)) in cells.iter().zip(shown).enumerate() {
                if place > 0 {
                    spans.push(Span::plain(" ".repeat(self.gap)));
                }
                let cell = cell.get(line).cloned().unwrap_or_else(|| Span::plain(""));
                let padding = Span::plain(" ".repeat(widths[column].saturating_sub(cell.width())));
                if self.columns.get(column).is_some_and(|column| column.right) {
                    spans.extend([padding, cell]);
                } else {
                    spans.extend([cell, padding]);
                }
            }
            screen.row(&spans);
        }
    }

    fn lines(&self, cell: Option<&Span>, column: usize, width: usize) -> Vec<Span> {
        let cell = cell.cloned().unwrap_or_else(|| Span::plain(""));
        if !self.columns.get(column).is_some_and(|column| column.breaks) {
            return vec![cell.with(&clipped(cell.text(), width))];
        }
        broken(cell.text(), width, LINES).iter().map(|line| cell.with(line)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(columns: Vec<Column>, row: &[&str], width: usize) -> String {
        let mut grid = Grid::new(0, 1);
        (grid.columns, grid.rows) = (columns, vec![row.iter().map(Span::plain).collect()]);
        let mut screen = Screen::new(false, width);
        grid.print(&mut screen);
        screen.finish()
    }

    #[test]
    fn text_breaks_and_names_stay_whole() {
        let (text, number) = (|| Column::text(""), || Column::number(""));
        let long = "one two three four five six seven eight nine ten";
        for (columns, row, expected) in [
            // All fits.
            (vec![text(), number()], &["name", "1.0"][..], "name 1.0\n"),
            // A text takes what the others leave.
            (
                vec![text(), text(), number()],
                &["name", long, "1.0"],
                "name one two three four five six     1.0\n     seven eight nine ten\n",
            ),
            // Numbers that do not fit follow below; the name beside them keeps its third.
            (
                vec![text(), number(), number()],
                &["named_at_length", "12345678901234567890", "12345678901234567890"],
                "named_at_leng 12345678901234567890\nth\n\nnamed_at_leng 12345678901234567890\nth\n",
            ),
            (
                vec![text(), number(), number()],
                &["thirteen_wide", "12345678901234567890", "12345678901234567890"],
                "thirteen_wide 12345678901234567890\n\nthirteen_wide 12345678901234567890\n",
            ),
        ] {
            assert_eq!(printed(columns, row, 40), expected);
        }
    }
}
