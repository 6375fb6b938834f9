//! The distribution of numbers, mirrored, as wide as it is dense.

use super::Plot;
use super::data::Point;
use super::ink::{line, rect, told};
use super::strips::{Lane, Strip, quantile, sorted, strips};
use crate::figures::{count, figure};
use crate::markup::minus;
use exegete_core::report::Picture;

/// At so many places the density is computed.
const PLACES: usize = 48;
/// Fewer values have no shape: each is drawn.
const FEWEST: usize = 5;

/// One violin a strip, with the middle half and the median, and how many rows it has.
pub(super) fn draw(picture: &Picture, points: &[Point]) -> Option<Plot> {
    let strips = strips(points);
    let values: Vec<f64> = strips.strips.iter().flat_map(sorted).collect();
    let mut plot = strips.draw(picture, 17.0, values.into_iter(), violin)?;
    plot.notes.push("bar: the middle half, with a mark at the median; right: how many rows".to_owned());
    Some(plot)
}

fn violin(strip: &Strip<'_>, lane: &Lane) -> String {
    let values = sorted(strip);
    let at = |value: f64| lane.axis.at(value);
    let figures = super::ink::text(lane.figures, lane.y + 4.0, "name", &values.len().to_string());
    if values.len() < FEWEST {
        let marks: String =
            values.iter().map(|value| super::ink::mark(strip.series, at(*value), lane.y)).collect();
        return figures + &marks;
    }
    let [lower, median, upper] = [0.25, 0.5, 0.75].map(|share| quantile(&values, share));
    let outline = outline(&density(&values), lane);
    let body = outline
        + &rect("dot", (at(lower), lane.y - 2.0), (at(upper), lane.y + 2.0))
        + &rect("paper", (at(median) - 1.5, lane.y - 4.0), (at(median) + 1.5, lane.y + 4.0))
        + &line("zero", (at(values[0]), lane.y), (at(lower), lane.y))
        + &line("zero", (at(upper), lane.y), (at(values[values.len() - 1]), lane.y));
    let said = format!("median {}, {}", minus(&figure(median)), count(values.len(), "row"));
    told(&said, &body) + &figures
}

/// A Gaussian kernel with Silverman's width from the lowest value to the highest: values and densities, the largest 1.
fn density(sorted: &[f64]) -> Vec<(f64, f64)> {
    let (Some(low), Some(high)) = (sorted.first(), sorted.last()) else { return Vec::new() };
    let n = sorted.len() as f64;
    let mean = sorted.iter().map(|value| value / n).sum::<f64>();
    let deviation = sorted.iter().map(|value| (value - mean).powi(2) / n).sum::<f64>().sqrt();
    let quarters = (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / 1.34;
    let spread = if quarters > 0.0 { quarters.min(deviation) } else { deviation };
    let kernel = (0.9 * spread * n.powf(-0.2)).max((high - low) / (2.0 * PLACES as f64));
    let at = |place: usize| low + (high - low) * place as f64 / (PLACES - 1) as f64;
    let dense =
        |at: f64| sorted.iter().map(|value| (-0.5 * ((at - value) / kernel).powi(2)).exp()).sum::<f64>();
    let raw: Vec<(f64, f64)> = (0..PLACES).map(at).map(|at| (at, dense(at))).collect();
    let largest = raw.iter().map(|(_, dense)| *dense).fold(0.0, f64::max);
    let share = |dense: f64| if largest > 0.0 && dense.is_finite() { dense / largest } else { 0.0 };
    raw.into_iter().map(|(at, dense)| (at, share(dense))).collect()
}

fn outline(density: &[(f64, f64)], lane: &Lane) -> String {
    let edge = |side: f64| {
        move |(value, dense): &(f64, f64)| {
            format!("{:.1},{:.1}", lane.axis.at(*value), lane.y + side * dense * (lane.half - 1.0))
        }
    };
    let above = density.iter().map(edge(-1.0));
    let below = density.iter().rev().map(edge(1.0));
    format!("<polygon class=\"pale\" points=\"{}\"/>\n", above.chain(below).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn density_is_highest_where_values_are() {
        let values = [0.0, 0.9, 1.0, 1.0, 1.0, 1.1, 3.0];
        let top = density(&values).into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        assert!((top.0 - 1.0).abs() < 0.1 && top.1 == 1.0, "{top:?}");
        assert!(density(&[2.0; 9]).iter().all(|(_, dense)| dense.is_finite()));
    }
}
