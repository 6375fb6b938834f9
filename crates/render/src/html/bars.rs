//! Units sorted by the size of their score.

use crate::figures::{column_decimals, error, share, signed};
use crate::markup::{Escaped, minus};
use crate::scale::Scale;
use crate::ties::{TiedUnit, left_out, places, reach};
use exegete_core::report::Attribution;

/// How many units are listed before the rest is only counted.
const LISTED: usize = 16;

/// Where zero and one unit of score lie on the axis, in per cent.
pub(super) struct Axis {
    low: f64,
    size: f64,
}

impl Axis {
    /// From nothing to all.
    pub(super) const SHARES: Self = Self { low: 0.0, size: 1.0 };

    fn new(values: &[f64], errors: &[f64]) -> Self {
        let (mut low, mut high) = (0.0, 0.0);
        for (index, value) in values.iter().enumerate().filter(|(_, value)| value.is_finite()) {
            let reach = errors.get(index).map_or(0.0, |error| reach(*error));
            (low, high) = (f64::min(low, value - reach), f64::max(high, value + reach));
        }
        Self { low, size: if high > low { high - low } else { 1.0 } }
    }

    pub(super) fn at(&self, value: f64) -> f64 {
        let at = (100.0 * (value - self.low) / self.size).clamp(0.0, 100.0);
        if at.is_nan() { 0.0 } else { at }
    }

    /// A stretch as CSS.
    pub(super) fn stretch(&self, a: f64, b: f64) -> String {
        let (from, to) = (self.at(a.min(b)), self.at(a.max(b)));
        format!("left:{from:.1}%;width:{:.1}%", to - from)
    }
}

/// A table of the strongest units with a bar each; with its rank and a whisker over 95 % where the method samples.
pub(super) fn bars(attribution: &Attribution) -> String {
    let Attribution { units, values, errors, .. } = attribution;
    if units.is_empty() {
        return "<p class=\"soft\">no units</p>\n".to_owned();
    }
    let (scale, axis) = (Scale::new(values), Axis::new(values, errors));
    let places = places(attribution);
    let listed = &places[..places.len().min(LISTED)];
    let rows: String = listed.iter().map(|place| row(attribution, *place, scale, &axis)).collect();
    let sampled = !errors.is_empty();
    let [rank, error] = match sampled {
        true => ["<th class=\"number rank\">rank</th>", "<th class=\"number extra\">error</th>"],
        false => ["", ""],
    };
    let soft = |text: &str| format!("<p class=\"soft\">{text}</p>\n");
    let mut below =
        if listed.len() < places.len() { soft(&left_out(&places, listed.len())) } else { String::new() };
    if sampled {
        let tied = if listed.iter().any(|place| place.tied) { "≈: tied within the errors; " } else { "" };
        below += &soft(&format!("{tied}whiskers: 95 % interval, 1.96 standard errors each way"));
    }
    format!(
        "<table class=\"bars\">\n<thead><tr><th>unit</th>{rank}<th class=\"number\">value</th>{error}\
         <th class=\"number extra\">share</th><th></th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n{below}"
    )
}

fn row(attribution: &Attribution, place: TiedUnit, scale: Scale, axis: &Axis) -> String {
    let Attribution { units, values, errors, .. } = attribution;
    let (value, own) = (values[place.unit], errors.get(place.unit).copied());
    let decimals = column_decimals(scale.largest());
    let class = if value < 0.0 { "against" } else { "for" };
    let number = minus(&signed(value, decimals));
    let whisker = own.map_or_else(String::new, |own| {
        let (low, high) = (value - reach(own), value + reach(own));
        let [from, to] = [low, high].map(|end| minus(&signed(end, decimals)));
        format!("<i class=\"whisker\" style=\"{}\" title=\"{from} to {to}\"></i>", axis.stretch(low, high))
    });
    let [rank, error] = if errors.is_empty() {
        Default::default()
    } else {
        let error = own.map_or_else(String::new, |own| error(own, decimals));
        [
            format!("<td class=\"number rank\">{}</td>", place.label()),
            format!("<td class=\"number extra soft\">{error}</td>"),
        ]
    };
    format!(
        "<tr><td><bdi>{}</bdi></td>{rank}<td class=\"number\">{number}</td>{error}<td class=\"number extra\">{}</td>\
         <td class=\"bar\"><div><i class=\"{class}\" style=\"--s:1;{}\"></i>{whisker}<i class=\"zero\" style=\"left:{:.1}%\"></i></div></td></tr>\n",
        Escaped(&units[place.unit].text),
        share(scale.share(value)),
        axis.stretch(0.0, value),
        axis.at(0.0)
    )
}
