//! Cells at a column and a row, as dark as their number is large: heads by layers, or words of one text by words of another.

use super::data::{kinds, label, number};
use super::ink::{LETTERS, SMALL, clipped_text, text, told};
use super::{Plot, Source, along, left_out};
use crate::figures::{figure, setting};
use crate::markup::minus;
use crate::measure::{clipped, width};
use crate::scale::Scale;
use exegete_core::report::{Map, MatrixAxes, Picture};
use std::collections::BTreeMap;

/// How many columns and how many rows are drawn.
const MOST: usize = 64;
/// The height of a cell.
const HIGH: f64 = 22.0;
/// The width of a cell: the least, and what a grid may fill.
const WIDE: [f64; 2] = [24.0, 54.0];
/// The room that the cells of a small grid share.
const FIELD: f64 = 420.0;
/// At full strength a ground still leaves letters readable.
const STRENGTH: f64 = 0.62;

/// The numbers of a grid.
pub(crate) struct Cells {
    /// The heads of its columns.
    pub(crate) columns: Vec<String>,
    /// The names of its rows.
    pub(crate) rows: Vec<String>,
    /// Row by row; none where the item has no number.
    pub(crate) values: Vec<Vec<Option<f64>>>,
}

/// The cells of a picture; where several rows of the item are at one place, their mean.
pub(crate) fn cells(picture: &Picture, source: Source<'_>) -> Option<Cells> {
    let (y, of) = (picture.y.as_deref()?, picture.of.as_deref()?);
    let [xs, ys, strengths] = [picture.x.as_str(), y, of].map(|name| source.column(name));
    let mut sums: BTreeMap<(String, String), (f64, f64)> = BTreeMap::new();
    for ((x, y), strength) in xs.iter().zip(&ys).zip(&strengths) {
        if let Some(strength) = number(strength) {
            let sum = sums.entry((label(y), label(x))).or_default();
            *sum = (sum.0 + strength, sum.1 + 1.0);
        }
    }
    let (columns, rows) = (kinds(xs.iter()), kinds(ys.iter()));
    let value =
        |row: &String, column: &String| sums.get(&(row.clone(), column.clone())).map(|(sum, n)| sum / n);
    let values = rows.iter().map(|row| columns.iter().map(|column| value(row, column)).collect()).collect();
    (!sums.is_empty()).then_some(Cells { columns, rows, values })
}

/// Where the cells stand within the picture, in its units.
struct Field {
    left: f64,
    top: f64,
    wide: f64,
    /// Heads that have no room across stand upright.
    upright: bool,
}

/// The grid of a picture with the numbers that fit their cells.
pub(super) fn draw(picture: &Picture, source: Source<'_>) -> Option<Plot> {
    let all = cells(picture, source)?;
    let (x, y) =
        (along(picture.x_title.as_ref(), &picture.x), along(picture.y_title.as_ref(), picture.y.as_deref()?));
    Some(drawn(&all, [&x, &y], &along(None, picture.of.as_deref()?)))
}

/// A map that is a matrix; none where its columns are those of sites.
pub(crate) fn matrix(map: &Map) -> Option<Plot> {
    let MatrixAxes { rows, columns } = map.axes.as_ref()?;
    let drawable = |value: &f64| Some(*value).filter(|value| value.is_finite());
    let all = Cells {
        columns: map.tokens.iter().map(|token| token.piece.clone()).collect(),
        rows: map.layers.iter().map(|layer| layer.site.clone()).collect(),
        values: map.layers.iter().map(|layer| layer.token_values.iter().map(drawable).collect()).collect(),
    };
    let plot = drawn(&all, [columns, rows], &map.subject.method);
    Some(Plot { title: format!("{rows} by {columns}"), ..plot })
}

