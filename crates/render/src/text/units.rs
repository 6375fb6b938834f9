//! The strongest units with their numbers.

use super::grid::{Column, Grid};
use super::paint::{Span, Tone};
use super::screen::Screen;
use crate::figures::{column_decimals, error, share, signed};
use crate::scale::Scale;
use crate::ties::{TiedUnit, left_out, places, reach};
use exegete_core::report::Attribution;

/// How many units are listed before the rest is only counted.
const LISTED: usize = 8;
const BAR_CELLS: f64 = 24.0;

/// Value, share and bar of the top units; rank and standard error where the method samples.
pub(super) fn top(screen: &mut Screen, attribution: &Attribution) {
    let Attribution { units, values, errors, .. } = attribution;
    if units.is_empty() {
        return screen.line(2, 2, &[Span::faint("no units")]);
    }
    let scale = Scale::new(values);
    let places = places(attribution);
    let listed = &places[..places.len().min(LISTED)];
    let mut grid = Grid::new(2, 2);
    grid.columns.extend([Column::word(""), Column::number("value")]);
    if !errors.is_empty() {
        grid.columns.insert(1, Column::number("rank"));
        grid.columns.push(Column::number("error"));
    }
    grid.columns.extend([Column::number("share"), Column::word("")]);
    grid.rows = listed.iter().map(|place| row(attribution, *place, scale)).collect();
    grid.print(screen);
    screen.line(2, 2, &[Span::faint(left_out(&places, listed.len()))]);
    if !errors.is_empty() {
        let tied = if listed.iter().any(|place| place.tied) { "≈: tied within the errors; " } else { "" };
        screen.line(2, 2, &[Span::faint(format!("{tied}▒: 95 % interval, 1.96 standard errors each way"))]);
    }
}

fn row(attribution: &Attribution, place: TiedUnit, scale: Scale) -> Vec<Span> {
    let Attribution { units, values, errors, .. } = attribution;
    let value = values[place.unit];
    let decimals = column_decimals(scale.largest());
    let mut row = vec![Span::plain(&units[place.unit].text), Span::plain(signed(value, decimals))];
    let own = errors.get(place.unit).copied();
    if !errors.is_empty() {
        row.insert(1, Span::plain(place.label()));
        row.push(Span::faint(own.map_or_else(String::new, |own| error(own, decimals))));
    }
    row.push(Span::plain(share(scale.share(value))));
    row.push(Span::new(bar(scale, value, own), if value < 0.0 { Tone::Against } else { Tone::For }));
    row
}

/// A bar in eighths of a cell; with a standard error, in cells with the uncertain stretch shaded.
fn bar(scale: Scale, value: f64, error: Option<f64>) -> String {
    let cells = |value: f64| scale.strength(value.abs()) * BAR_CELLS;
    match error.filter(|error| error.is_finite()) {
        Some(error) => {
            let reach = reach(error);
            let sure = cells((value.abs() - reach).max(0.0)).round() as usize;
            let end = (cells(value) + cells(reach)).min(BAR_CELLS + 6.0).round() as usize;
            format!("{}{}", "█".repeat(sure), "▒".repeat(end.saturating_sub(sure)))
        }
        None => {
            let eighths = (cells(value) * 8.0).round() as usize;
            format!("{}{}", "█".repeat(eighths / 8), ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8])
        }
    }
}
