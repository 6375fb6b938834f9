//! A mark for each row, with the words of those that lie furthest out.

use super::axis::Axis;
use super::data::{Point, number, series};
use super::frame::{Frame, Side};
use super::ink::{LETTERS, SERIES, coloured, legend, mark, text, told};
use super::{Plot, along, left_out};
use crate::figures::figure;
use crate::markup::minus;
use crate::measure::{clipped, width};
use exegete_core::report::Picture;

/// How many rows are drawn.
const DRAWN: usize = 3000;
/// How many words are tried.
const WORDS: usize = 60;
/// The room that the widest word may take, in units of the picture.
const WIDEST: f64 = 110.0;
/// Wider than other pictures: words take room.
const WIDE: f64 = 560.0;

/// A row that is drawn.
struct Spot<'a> {
    point: &'a Point,
    series: usize,
    x: f64,
    y: f64,
}

/// A stretch of the picture that is taken.
#[derive(Debug, Clone, Copy)]
struct TakenBox {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

/// Words that would lie over others are left out; whoever points at a mark is told its word.
pub(super) fn draw(picture: &Picture, points: &[Point]) -> Option<Plot> {
    let all = series(points);
    let shown = &all[..all.len().min(SERIES)];
    let known = |p: &&Point| p.y.is_some() && number(&p.x).is_some() && shown.contains(&p.series.as_str());
    let drawn: Vec<&Point> = points.iter().filter(known).collect();
    let numbers =
        |of: &dyn Fn(&Point) -> Option<f64>| drawn.iter().filter_map(|point| of(point)).collect::<Vec<f64>>();
    let x_axis = Axis::over(numbers(&|point| number(&point.x)), 0.0, 1.0)?;
    let y_axis = Axis::over(numbers(&|point| Some(point.y?.value)), 0.0, 1.0)?;
    let (top, legend) = legend(shown, WIDE, |series, x, y| mark(series, x + 12.0, y));
    let frame = Frame::new(top, WIDE, Side::Numbers(x_axis), y_axis);
    let Side::Numbers(across) = frame.x else { return None };
    let spot = |point: &&'_ Point| {
        let series = shown.iter().position(|name| *name == point.series)?;
        Some((series, across.at(number(&point.x)?), frame.y.at(point.y?.value)))
    };
    let spots: Vec<Spot<'_>> = drawn
        .iter()
        .take(DRAWN)
        .filter_map(|point| spot(point).map(|(series, x, y)| Spot { point, series, x, y }))
        .collect();
    let y_title = along(picture.y_title.as_ref(), picture.y.as_deref().unwrap_or_default());
    let marks: String = spots.iter().map(marked).collect();
    let body = legend
        + &frame.draw(&along(picture.x_title.as_ref(), &picture.x), &y_title)
        + &marks
        + &words(&spots, &frame);
    let notes = [left_out(all.len(), SERIES, "series"), left_out(drawn.len(), DRAWN, "row")];
    Some(Plot {
        title: String::new(),
        width: WIDE,
        height: frame.height(),
        body,
        notes: notes.into_iter().flatten().collect(),
    })
}

fn marked(spot: &Spot<'_>) -> String {
    let value = |value: Option<f64>| value.map_or_else(String::new, |value| minus(&figure(value)));
    let (x, y) = (value(number(&spot.point.x)), value(spot.point.y.map(|y| y.value)));
    let word = if spot.point.word.is_empty() { String::new() } else { format!("{}: ", spot.point.word) };
    told(&format!("{word}{x}, {y}"), &coloured(spot.series, &mark(spot.series, spot.x, spot.y)))
}

