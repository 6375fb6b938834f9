//! Small line charts as pictures in a page.

use crate::evidence::Chart;
use crate::figures::{figure, share};
use crate::markup::{Escaped, minus};
use exegete_core::report::{Curve, Erasure, Randomisation};

const WIDTH: f64 = 264.0;
const HEIGHT: f64 = 96.0;
/// Left (room for numbers), right, top, bottom (room for names).
const MARGINS: [f64; 4] = [40.0, 10.0, 8.0, 18.0];

/// One line of a chart.
struct Series<'a> {
    class: &'static str,
    values: &'a [f64],
}

/// What a chart shows over its places along x.
struct Plot<'a> {
    title: &'static str,
    /// Names of the first and last place.
    ends: [String; 2],
    series: Vec<Series<'a>>,
    /// The lowest and highest of random rankings at each place.
    band: Vec<(f64, f64)>,
    /// Always part of the axis.
    must_show: f64,
    /// What the key below the charts does not say.
    note: &'static str,
}

/// A chart of a check, and of nothing where there is nothing to draw.
pub(super) fn chart(chart: &Chart<'_>) -> String {
    match chart {
        Chart::Erasure(erasure) => self::erasure(erasure),
        Chart::Curve(curve) => self::curve(curve),
        Chart::Randomisation(steps) => randomisation(steps),
    }
}

fn erasure(erasure: &Erasure) -> String {
    let at = |bin: usize| erasure.random.iter().filter_map(move |drop| drop.values.get(bin)).copied();
    let band: Vec<_> = (0..erasure.bins.len())
        .map(|bin| {
            at(bin).fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
        })
        .collect();
    let mean: Vec<f64> =
        (0..erasure.bins.len()).map(|bin| at(bin).sum::<f64>() / erasure.random.len() as f64).collect();
    draw(&Plot {
        title: "drop by share of units",
        ends: ends(&erasure.bins),
        series: vec![
            Series { class: "random", values: &mean },
            Series { class: "reversed", values: &erasure.reversed.values },
            Series { class: "own", values: &erasure.own.values },
        ],
        band,
        must_show: 0.0,
        note: "",
    })
}

fn curve(curve: &Curve) -> String {
    draw(&Plot {
        title: "target by share of units",
        ends: ends(&curve.shares),
        series: vec![
            Series { class: "random", values: &curve.random },
            Series { class: "own", values: &curve.values },
        ],
        band: Vec::new(),
        must_show: 0.0,
        note: "",
    })
}

fn randomisation(steps: &[Randomisation]) -> String {
    let [correlation, absolute]: [Vec<f64>; 2] =
        [|s: &Randomisation| s.correlation, |s: &Randomisation| s.absolute]
            .map(|of| steps.iter().map(of).collect());
    let name = |step: Option<&Randomisation>| step.map_or_else(String::new, |step| step.down_to.clone());
    draw(&Plot {
        title: "correlation by the last random part",
        ends: [name(steps.first()), name(steps.last())],
        series: vec![
            Series { class: "random", values: &absolute },
            Series { class: "own", values: &correlation },
        ],
        band: Vec::new(),
        must_show: 1.0,
        note: "grey: of absolute scores",
    })
}

fn ends(shares: &[f64]) -> [String; 2] {
    [shares.first(), shares.last()].map(|end| end.map_or_else(String::new, |end| share(*end)))
}

fn draw(plot: &Plot<'_>) -> String {
    let lines = plot.series.iter().flat_map(|series| series.values.iter().copied());
    let all: Vec<f64> = lines.chain([plot.must_show]).filter(|v| v.is_finite()).collect();
    let banded = plot.band.iter().flat_map(|(low, high)| [*low, *high]).filter(|v| v.is_finite());
    let (low, high) = all
        .iter()
        .copied()
        .chain(banded)
        .fold((0.0, 0.0), |(low, high), v| (f64::min(low, v), f64::max(high, v)));
    let places = plot.series.iter().map(|series| series.values.len()).max().unwrap_or(0);
    if places == 0 || high <= low {
        return String::new();
    }
    let frame = Frame { low, high, places };
    let series: String = plot.series.iter().map(|series| frame.series(series)).collect();
    format!(
        "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\"><title>{}</title>{}{}{series}\
         <text class=\"end\" x=\"{}\" y=\"{}\">{}</text></svg>\n",
        plot.title,
        frame.axes(&plot.ends),
        frame.band(&plot.band),
        WIDTH - MARGINS[1],
        MARGINS[2] + 11.0,
        plot.note
    )
}

/// Where values lie in the picture.
struct Frame {
    low: f64,
    high: f64,
    places: usize,
}

impl Frame {
    fn x(&self, place: usize) -> f64 {
        let [left, right, ..] = MARGINS;
        let share = if self.places > 1 { place as f64 / (self.places - 1) as f64 } else { 0.5 };
        left + share * (WIDTH - left - right)
    }

    fn y(&self, value: f64) -> f64 {
        let [.., top, bottom] = MARGINS;
        top + (self.high - value) / (self.high - self.low) * (HEIGHT - top - bottom)
    }

    fn axes(&self, ends: &[String; 2]) -> String {
        let (left, right) = (MARGINS[0], WIDTH - MARGINS[1]);
        let mut ticks = vec![0.0];
        let apart = |tick: f64| (self.y(tick) - self.y(0.0)).abs() > 12.0;
        ticks.extend([self.low, self.high].into_iter().filter(|tick| apart(*tick)));
        let tick = |value: &f64| {
            let (y, class) = (self.y(*value), if *value == 0.0 { "zero" } else { "tick" });
            format!(
                "<line class=\"{class}\" x1=\"{left}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\"/>\
                 <text class=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                left - 5.0,
                y + 3.5,
                minus(&figure(*value))
            )
        };
        let y = HEIGHT - 4.0;
        let names = format!(
            "<text x=\"{left}\" y=\"{y}\">{}</text><text class=\"end\" x=\"{right}\" y=\"{y}\">{}</text>",
            Escaped(&ends[0]),
            if self.places > 1 { Escaped(&ends[1]) } else { Escaped("") }
        );
        ticks.iter().map(tick).collect::<String>() + &names
    }

    fn band(&self, band: &[(f64, f64)]) -> String {
        let known = band.iter().enumerate().filter(|(_, (low, high))| low.is_finite() && high.is_finite());
        let (mut above, mut below) = (Vec::new(), Vec::new());
        for (place, (low, high)) in known {
            above.push(format!("{:.1},{:.1}", self.x(place), self.y(*high)));
            below.push(format!("{:.1},{:.1}", self.x(place), self.y(*low)));
        }
        if above.is_empty() {
            return String::new();
        }
        below.reverse();
        format!("<polygon class=\"band\" points=\"{} {}\"/>", above.join(" "), below.join(" "))
    }

    fn series(&self, series: &Series<'_>) -> String {
        let known = series.values.iter().enumerate().filter(|(_, value)| value.is_finite());
        let points: Vec<_> = known.map(|(place, value)| (self.x(place), self.y(*value))).collect();
        if points.is_empty() {
            return String::new();
        }
        let line: Vec<_> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let dot = |(x, y): &(f64, f64)| {
            format!("<circle class=\"{}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.2\"/>", series.class)
        };
        let dots: String = if points.len() <= 24 { points.iter().map(dot).collect() } else { String::new() };
        format!("<polyline class=\"{}\" points=\"{}\"/>{dots}", series.class, line.join(" "))
    }
}
