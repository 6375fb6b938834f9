//! Tokens × sites as a grid of tenths of the largest score.

use super::grid::{Column, Grid};
use super::paint::{Span, Tone};
use super::screen::Screen;
use crate::figures::{column_decimals, figure, fixed, percent};
use crate::map::{Heads, Shown, shown};
use crate::scale::{Scale, ranked};
use crate::sense::without_sign;
use exegete_core::report::{Map, MapLayer, MatrixAxes, Provenance, Sense};

/// How many tokens are listed, in the order of the text.
const LISTED: usize = 128;
/// How many columns of a matrix are named beside each row.
const STRONGEST: usize = 3;

/// The grid, and what each layer's scores come to.
pub(super) fn map(screen: &mut Screen, map: &Map, provenance: &Provenance) {
    super::header(screen, &map.subject, &crate::map::asked(map), provenance);
    screen.blank();
    if let Some(axes) = &map.axes {
        return matrix(screen, map, axes);
    }
    let Shown { scale, tokens, left_out, heads: Heads { heads, key } } = shown(map, LISTED);
    let mut grid = Grid::new(2, 1);
    grid.columns.push(Column::word(""));
    grid.columns.extend(heads.iter().map(|head| Column::number(head)));
    for token in tokens {
        let mut row = vec![Span::plain(&map.tokens[token].piece)];
        row.extend(map.layers.iter().map(|layer| cell(layer, scale, token)));
        grid.rows.push(row);
    }
    grid.rows.extend(feet(map));
    grid.print(screen);
    screen.line(2, 2, &[Span::faint(left_out)]);
    screen.blank();
    legend(screen, scale, &key, map.subject.sense);
}

/// For each row the columns that it takes most from.
fn matrix(screen: &mut Screen, map: &Map, axes: &MatrixAxes) {
    let scale = Scale::new(map.layers.iter().flat_map(|layer| &layer.token_values));
    let decimals = column_decimals(scale.largest()).min(3);
    let mut grid = Grid::new(2, 2);
    grid.columns.push(Column::word(&axes.rows));
    grid.columns.push(Column::word(&format!("the largest by {}", axes.columns)));
    grid.columns.extend((1..STRONGEST).map(|_| Column::word("")));
    for layer in map.layers.iter().take(LISTED) {
        let strongest = ranked(&layer.token_values).into_iter().take(STRONGEST);
        let cell = |at: usize| {
            let value = layer.token_values[at];
            let piece = map.tokens.get(at).map_or("", |token| &token.piece);
            Span::new(format!("{piece} {}", fixed(value, decimals)), Tone::Heat(scale.strength(value)))
        };
        grid.rows.push(std::iter::once(Span::plain(&layer.site)).chain(strongest.map(cell)).collect());
    }
    grid.print(screen);
    if map.layers.len() > LISTED {
        screen.line(2, 2, &[Span::faint(format!("the first {LISTED} of {}", map.layers.len()))]);
    }
}

/// Tenths with a sign; a dot where there is less than half of one.
fn cell(layer: &MapLayer, scale: Scale, token: usize) -> Span {
    let Some(value) = layer.token_values.get(token) else { return Span::plain("") };
    let strength = scale.strength(*value);
    let text = match (strength * 10.0).round() as i32 {
        _ if value.is_nan() => "?".to_owned(),
        0 => "·".to_owned(),
        tenths => format!("{tenths:+}"),
    };
    Span::new(format!("{text:>3}"), Tone::Heat(strength))
}

/// Entropy and gap of each layer, where known.
fn feet(map: &Map) -> Vec<Vec<Span>> {
    let row = |name: &str, cell: &dyn Fn(&MapLayer) -> String| {
        let cells = map.layers.iter().map(|layer| Span::faint(cell(layer)));
        std::iter::once(Span::faint(name)).chain(cells).collect::<Vec<_>>()
    };
    let mut feet = vec![row("entropy", &|layer| format!("{:.1}", layer.entropy))];
    if map.layers.iter().any(|layer| layer.completeness.is_some()) {
        let gap = |layer: &MapLayer| {
            layer.completeness.as_ref().map_or_else(String::new, |c| percent(c.gap).replace(' ', ""))
        };
        feet.push(row("gap", &gap));
    }
    feet
}

fn legend(screen: &mut Screen, scale: Scale, key: &str, sense: Sense) {
    let largest = figure(scale.largest());
    let read = without_sign(sense).unwrap_or("+ for, - against");
    let text =
        format!("columns: {key}; cells: tenths of the largest score {largest}, {read}; entropy in bits");
    screen.line(2, 2, &[Span::faint(text)]);
}
