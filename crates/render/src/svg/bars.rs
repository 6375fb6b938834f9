//! Bars with the intervals of their values.

use super::{AGAINST, FOR, MARGIN, MOST, ROW, SIZE, Sheet};
use crate::figures::{column_decimals, error, signed};
use crate::markup::minus;
use crate::measure::{clipped, width};
use crate::scale::Scale;
use crate::ties::{left_out, places, reach};
use exegete_core::report::Attribution;

/// How many units are listed before the rest is only counted.
const LISTED: usize = 8;
const GAP: f64 = 10.0;

/// One bar with its name and number.
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) value: f64,
    /// Where its interval ends; none where it has none.
    pub(super) ends: Option<(f64, f64)>,
    /// Right of the bar.
    pub(super) figures: String,
    /// Under it; empty where there is nothing to say.
    pub(super) told: String,
}

/// The places where bars stand.
struct Frame {
    left: f64,
    right: f64,
    low: f64,
    high: f64,
}

/// The strongest units with rank and 95 % interval, where the method samples; the text says the rest.
pub(super) fn units(sheet: &mut Sheet, attribution: &Attribution) {
    let Attribution { units, values, errors, .. } = attribution;
    if errors.is_empty() {
        return;
    }
    let decimals = column_decimals(Scale::new(values).largest());
    let places = places(attribution);
    let listed = &places[..places.len().min(LISTED)];
    let bar = |place: &crate::ties::TiedUnit| {
        let (value, own) = (values[place.unit], errors.get(place.unit).copied());
        let told = own.map_or_else(String::new, |own| format!(" {}", error(own, decimals)));
        Bar {
            name: units[place.unit].text.clone(),
            value,
            ends: own.map(|own| (value - reach(own), value + reach(own))),
            figures: format!("{}{told}, rank {}", minus(&signed(value, decimals)), place.label()),
            told: String::new(),
        }
    };
    let shown: Vec<Bar> = listed.iter().map(bar).collect();
    let ends = shown
        .iter()
        .flat_map(|bar| [bar.value, bar.ends.map_or(0.0, |e| e.0), bar.ends.map_or(0.0, |e| e.1)]);
    let range = ends
        .filter(|end| end.is_finite())
        .fold((0.0, 0.0), |(low, high), end| (f64::min(low, end), f64::max(high, end)));
    sheet.skip(8.0);
    bars(sheet, shown, range, None);
    if listed.len() < places.len() {
        sheet.caption(&left_out(&places, listed.len()), 10.0, "normal");
    }
    sheet.caption(
        "bars: value ± standard error, whiskers over 95 %; ≈ ranks are tied within the errors",
        10.0,
        "normal",
    );
}

/// Bars from zero over a range, with a mark across the first.
pub(super) fn bars(sheet: &mut Sheet, bars: Vec<Bar>, (low, high): (f64, f64), asked: Option<f64>) {
    let third = (sheet.width - 2.0 * MARGIN) / 3.0;
    let names: Vec<String> =
        bars.iter().map(|bar| clipped(&crate::visible::visible(&bar.name), SIZE, third)).collect();
    let widest =
        |texts: &mut dyn Iterator<Item = &str>| texts.map(|text| width(text, SIZE)).fold(0.0, f64::max);
    let left = MARGIN + widest(&mut names.iter().map(String::as_str)) + GAP;
    let right = sheet.width - MARGIN - GAP - widest(&mut bars.iter().map(|bar| bar.figures.as_str()));
    let frame = Frame { left, right: right.max(left + 20.0), low, high };
    for (index, (bar, name)) in bars.iter().zip(&names).enumerate() {
        sheet.skip(ROW);
        sheet.text(frame.left - GAP, "end", name);
        sheet.text(frame.right + GAP, "start", &bar.figures);
        frame.bar(sheet, bar);
        if let Some(asked) = asked.filter(|_| index == 0) {
            frame.upright(sheet, asked, 8.0, "#222\" stroke-dasharray=\"2 2");
        }
        if !bar.told.is_empty() {
            sheet.skip(ROW * 0.7);
            sheet.text(frame.left, "start", &bar.told);
        }
    }
    sheet.skip(6.0);
}

impl Frame {
    fn x(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        self.left + if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 } * (self.right - self.left)
    }

    fn bar(&self, sheet: &mut Sheet, bar: &Bar) {
        let (from, to) = (self.x(bar.value.min(0.0)), self.x(bar.value.max(0.0)));
        let (top, wide) = (sheet.y - ROW + 4.0, to - from);
        let colour = if bar.value < 0.0 { AGAINST } else { FOR };
        sheet.out += &format!(
            "<rect x=\"{from:.1}\" y=\"{top:.1}\" width=\"{wide:.1}\" height=\"{:.1}\" fill=\"{colour}\" fill-opacity=\"{MOST}\"/>\n",
            ROW - 8.0
        );
        self.upright(sheet, 0.0, 8.0, "#777");
        let Some((low, high)) = bar.ends else { return };
        let (from, to, y) = (self.x(low), self.x(high), sheet.y - ROW / 2.0);
        sheet.out += &format!(
            "<line x1=\"{from:.1}\" y1=\"{y:.1}\" x2=\"{to:.1}\" y2=\"{y:.1}\" stroke=\"#222\" stroke-width=\"1.5\"/>\n"
        );
        self.upright(sheet, low, 3.5, "#222");
        self.upright(sheet, high, 3.5, "#222");
    }

    /// A line across a bar.
    fn upright(&self, sheet: &mut Sheet, value: f64, half: f64, stroke: &str) {
        let (x, y) = (self.x(value), sheet.y - ROW / 2.0);
        let (top, bottom) = (y - half, y + half);
        sheet.out += &format!(
            "<line x1=\"{x:.1}\" y1=\"{top:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\" stroke=\"{stroke}\" stroke-width=\"1.5\"/>\n"
        );
    }
}
