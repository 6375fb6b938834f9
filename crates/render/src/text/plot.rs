//! Pictures that letters can draw: histograms, bars and grids. Others are only named.

use super::grid::{Column, Grid};
use super::paint::{Span, Tone};
use super::screen::Screen;
use crate::figures::{column_decimals, count, fixed, setting};
use crate::plot::{Cells, Counted, Source, bars, cells, counted};
use crate::scale::Scale;
use exegete_core::report::{Picture, Shape};

/// Eighths of a cell upwards.
const UP: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// How many rows are listed.
const LISTED: usize = 24;
/// The cells of the longest bar.
const BAR_CELLS: f64 = 24.0;

/// All pictures of an item.
pub(super) fn plots(screen: &mut Screen, pictures: &[Picture], source: Source<'_>) {
    for picture in pictures {
        let drawn = match picture.shape {
            Shape::Histogram => histogram(screen, picture, source),
            Shape::Bars => bar_lines(screen, picture, source),
            Shape::Grid => grid(screen, picture, source),
            _ => None,
        };
        if drawn.is_none() {
            let told = format!("picture: {} (in HTML, SVG and PNG)", picture.title);
            screen.line(0, 2, &[Span::faint(told)]);
        }
    }
}

/// A line of blocks a series, with its ends below.
fn histogram(screen: &mut Screen, picture: &Picture, source: Source<'_>) -> Option<()> {
    let Counted { low, wide, bins, series, .. } = counted(picture, source)?;
    // Bins that no line can hold are put together.
    let together = bins.div_ceil(screen.width.saturating_sub(36).max(8));
    screen.blank();
    screen.line(0, 2, &[Span::strong(&picture.title)]);
    let mut table = Grid::new(2, 2);
    table.columns.extend([Column::word(""), Column::word(""), Column::number("")]);
    for (name, counts) in series.iter().take(LISTED) {
        let counts: Vec<usize> = counts.chunks(together).map(|bins| bins.iter().sum()).collect();
        let most = counts.iter().copied().max().unwrap_or(0).max(1);
        let block = |rows: &usize| match rows * UP.len() {
            0 => ' ',
            eighths => UP[(eighths.div_ceil(most) - 1).min(UP.len() - 1)],
        };
        let line: String = counts.iter().map(block).collect();
        let rows = count(counts.iter().sum(), "row");
        table.rows.push(vec![
            Span::plain(name),
            Span::new(format!("│{line}│"), Tone::For),
            Span::faint(rows),
        ]);
    }
    let ends = format!("{} … {}", setting(low), setting(low + wide * bins as f64));
    table.rows.push(vec![Span::plain(""), Span::faint(ends), Span::plain("")]);
    table.print(screen);
    Some(())
}

fn bar_lines(screen: &mut Screen, picture: &Picture, source: Source<'_>) -> Option<()> {
    let bars = bars(picture, source);
    let values: Vec<f64> = bars.iter().map(|bar| bar.value).collect();
    let scale = Scale::new(&values);
    let decimals = column_decimals(scale.largest()).min(3);
    if bars.is_empty() {
        return None;
    }
    screen.blank();
    screen.line(0, 2, &[Span::strong(&picture.title)]);
    let mut table = Grid::new(2, 2);
    table.columns.extend([Column::word(""), Column::word(""), Column::number(""), Column::word("")]);
    for bar in bars.iter().take(LISTED) {
        let cells = (scale.strength(bar.value).abs() * BAR_CELLS).round() as usize;
        let tone = if bar.value < 0.0 { Tone::Against } else { Tone::For };
        let value = Span::plain(fixed(bar.value, decimals));
        table.rows.push(vec![
            Span::plain(&bar.name),
            Span::plain(&bar.series),
            value,
            Span::new("█".repeat(cells), tone),
        ]);
    }
    table.print(screen);
    more(screen, bars.len());
    Some(())
}

fn grid(screen: &mut Screen, picture: &Picture, source: Source<'_>) -> Option<()> {
    let Cells { columns, rows, values } = cells(picture, source)?;
    let scale = Scale::new(values.iter().flatten().flatten());
    let decimals = column_decimals(scale.largest()).min(2);
    screen.blank();
    screen.line(0, 2, &[Span::strong(&picture.title)]);
    let mut table = Grid::new(2, 1);
    table.columns.push(Column::word(""));
    table.columns.extend(columns.iter().take(LISTED).map(|head| Column::number(head)));
    for (name, values) in rows.iter().zip(&values).take(LISTED) {
        let cell = |value: &Option<f64>| match value {
            Some(value) => Span::new(fixed(*value, decimals), Tone::Heat(scale.strength(*value))),
            None => Span::plain(""),
        };
        let cells = values.iter().take(LISTED).map(cell);
        table.rows.push(std::iter::once(Span::plain(name)).chain(cells).collect());
    }
    table.print(screen);
    more(screen, rows.len().max(columns.len()));
    Some(())
}

fn more(screen: &mut Screen, all: usize) {
    if all > LISTED {
        screen.line(2, 2, &[Span::faint(format!("the first {LISTED} of {all}"))]);
    }
}
