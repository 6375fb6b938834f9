//! How many rows lie where: a panel for each series over a common axis.

use super::axis::{Axis, round};
use super::data::{Point, number, series};
use super::ink::{SERIES, coloured, line, rect, text, told};
use super::{Plot, Source, WIDTH, along, left_out};
use crate::figures::{count, setting};
use crate::markup::minus;
use exegete_core::report::Picture;

/// About so many bins.
const BINS: f64 = 24.0;

/// Rows counted by where their number lies.
pub(crate) struct Counted {
    /// Where the first bin begins.
    pub(crate) low: f64,
    /// How wide every bin is.
    pub(crate) wide: f64,
    /// How many bins there are.
    pub(crate) bins: usize,
    /// For each series its name and its counts.
    pub(crate) series: Vec<(String, Vec<usize>)>,
    /// Rows without a number.
    pub(crate) without: usize,
}

/// The counts of a picture; none where no row has a number.
pub(crate) fn counted(picture: &Picture, source: Source<'_>) -> Option<Counted> {
    count_points(&super::data::points(picture, source))
}

fn count_points(points: &[Point]) -> Option<Counted> {
    let numbers = || points.iter().filter_map(|point| number(&point.x));
    let (low, high) = numbers().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    if low > high {
        return None;
    }
    let wide = if high > low { round((high - low) / BINS) } else { round(low.abs().max(1.0) / BINS) };
    let first = (low / wide + 1e-9).floor();
    let bins = ((high / wide - 1e-9).ceil() - first).clamp(1.0, 4.0 * BINS) as usize;
    let bin = |value: f64| ((value / wide + 1e-9 - first).floor().max(0.0) as usize).min(bins - 1);
    let counts = |name: &&str| {
        let mut counts = vec![0; bins];
        points
            .iter()
            .filter(|point| point.series == *name)
            .filter_map(|point| number(&point.x))
            .for_each(|v| counts[bin(v)] += 1);
        ((*name).to_owned(), counts)
    };
    let series = series(points).iter().map(counts).collect();
    Some(Counted { low: first * wide, wide, bins, series, without: points.len() - numbers().count() })
}

/// Panels one below the other; the count of the highest bin stands beside each.
pub(super) fn draw(picture: &Picture, points: &[Point]) -> Option<Plot> {
    let counted = count_points(points)?;
    let Counted { low, wide, bins, ref series, without } = counted;
    let (left, high) = (44.0, low + wide * bins as f64);
    let axis = Axis::over([low, high], left, WIDTH - 14.0)?;
    let shown = &series[..series.len().min(SERIES)];
    let panel = if shown.len() > 1 { 96.0 } else { 190.0 };
    let (mut y, mut body) = (-8.0, String::new());
    for (index, (name, counts)) in shown.iter().enumerate() {
        let top = y + 32.0;
        let rows = counts.iter().sum::<usize>();
        let label =
            if name.is_empty() { count(rows, "row") } else { format!("{name} ({})", count(rows, "row")) };
        body += &super::ink::clipped_text(left, y + 24.0, "name", &label, WIDTH - left);
        body += &coloured(index, &bars(&counted, counts, &axis, (top, y + panel)));
        y += panel;
    }
    for (value, label) in axis.ticks() {
        let x = axis.at(value);
        body += &(line("zero", (x, y), (x, y + 4.0)) + &text(x, y + 17.0, "mid", &label));
    }
    body += &text(WIDTH - 14.0, y + 36.0, "end", &along(picture.x_title.as_ref(), &picture.x));
    let empty = (without > 0).then(|| format!("{} without a number", count(without, "row")));
    let notes = [left_out(series.len(), SERIES, "series"), empty].into_iter().flatten().collect();
    Some(Plot { title: String::new(), width: WIDTH, height: y + 44.0, body, notes })
}

fn bars(counted: &Counted, counts: &[usize], axis: &Axis, (top, bottom): (f64, f64)) -> String {
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let y = |count: usize| bottom - (bottom - top) * count as f64 / most as f64;
    let bar = |(bin, rows): (usize, &usize)| {
        let from = counted.low + counted.wide * bin as f64;
        let (left, right) = (axis.at(from) + 0.5, axis.at(from + counted.wide) - 0.5);
        let [begin, end] = [from, from + counted.wide].map(|edge| minus(&setting(edge)));
        let said = format!("{begin} to {end}: {}", count(*rows, "row"));
        if *rows == 0 {
            String::new()
        } else {
            told(&said, &rect("area", (left, y(*rows)), (right.max(left + 0.5), bottom)))
        }
    };
    let bars: String = counts.iter().enumerate().map(bar).collect();
    let (left, right) = (axis.at(axis.low), axis.at(axis.high));
    line("tick", (left, top), (right, top))
        + &line("zero", (left, bottom), (right, bottom))
        + &text(left - 6.0, top + 4.0, "end small", &most.to_string())
        + &text(left - 6.0, bottom + 4.0, "end small", "0")
        + &bars
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_core::report::Cell;

    #[test]
    fn every_row_lies_in_one_bin() {
        let point = |value: f64| Point {
            x: Cell::Number(value),
            y: None,
            series: String::new(),
            word: String::new(),
        };
        let points: Vec<Point> = [-1.0, -0.5, 0.0, 0.1, 0.1, 1.0, f64::NAN].map(point).to_vec();
        let found = count_points(&points).unwrap();
        assert_eq!((found.low, found.wide, found.bins, found.without), (-1.0, 0.1, 20, 1));
        let counts = &found.series[0].1;
        assert_eq!((counts[0], counts[5], counts[10], counts[11], counts[19]), (1, 1, 1, 2, 1));
        let same = count_points(&[point(3.0), point(3.0)]).unwrap();
        assert_eq!(same.series[0].1.iter().sum::<usize>(), 2);
        assert!(count_points(&[point(f64::NAN)]).is_none());
    }
}
