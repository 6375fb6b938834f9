//! A bar for each row, side by side for each series.

use super::Plot;
use super::data::{Point, Reach};
use super::ink::{rect, told, whisker};
use super::strips::{Strip, strips};
use crate::figures::figure;
use crate::markup::minus;
use exegete_core::report::Picture;

/// A bar in words.
pub(crate) struct Bar {
    /// What it stands for.
    pub(crate) name: String,
    /// Which series it is of; empty where there are none.
    pub(crate) series: String,
    /// How long the bar is, in the units of the axis.
    pub(crate) value: f64,
}

/// Every bar of a picture, in the order of drawing.
pub(crate) fn bars(picture: &Picture, source: super::Source<'_>) -> Vec<Bar> {
    let points = super::data::points(picture, source);
    let strips = strips(&points);
    let bar = |strip: &Strip<'_>| {
        let (name, series) = (strips.kinds[strip.kind].clone(), strips.names[strip.series].to_owned());
        Some(Bar { name, series, value: mean(strip)?.value })
    };
    strips.strips.iter().filter_map(bar).collect()
}

/// Bars from zero, with their intervals and numbers.
pub(super) fn draw(picture: &Picture, points: &[Point]) -> Option<Plot> {
    let strips = strips(points);
    let reaches = strips.strips.iter().filter_map(mean);
    let values: Vec<f64> = reaches.flat_map(|y| [y.value, y.lower, y.upper]).collect();
    if values.is_empty() {
        return None;
    }
    strips.draw(picture, 9.0, values.into_iter().chain([0.0]), |strip, lane| {
        let Some(y) = mean(strip) else { return String::new() };
        let (from, to) = (lane.axis.at(0.0), lane.axis.at(y.value));
        let (top, bottom) = (lane.y - lane.half + 2.0, lane.y + lane.half - 2.0);
        let mut body = rect("area", (from, top), (to, bottom));
        let mut said = minus(&figure(y.value));
        body += &super::ink::text(lane.figures, lane.y + 4.0, "name", &said);
        if y.lower < y.upper {
            body += &whisker((lane.axis.at(y.lower), lane.y), (lane.axis.at(y.upper), lane.y));
            said += &format!(" ({} to {})", minus(&figure(y.lower)), minus(&figure(y.upper)));
        }
        told(&said, &body)
    })
}

/// Of several rows with the same name the mean, between the lowest and the highest.
fn mean(strip: &Strip<'_>) -> Option<Reach> {
    let reaches: Vec<Reach> = strip.points.iter().filter_map(|point| point.y).collect();
    let &[first, ..] = reaches.as_slice() else { return None };
    if reaches.len() == 1 {
        return Some(first);
    }
    let value = reaches.iter().map(|y| y.value).sum::<f64>() / reaches.len() as f64;
    let lower = reaches.iter().map(|y| y.value).fold(first.value, f64::min);
    let upper = reaches.iter().map(|y| y.value).fold(first.value, f64::max);
    Some(Reach { value, lower, upper })
}
