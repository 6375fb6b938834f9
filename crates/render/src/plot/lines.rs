//! Numbers over numbers or names, a line for each series, with intervals as bars.

use super::axis::Axis;
use super::data::{Point, Reach, kinds, label, number, series};
use super::frame::{Frame, Side};
use super::ink::{SERIES, coloured, legend, mark, through, told, whisker};
use super::{Plot, WIDTH, along, left_out};
use crate::figures::figure;
use crate::markup::minus;
use exegete_core::report::Picture;

/// Points of one series at one place.
type PointsAt = (f64, Vec<Reach>);

/// A line goes through the mean where a series has several rows at one place; each of them has a mark.
pub(super) fn draw(picture: &Picture, points: &[Point]) -> Option<Plot> {
    let names = series(points);
    let shown = &names[..names.len().min(SERIES)];
    let drawn: Vec<&Point> =
        points.iter().filter(|p| p.y.is_some() && shown.contains(&p.series.as_str())).collect();
    let ends = drawn.iter().filter_map(|point| point.y).flat_map(|y| [y.lower, y.upper, y.value]);
    let y_axis = Axis::over(ends, 0.0, 1.0)?;
    let sample = |series: usize, x: f64, y: f64| {
        through(series, &[(x, y), (x + 24.0, y)]) + &mark(series, x + 12.0, y)
    };
    let (top, legend) = legend(shown, WIDTH, sample);
    let names = kinds(drawn.iter().map(|point| &point.x));
    let numbers: Option<Vec<f64>> = drawn.iter().map(|point| number(&point.x)).collect();
    let side = match numbers {
        Some(numbers) => Side::Numbers(Axis::over(numbers, 0.0, 1.0)?),
        None => Side::Names(names.clone()),
    };
    let frame = Frame::new(top, WIDTH, side, y_axis);
    let x = |point: &Point| match &frame.x {
        Side::Numbers(axis) => axis.at(number(&point.x).unwrap_or(axis.low)),
        Side::Names(_) => {
            let own = label(&point.x);
            frame.place(names.iter().position(|name| *name == own).unwrap_or(0), names.len())
        }
    };
    let titles = [
        along(picture.x_title.as_ref(), &picture.x),
        along(picture.y_title.as_ref(), picture.y.as_deref().unwrap_or_default()),
    ];
    let mut body = legend + &frame.draw(&titles[0], &titles[1]);
    for (index, name) in shown.iter().enumerate() {
        let own = drawn.iter().filter(|point| point.series == *name);
        let places = places(own.filter_map(|point| Some((x(point), point.y?))));
        // Series beside one another, so that their intervals do not hide one another.
        let aside = (index as f64 - (shown.len() - 1) as f64 / 2.0) * 2.5;
        body += &coloured(index, &drawn_series(index, &places, &frame, aside));
    }
    let notes = left_out(series(points).len(), SERIES, "series").into_iter().collect();
    Some(Plot { title: String::new(), width: WIDTH, height: frame.height(), body, notes })
}

fn places(points: impl Iterator<Item = (f64, Reach)>) -> Vec<PointsAt> {
    let mut points: Vec<(f64, Reach)> = points.collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut places: Vec<PointsAt> = Vec::new();
    for (x, y) in points {
        match places.last_mut().filter(|(last, _)| (*last - x).abs() < 1e-9) {
            Some((_, own)) => own.push(y),
            None => places.push((x, vec![y])),
        }
    }
    places
}

fn drawn_series(series: usize, places: &[PointsAt], frame: &Frame, aside: f64) -> String {
    let mean = |own: &[Reach]| own.iter().map(|y| y.value / own.len() as f64).sum::<f64>();
    let line: Vec<(f64, f64)> = places.iter().map(|(x, own)| (x + aside, frame.y.at(mean(own)))).collect();
    let mut out = if line.len() > 1 { through(series, &line) } else { String::new() };
    for (x, y) in places.iter().flat_map(|(x, own)| own.iter().map(move |y| (x + aside, y))) {
        let mut said = minus(&figure(y.value));
        let mut body = String::new();
        if y.lower < y.upper {
            body += &whisker((x, frame.y.at(y.lower)), (x, frame.y.at(y.upper)));
            said += &format!(" ({} to {})", minus(&figure(y.lower)), minus(&figure(y.upper)));
        }
        body += &mark(series, x, frame.y.at(y.value));
        out += &told(&said, &body);
    }
    out
}
