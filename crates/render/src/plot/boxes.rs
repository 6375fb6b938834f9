//! Quartiles, of raw rows or of rows that are quartiles already.

use super::Plot;
use super::data::{Point, Reach, Source, number, points, reach};
use super::ink::{SERIES, line, rect, told, whisker};
use super::strips::{Lane, Strip, quantile, sorted, strips};
use crate::figures::figure;
use crate::markup::minus;
use exegete_core::report::Picture;

/// Whiskers reach to the furthest value within so many heights of the box, as Tukey drew them.
const WITHIN: f64 = 1.5;
/// How many values beyond the whiskers are drawn on each side, the furthest.
const BEYOND: usize = 15;

/// What a box shows.
#[derive(Debug, Clone, PartialEq)]
struct Quartiles {
    lower: f64,
    median: f64,
    upper: f64,
    /// The ends of the whiskers; those of the box where they are not known.
    ends: [f64; 2],
    /// The 95 % interval of the median, where it is known.
    sure: Option<[f64; 2]>,
    beyond: Vec<f64>,
}

/// Boxes of `y`; where there is no `y`, of the columns q1, median and q3, with whiskers to whisker_low and whisker_high, or to min
/// and max, and the median's interval lower to upper where there are such columns.
pub(super) fn draw(picture: &Picture, source: Source<'_>, raw: &[Point]) -> Option<Plot> {
    let given = given(source);
    let as_points = Picture { y: Some("median".to_owned()), ..picture.clone() };
    let rows = if picture.y.is_none() { points(&as_points, source) } else { raw.to_vec() };
    let strips = strips(&rows);
    let of = |strip: &Strip<'_>| match picture.y {
        Some(_) => Some(quartiles(&sorted(strip))),
        None => {
            let row = rows
                .iter()
                .position(|point| strip.points.first().is_some_and(|own| std::ptr::eq(*own, point)));
            row.and_then(|row| given.get(row).cloned().flatten())
        }
    };
    let all = strips.strips.iter().filter_map(&of).flat_map(|q| {
        [q.lower, q.upper].into_iter().chain(q.ends).chain(q.sure.into_iter().flatten()).chain(q.beyond)
    });
    let all: Vec<f64> = all.collect();
    let titled =
        Picture { y: Some(picture.y.clone().unwrap_or_else(|| "median".to_owned())), ..picture.clone() };
    let mut plot = strips.draw(&titled, 11.0, all.into_iter(), |strip, lane| {
        of(strip).map_or_else(String::new, |q| boxed(&q, strip.series, lane))
    })?;
    let whiskers = source.column(WHISKERS[0]).iter().any(|cell| number(cell).is_some());
    plot.notes.push(key(picture.y.is_some(), whiskers).to_owned());
    Some(plot)
}

/// The columns of the ends of whiskers that reach as far as those of raw rows.
const WHISKERS: [&str; 2] = ["whisker_low", "whisker_high"];

fn key(raw: bool, whiskers: bool) -> &'static str {
    match (raw, whiskers) {
        (true, _) => {
            "box: middle half with its median; whiskers: the furthest within 1.5 boxes; marks: beyond"
        }
        (false, true) => {
            "box: middle half with its median; whiskers: the furthest within 1.5 boxes; the bar across the median is its 95 % interval"
        }
        (false, false) => "box: middle half with its median; the bar across the median is its 95 % interval",
    }
}

