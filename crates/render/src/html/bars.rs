//! Units sorted by the size of their score.

use crate::figures::{column_decimals, count, share, signed};
use crate::markup::{Escaped, minus};
use crate::scale::{Scale, ranked};
use exegete_core::report::Attribution;

/// How many units are listed before the rest is only counted.
const LISTED: usize = 16;

/// Where zero and one unit of score lie on the axis, in per cent.
struct Axis {
    low: f64,
    size: f64,
}

impl Axis {
    fn new(values: &[f64], errors: &[f64]) -> Self {
        let (mut low, mut high) = (0.0, 0.0);
        for (index, value) in values.iter().enumerate().filter(|(_, value)| value.is_finite()) {
            let error = errors.get(index).copied().filter(|e| e.is_finite()).unwrap_or(0.0).abs();
            (low, high) = (f64::min(low, value - error), f64::max(high, value + error));
        }
        Self { low, size: if high > low { high - low } else { 1.0 } }
    }

    fn at(&self, value: f64) -> f64 {
        let at = (100.0 * (value - self.low) / self.size).clamp(0.0, 100.0);
        if at.is_nan() { 0.0 } else { at }
    }

    /// A stretch as CSS.
    fn stretch(&self, a: f64, b: f64) -> String {
        let (from, to) = (self.at(a.min(b)), self.at(a.max(b)));
        format!("left:{from:.1}%;width:{:.1}%", to - from)
    }
}

/// A table of the strongest units, with a bar and a whisker of one standard error each way.
pub(super) fn bars(attribution: &Attribution) -> String {
    let Attribution { units, values, errors, .. } = attribution;
    if units.is_empty() {
        return "<p class=\"soft\">no units</p>\n".to_owned();
    }
    let scale = Scale::new(values);
    let axis = Axis::new(values, errors);
    let listed: Vec<usize> =
        ranked(values).into_iter().filter(|unit| *unit < units.len()).take(LISTED).collect();
    let rows: String = listed.iter().map(|unit| row(attribution, *unit, scale, &axis)).collect();
    let error = if errors.is_empty() { "" } else { "<th class=\"number extra\">error</th>" };
    let more = match units.len() - listed.len() {
        0 => String::new(),
        more => format!("<p class=\"soft\">and {}</p>\n", count(more, "weaker unit")),
    };
    format!(
        "<table class=\"bars\">\n<thead><tr><th>unit</th><th class=\"number\">value</th>{error}\
         <th class=\"number extra\">share</th><th></th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n{more}"
    )
}

fn row(attribution: &Attribution, unit: usize, scale: Scale, axis: &Axis) -> String {
    let (value, error) = (attribution.values[unit], attribution.errors.get(unit).copied());
    let decimals = column_decimals(scale.largest());
    let class = if value < 0.0 { "against" } else { "for" };
    let number = minus(&signed(value, decimals));
    let whisker = error.map_or_else(String::new, |error| {
        format!("<i class=\"whisker\" style=\"{}\"></i>", axis.stretch(value - error, value + error))
    });
    let error = if attribution.errors.is_empty() {
        String::new()
    } else {
        let error =
            error.map_or_else(String::new, |e| format!("±{}", signed(e, decimals).trim_start_matches('+')));
        format!("<td class=\"number extra soft\">{error}</td>")
    };
    format!(
        "<tr><td><bdi>{}</bdi></td><td class=\"number\">{number}</td>{error}<td class=\"number extra\">{}</td>\
         <td class=\"bar\"><div><i class=\"{class}\" style=\"--s:1;{}\"></i>{whisker}<i class=\"zero\" style=\"left:{:.1}%\"></i></div></td></tr>\n",
        Escaped(&attribution.units[unit].text),
        share(scale.share(value)),
        axis.stretch(0.0, value),
        axis.at(0.0)
    )
}
