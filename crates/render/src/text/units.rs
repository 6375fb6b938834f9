//! The strongest units with their numbers.

use super::grid::{Column, Grid};
use super::paint::{Span, Tone};
use super::screen::Screen;
use crate::figures::{column_decimals, count, share, signed};
use crate::scale::{Scale, ranked};
use exegete_core::report::Attribution;

/// How many units are listed before the rest is only counted.
const LISTED: usize = 8;
const BAR_CELLS: f64 = 24.0;

/// Value, standard error, share and bar of the top units.
pub(super) fn top(screen: &mut Screen, attribution: &Attribution) {
    let Attribution { units, values, errors, .. } = attribution;
    if units.is_empty() {
        return screen.line(2, 2, &[Span::faint("no units")]);
    }
    let scale = Scale::new(values);
    let decimals = column_decimals(scale.largest());
    let mut grid = Grid::new(2, 2);
    grid.columns.extend([
        Column::word(""),
        Column::number("value"),
        Column::number("share"),
        Column::word(""),
    ]);
    if !errors.is_empty() {
        grid.columns.insert(2, Column::number("error"));
    }
    for &index in ranked(values).iter().filter(|i| **i < units.len()).take(LISTED) {
        let (value, error) = (values[index], errors.get(index).copied());
        let mut row = vec![Span::plain(&units[index].text), Span::plain(signed(value, decimals))];
        if !errors.is_empty() {
            let error = error
                .map_or_else(String::new, |e| format!("±{}", signed(e, decimals).trim_start_matches('+')));
            row.push(Span::faint(error));
        }
        row.push(Span::plain(share(scale.share(value))));
        row.push(Span::new(bar(scale, value, error), if value < 0.0 { Tone::Against } else { Tone::For }));
        grid.rows.push(row);
    }
    grid.print(screen);
    if units.len() > grid.rows.len() {
        let more = count(units.len() - grid.rows.len(), "weaker unit");
        screen.line(2, 2, &[Span::faint(format!("and {more}"))]);
    }
}

/// A bar in eighths of a cell; with a standard error, in cells with the uncertain stretch shaded.
fn bar(scale: Scale, value: f64, error: Option<f64>) -> String {
    let cells = |value: f64| scale.strength(value.abs()) * BAR_CELLS;
    match error.filter(|error| error.is_finite()) {
        Some(error) => {
            let sure = cells((value.abs() - error.abs()).max(0.0)).round() as usize;
            let end = (cells(value) + cells(error)).min(BAR_CELLS + 6.0).round() as usize;
            format!("{}{}", "█".repeat(sure), "▒".repeat(end.saturating_sub(sure)))
        }
        None => {
            let eighths = (cells(value) * 8.0).round() as usize;
            format!("{}{}", "█".repeat(eighths / 8), ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8])
        }
    }
}
