//! One strip below the other with its name at the left and a common axis of numbers below: bars, boxes and violins.

use super::axis::Axis;
use super::data::{Point, kinds, series};
use super::ink::{LETTERS, SERIES, clipped_text, coloured, legend, line, text};
use super::{Plot, WIDTH, along, left_out};
use crate::measure::width;
use exegete_core::report::Picture;

/// How many kinds of rows are drawn.
const KINDS: usize = 40;
/// Between the strips of different kinds.
const GAP: f64 = 8.0;
/// Right of the field, where numbers stand.
const FIGURES: f64 = 58.0;

/// The rows of one strip.
pub(super) struct Strip<'a> {
    pub(super) kind: usize,
    pub(super) series: usize,
    pub(super) points: Vec<&'a Point>,
}

/// All strips, and what is left out.
pub(super) struct Strips<'a> {
    pub(super) kinds: Vec<String>,
    pub(super) names: Vec<&'a str>,
    pub(super) strips: Vec<Strip<'a>>,
    pub(super) notes: Vec<String>,
}

/// Where the strips of a picture lie.
pub(super) struct Lane {
    pub(super) axis: Axis,
    /// The middle of the strip.
    pub(super) y: f64,
    /// From its middle to its edge.
    pub(super) half: f64,
    /// Where figures begin, in units of the picture.
    pub(super) figures: f64,
}

/// Rows by their `x` and their series; strips without a number are left out.
pub(super) fn strips(points: &[Point]) -> Strips<'_> {
    let (mut kinds, mut names) = (kinds(points.iter().map(|point| &point.x)), series(points));
    let notes = [left_out(kinds.len(), KINDS, "row"), left_out(names.len(), SERIES, "series")];
    kinds.truncate(KINDS);
    names.truncate(SERIES);
    let mut strips: Vec<Strip<'_>> = Vec::new();
    for (kind, kind_name) in kinds.iter().enumerate() {
        for (series, name) in names.iter().enumerate() {
            let own = |point: &&Point| {
                point.y.is_some() && point.series == *name && super::data::label(&point.x) == *kind_name
            };
            let points: Vec<&Point> = points.iter().filter(own).collect();
            strips.extend((!points.is_empty()).then_some(Strip { kind, series, points }));
        }
    }
    Strips { kinds, names, strips, notes: notes.into_iter().flatten().collect() }
}

impl Strips<'_> {
    /// The strips under a legend and over an axis that holds `values`; `strip` draws one within its lane.
    pub(super) fn draw(
        &self,
        picture: &Picture,
        half: f64,
        values: impl Iterator<Item = f64>,
        strip: impl Fn(&Strip<'_>, &Lane) -> String,
    ) -> Option<Plot> {
        let (top, legend) =
            legend(&self.names, WIDTH, |_, x, y| super::ink::rect("area", (x, y - 5.0), (x + 22.0, y + 5.0)));
        let widest = self.kinds.iter().map(|kind| width(kind, LETTERS)).fold(0.0, f64::max);
        let left = widest.min(WIDTH * 0.32) + 10.0;
        let axis = Axis::over(values, left, WIDTH - FIGURES)?;
        let (mut y, mut body) = (top + 4.0, String::new());
        for (kind, name) in self.kinds.iter().enumerate() {
            let own: Vec<&Strip<'_>> = self.strips.iter().filter(|strip| strip.kind == kind).collect();
            let begun = y;
            for one in own {
                let lane = Lane { axis, y: y + half, half, figures: WIDTH - FIGURES + 6.0 };
                body += &coloured(one.series, &strip(one, &lane));
                y += 2.0 * half;
            }
            // A kind without a number keeps its name and an empty place.
            y = y.max(begun + LETTERS);
            body += &clipped_text(left - 8.0, (begun + y) / 2.0 + 4.0, "name end", name, left - 8.0);
            y += GAP;
        }
        let lines: String =
            axis.ticks().iter().map(|(value, told)| tick(&axis, *value, told, top, y)).collect();
        let title = along(picture.y_title.as_ref(), picture.y.as_deref().unwrap_or_default());
        let room = axis.at(axis.high) - width(&title, LETTERS) - 16.0;
        let title = text(axis.at(axis.high), y + 34.0, "end", &title);
        let kinds = clipped_text(0.0, y + 34.0, "", &along(picture.x_title.as_ref(), &picture.x), room);
        let body = [legend, lines, body, title, kinds].concat();
        Some(Plot { title: String::new(), width: WIDTH, height: y + 42.0, body, notes: self.notes.clone() })
    }
}

fn tick(axis: &Axis, value: f64, told: &str, top: f64, bottom: f64) -> String {
    let x = axis.at(value);
    let class = if value == 0.0 { "zero" } else { "tick" };
    line(class, (x, top), (x, bottom)) + &text(x, bottom + 16.0, "mid", told)
}

/// The value below which a share of sorted values lies, between neighbours in proportion.
pub(super) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * sorted.len().saturating_sub(1) as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    match (sorted.get(below), sorted.get(above)) {
        (Some(low), Some(high)) => low + (high - low) * place.fract(),
        _ => f64::NAN,
    }
}

/// The numbers of a strip in order.
pub(super) fn sorted(strip: &Strip<'_>) -> Vec<f64> {
    let mut values: Vec<f64> = strip.points.iter().filter_map(|point| Some(point.y?.value)).collect();
    values.sort_by(f64::total_cmp);
    values
}