/// The quartiles that rows say themselves.
fn given(source: Source<'_>) -> Vec<Option<Quartiles>> {
    let column = |name: &str| source.column(name);
    let [q1, q3, min, max, lower, upper] = ["q1", "q3", "min", "max", "lower", "upper"].map(column);
    let [low, high] = WHISKERS.map(column);
    let row = |(row, median): (usize, &exegete_core::report::Cell)| {
        let at = |column: &[exegete_core::report::Cell]| column.get(row).and_then(number);
        let median = reach(median)?;
        let (q1, q3) = (at(&q1)?, at(&q3)?);
        let own = |Reach { lower, upper, .. }: Reach| (lower < upper).then_some([lower, upper]);
        let beside = at(&lower).zip(at(&upper)).map(|(lower, upper)| [lower, upper]);
        let ends = [at(&low).or(at(&min)).unwrap_or(q1), at(&high).or(at(&max)).unwrap_or(q3)];
        Some(Quartiles {
            lower: q1,
            median: median.value,
            upper: q3,
            ends,
            sure: own(median).or(beside),
            beyond: Vec::new(),
        })
    };
    column("median").iter().enumerate().map(row).collect()
}

fn quartiles(sorted: &[f64]) -> Quartiles {
    let [lower, median, upper] = [0.25, 0.5, 0.75].map(|share| quantile(sorted, share));
    let reach = WITHIN * (upper - lower);
    let inside = || sorted.iter().copied().filter(|value| (lower - reach..=upper + reach).contains(value));
    let ends =
        [inside().next().unwrap_or(lower).min(lower), inside().next_back().unwrap_or(upper).max(upper)];
    let below = sorted.iter().copied().filter(|value| *value < lower - reach).take(BEYOND);
    let above = sorted.iter().rev().copied().filter(|value| *value > upper + reach).take(BEYOND);
    Quartiles { lower, median, upper, ends, sure: None, beyond: below.chain(above).collect() }
}

fn boxed(q: &Quartiles, series: usize, lane: &Lane) -> String {
    let at = |value: f64| lane.axis.at(value);
    let (top, bottom) = (lane.y - lane.half + 3.0, lane.y + lane.half - 3.0);
    let [low, high] = q.ends;
    let mut body = line("zero", (at(low), lane.y), (at(q.lower), lane.y))
        + &line("zero", (at(q.upper), lane.y), (at(high), lane.y));
    body += &rect("pale", (at(q.lower), top), (at(q.upper), bottom));
    body += &line("ink", (at(q.median), top), (at(q.median), bottom));
    if let Some([lower, upper]) = q.sure {
        body += &whisker((at(lower), lane.y), (at(upper), lane.y));
    }
    body += &q
        .beyond
        .iter()
        .map(|value| super::ink::mark(series % SERIES, at(*value), lane.y))
        .collect::<String>();
    body += &super::ink::text(lane.figures, lane.y + 4.0, "name", &minus(&figure(q.median)));
    let said = [("quarter", q.lower), ("median", q.median), ("three quarters", q.upper)]
        .map(|(name, value)| format!("{name} {}", minus(&figure(value))));
    told(&said.join(", "), &body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_core::report::{Cell, Table};

    #[test]
    fn quartiles_lie_between_neighbours() {
        let found = quartiles(&[1.0, 2.0, 3.0, 4.0, 100.0]);
        assert_eq!((found.lower, found.median, found.upper), (2.0, 3.0, 4.0));
        assert_eq!((found.ends, found.beyond), ([1.0, 4.0], vec![100.0]));
        assert_eq!(quartiles(&[7.0]).ends, [7.0, 7.0]);
    }

    #[test]
    fn rows_may_say_how_far_whiskers_reach() {
        let rows = [["a", "0.5", "0.4", "0.6", "0.1", "0.9"], ["b", "0.5", "0.4", "0.6", "", ""]];
        let cell = |text: &str| text.parse().map_or(Cell::Empty, Cell::Number);
        let table = Table {
            columns: ["ranking", "median", "q1", "q3", WHISKERS[0], WHISKERS[1]].map(str::to_owned).to_vec(),
            rows: rows.map(|row| row.map(cell).to_vec()).to_vec(),
            ..Default::default()
        };
        let ends: Vec<[f64; 2]> =
            given(Source::Table(&table)).into_iter().flatten().map(|q| q.ends).collect();
        assert_eq!(ends, [[0.1, 0.9], [0.4, 0.6]]);
    }
}