/// The cells under the heads of their columns, with what stands along both sides and what they show.
fn drawn(all: &Cells, [x, y]: [&str; 2], of: &str) -> Plot {
    let Cells { columns, rows, values } = all;
    let (across, down) = (columns.len().min(MOST), rows.len().min(MOST));
    let field = field(&columns[..across], &rows[..down]);
    let shown = || values[..down].iter().flat_map(|row| row.iter().take(across)).flatten();
    let scale = Scale::new(shown());
    let mut body = heads(&field, &columns[..across]);
    for (row, name) in rows[..down].iter().enumerate() {
        let y = field.top + HIGH * row as f64;
        body += &clipped_text(field.left - 6.0, y + HIGH / 2.0 + 4.0, "name end", name, field.left - 6.0);
        for (column, head) in columns[..across].iter().enumerate() {
            let x = field.left + field.wide * column as f64;
            body += &cell(
                (x, y),
                field.wide,
                values[row].get(column).copied().flatten(),
                scale,
                &format!("{name}, {head}"),
            );
        }
    }
    let (right, bottom) = (field.left + field.wide * across as f64, field.top + HIGH * down as f64);
    let key = format!("{of} by {y} and {x}; the largest is {}", minus(&figure(scale.largest())));
    let signed = shown().any(|value| *value < 0.0);
    let sign = signed.then(|| "blue: above zero; orange: below".to_owned());
    let notes = [left_out(columns.len(), MOST, "column"), left_out(rows.len(), MOST, "row"), sign, Some(key)];
    let body = body + &text(right, bottom + 18.0, "end", x) + &text(0.0, 12.0, "", y);
    let wide = right.max(160.0) + 4.0;
    Plot {
        title: String::new(),
        width: wide,
        height: bottom + 26.0,
        body,
        notes: notes.into_iter().flatten().collect(),
    }
}

fn field(columns: &[String], rows: &[String]) -> Field {
    let widest = |names: &[String]| names.iter().map(|name| width(name, LETTERS)).fold(0.0, f64::max);
    let left = (widest(rows) + 10.0).clamp(24.0, 130.0);
    let wide = (FIELD / columns.len().max(1) as f64).clamp(WIDE[0], WIDE[1]);
    let upright = widest(columns) > wide - 4.0;
    let top = 20.0 + if upright { widest(columns).min(96.0) + 8.0 } else { 18.0 };
    Field { left, top, wide, upright }
}

fn heads(field: &Field, columns: &[String]) -> String {
    let head = |(index, name): (usize, &String)| {
        let (x, y) = (field.left + field.wide * (index as f64 + 0.5), field.top - 6.0);
        if !field.upright {
            return text(x, y, "mid", name);
        }
        let name = clipped(&crate::visible::visible(name), LETTERS, 96.0);
        format!(
            "<g transform=\"translate({:.1} {y:.1}) rotate(-90)\">{}</g>\n",
            x + 4.0,
            text(0.0, 0.0, "", &name)
        )
    };
    columns.iter().enumerate().map(head).collect()
}

/// A cell with an outline, so that the grid can be seen where numbers are small.
fn cell((x, y): (f64, f64), wide: f64, value: Option<f64>, scale: Scale, place: &str) -> String {
    let rim =
        format!("<rect class=\"rim\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{HIGH}\"/>\n");
    let Some(value) = value else { return rim };
    let strength = scale.strength(value);
    let class = if strength < 0.0 { "against" } else { "for" };
    let ground = format!(
        "<rect class=\"{class}\" fill-opacity=\"{:.2}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{HIGH}\"/>\n",
        strength.abs() * STRENGTH
    );
    let number = short(value, scale.largest());
    let fits = width(&number, SMALL) <= wide - 3.0;
    let number = if fits {
        text(x + wide / 2.0, y + HIGH / 2.0 + 3.5, "name small mid", &number)
    } else {
        String::new()
    };
    told(&format!("{place}: {}", minus(&setting(value))), &(ground + &rim + &number))
}

/// Two digits behind the point, of small numbers three, without the zero before it; whole numbers without any.
fn short(value: f64, largest: f64) -> String {
    if largest >= 1000.0 || (largest > 0.0 && largest < 0.01) {
        return minus(&figure(value));
    }
    let decimals = if largest >= 100.0 {
        0
    } else if largest >= 10.0 {
        1
    } else if largest >= 0.1 {
        2
    } else {
        3
    };
    let number = if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.decimals$}") };
    let number = if number.trim_start_matches(['-', '0', '.']).is_empty() { "0".to_owned() } else { number };
    let number = match number.strip_prefix("0.") {
        Some(rest) => format!(".{rest}"),
        None => number.replacen("-0.", "-.", 1),
    };
    minus(&number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_cells_are_short() {
        for (value, largest, expected) in [
            (0.123, 1.0, ".12"),
            (-0.5, 1.0, "−.50"),
            (1.0, 1.0, "1"),
            (0.001, 1.0, "0"),
            (-0.001, 1.0, "0"),
            (12.34, 12.34, "12.3"),
            (321.4, 321.4, "321"),
            (0.0123, 0.067, ".012"),
            (0.00012, 0.0002, "0.00012"),
        ] {
            assert_eq!(short(value, largest), expected, "{value}");
        }
    }
}