/// Words beside their marks, of the furthest from the middle first, where there is room for them.
fn words(spots: &[Spot<'_>], frame: &Frame) -> String {
    let middle = |of: fn(&Spot<'_>) -> f64| {
        let mut values: Vec<f64> = spots.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        super::strips::quantile(&values, 0.5)
    };
    let (x, y) = (middle(|spot| spot.x), middle(|spot| spot.y));
    let mut order: Vec<&Spot<'_>> = spots.iter().filter(|spot| !spot.point.word.is_empty()).collect();
    order.sort_by(|a, b| (b.x - x).hypot(b.y - y).total_cmp(&(a.x - x).hypot(a.y - y)));
    let mut taken: Vec<TakenBox> = spots.iter().map(|spot| TakenBox::around(spot.x, spot.y)).collect();
    let mut out = String::new();
    for spot in order.into_iter().take(WORDS) {
        let word = clipped(&crate::visible::visible(&spot.point.word), LETTERS, WIDEST);
        let free = TakenBox::beside(spot, width(&word, LETTERS))
            .into_iter()
            .find(|place| place.inside(frame) && !taken.iter().any(|other| place.meets(other)));
        if let Some(place) = free {
            out += &text(place.left, place.bottom - 3.0, "name", &word);
            taken.push(place);
        }
    }
    out
}

impl TakenBox {
    /// The room that the mark of a point takes.
    fn around(x: f64, y: f64) -> Self {
        Self { left: x - 3.0, top: y - 3.0, right: x + 3.0, bottom: y + 3.0 }
    }

    /// Right of a mark, left of it, above and below, there also aside.
    fn beside(spot: &Spot<'_>, wide: f64) -> [Self; 6] {
        let high = LETTERS + 2.0;
        [
            (spot.x + 6.0, spot.y - high / 2.0),
            (spot.x - 6.0 - wide, spot.y - high / 2.0),
            (spot.x - wide / 2.0, spot.y - 6.0 - high),
            (spot.x - wide / 2.0, spot.y + 6.0),
            (spot.x - wide + 4.0, spot.y - 6.0 - high),
            (spot.x - wide + 4.0, spot.y + 6.0),
        ]
        .map(|(left, top)| Self { left, top, right: left + wide, bottom: top + high })
    }

    fn inside(&self, frame: &Frame) -> bool {
        self.left >= frame.left
            && self.right <= WIDE
            && self.top >= frame.top - 6.0
            && self.bottom <= frame.bottom
    }

    fn meets(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_core::report::Cell;

    /// Where the words of a picture stand and how wide they are.
    fn places(body: &str) -> Vec<TakenBox> {
        let number = |text: &str, name: &str| {
            let at = text.find(&format!(" {name}=\"")).unwrap() + name.len() + 3;
            text[at..].split('"').next().unwrap().parse::<f64>().unwrap()
        };
        let words = body.split("<text class=\"name\"").skip(1);
        let place = |text: &str| {
            let word = text.split('>').nth(1).unwrap().split('<').next().unwrap();
            let (left, bottom) = (number(text, "x"), number(text, "y") + 3.0);
            TakenBox { left, top: bottom - LETTERS - 2.0, right: left + width(word, LETTERS), bottom }
        };
        words.map(place).collect()
    }

    #[test]
    fn no_word_lies_over_another_and_the_furthest_has_one() {
        let point = |n: usize| {
            let (x, y) = ((n * 37 % 101) as f64 / 101.0, (n * 53 % 97) as f64 / 97.0);
            let y = super::super::data::reach(&Cell::Number(y));
            Point { x: Cell::Number(x), y, series: String::new(), word: format!("word{n}") }
        };
        let mut points: Vec<Point> = (0..200).map(point).collect();
        points.push(Point { x: Cell::Number(3.0), word: "outlier".to_owned(), ..points[0].clone() });
        let plot = draw(&Picture { y: Some("y".to_owned()), ..Picture::default() }, &points).unwrap();
        assert!(plot.body.contains(">outlier<"));
        let places = places(&plot.body);
        assert!(places.len() > 5, "{}", places.len());
        for (index, place) in places.iter().enumerate() {
            assert!(places[..index].iter().all(|other| !place.meets(other)), "{place:?}");
        }
    }
}
