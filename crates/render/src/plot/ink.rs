//! What is apart by colour, mark and dash, and the elements that pictures are made of.

use crate::markup::Escaped;
use crate::measure::{clipped, width};

/// How many series can be told apart; more are counted.
pub(super) const SERIES: usize = 7;
/// The size of letters, as in the styles.
pub(super) const LETTERS: f64 = 12.0;
/// The size of small letters.
pub(super) const SMALL: f64 = 10.0;

/// Strokes of the series beside their colours.
const DASHES: [&str; SERIES] = ["none", "7 3", "2 2.5", "9 3 2 3", "5 2", "12 3", "3 3 8 3"];
/// Marks of the series, around the origin: disc, square, triangle, rhombus, cross, triangle downwards, ring.
const MARKS: [&str; SERIES] = [
    "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0z",
    "M-3.2 -3.2h6.4v6.4h-6.4z",
    "M0 -4.2L4 3.2H-4z",
    "M0 -4.6L4.6 0L0 4.6L-4.6 0z",
    "M-4 -1.3h2.7v-2.7h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7z",
    "M0 4.2L4 -3.2H-4z",
    "M-3.8 0a3.8 3.8 0 1 0 7.6 0a3.8 3.8 0 1 0 -7.6 0zM-2 0a2 2 0 1 1 4 0a2 2 0 1 1 -4 0z",
];

/// The colours of pictures on white paper; pages have those of `style.css`. After Okabe and Ito (2008), whose yellow is too pale
/// for paper and whose black is the ink.
pub(crate) const PAPER: &str = "<style>\n\
.plot text { font-size: 12px; fill: #444 }\n.plot .name { fill: #1b1f24 }\n.plot .small { font-size: 10px }\n\
.plot .end { text-anchor: end }\n.plot .mid { text-anchor: middle }\n\
.plot .tick { stroke: #d5dbe1 }\n.plot .zero { stroke: #5b6570 }\n.plot .rim { stroke: #d5dbe1; fill: none }\n\
.plot .ink { stroke: #1b1f24; stroke-width: 1.5; fill: none }\n.plot .dot { fill: #1b1f24 }\n.plot .paper { fill: #fff }\n\
.plot .area { fill: currentColor; fill-opacity: .75 }\n.plot .pale { fill: currentColor; fill-opacity: .3; stroke: currentColor }\n\
.plot .mark { fill: currentColor }\n.plot .line { stroke: currentColor; stroke-width: 2; fill: none }\n\
.plot .for { fill: #0072bc }\n.plot .against { fill: #e27800 }\n\
.c0 { color: #0072b2 }\n.c1 { color: #d55e00 }\n.c2 { color: #009e73 }\n.c3 { color: #b0588c }\n.c4 { color: #b87d00 }\n\
.c5 { color: #3a9bd0 }\n.c6 { color: #555 }\n</style>\n";

/// Text that begins, ends or has its middle at a place, by its class.
pub(super) fn text(x: f64, y: f64, class: &str, told: &str) -> String {
    format!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>\n", Escaped(told))
}

/// Text that keeps within some pixels.
pub(super) fn clipped_text(x: f64, y: f64, class: &str, told: &str, room: f64) -> String {
    text(x, y, class, &clipped(&crate::visible::visible(told), LETTERS, room))
}

/// A straight line between two points of the picture.
pub(super) fn line(class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) -> String {
    format!("<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>\n")
}

/// A box with its corners.
pub(super) fn rect(class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) -> String {
    let (x, y, wide, high) = (x1.min(x2), y1.min(y2), (x2 - x1).abs(), (y2 - y1).abs());
    format!("<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{high:.1}\"/>\n")
}

/// What belongs to a series, in its colour.
pub(super) fn coloured(series: usize, body: &str) -> String {
    format!("<g class=\"c{}\">\n{body}</g>\n", series % SERIES)
}

/// The mark of a series.
pub(super) fn mark(series: usize, x: f64, y: f64) -> String {
    let shape = MARKS[series % SERIES];
    format!("<path class=\"mark\" transform=\"translate({x:.1} {y:.1})\" d=\"{shape}\"/>\n")
}

/// The line of a series through some points.
pub(super) fn through(series: usize, points: &[(f64, f64)]) -> String {
    let places: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let dash = DASHES[series % SERIES];
    format!("<polyline class=\"line\" stroke-dasharray=\"{dash}\" points=\"{}\"/>\n", places.join(" "))
}

/// An interval along one of the axes, with its ends.
pub(super) fn whisker((x1, y1): (f64, f64), (x2, y2): (f64, f64)) -> String {
    let end = 3.5;
    let (across, up) = if y1 == y2 { (0.0, end) } else { (end, 0.0) };
    [(x1, y1), (x2, y2)].map(|(x, y)| line("ink", (x - across, y - up), (x + across, y + up))).concat()
        + &line("ink", (x1, y1), (x2, y2))
}

/// What a reader who points at something is told.
pub(super) fn told(title: &str, body: &str) -> String {
    format!("<g><title>{}</title>{body}</g>\n", Escaped(title))
}

/// The names of series with their samples, on as many lines as they need; nothing where there is one without a name.
pub(super) fn legend(names: &[&str], room: f64, sample: impl Fn(usize, f64, f64) -> String) -> (f64, String) {
    if names.len() < 2 && names.first().is_none_or(|name| name.is_empty()) {
        return (0.0, String::new());
    }
    const SAMPLE: f64 = 30.0;
    const GAP: f64 = 18.0;
    let (mut x, mut y, mut out) = (0.0, 14.0, String::new());
    for (index, name) in names.iter().enumerate() {
        let name = clipped(&crate::visible::visible(name), LETTERS, room - SAMPLE - GAP);
        let wide = SAMPLE + width(&name, LETTERS) + GAP;
        if x > 0.0 && x + wide > room {
            (x, y) = (0.0, y + 18.0);
        }
        out += &coloured(index, &sample(index, x, y - 4.0));
        out += &text(x + SAMPLE, y, "name", &name);
        x += wide;
    }
    (y + 10.0, out)
}
