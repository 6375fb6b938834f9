//! The columns that a picture names.

use crate::figures::setting;
use exegete_core::report::{Cell, Picture, Rows, Table};
use serde_json::Value;

/// Larger numbers would overflow where they are compared.
const LARGEST: f64 = 1e150;

/// Where a picture's numbers stand.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    /// The numbers stand in the cells of a table.
    Table(&'a Table),
    /// In fields of objects.
    Rows(&'a Rows),
}

/// A number with the ends of its interval, which are the number itself where it has none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Reach {
    pub(super) value: f64,
    pub(super) lower: f64,
    pub(super) upper: f64,
}

/// One row, as far as a picture asks for it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Point {
    pub(super) x: Cell,
    pub(super) y: Option<Reach>,
    pub(super) series: String,
    pub(super) word: String,
}

impl Source<'_> {
    /// The cells of a column, one a row; empty ones where a row lacks it.
    pub(super) fn column(&self, name: &str) -> Vec<Cell> {
        match self {
            Self::Table(table) => {
                let at = table.columns.iter().position(|column| column == name);
                let cell = |row: &Vec<Cell>| at.and_then(|at| row.get(at)).cloned().unwrap_or(Cell::Empty);
                table.rows.iter().map(cell).collect()
            }
            Self::Rows(rows) => {
                let cell = |row| crate::rows::field(row, name).map_or(Cell::Empty, crate::rows::cell);
                rows.rows.iter().map(cell).collect()
            }
        }
    }

    /// The lists of a field, which only objects have.
    pub(super) fn lists(&self, name: &str) -> Vec<&[Value]> {
        let Self::Rows(rows) = self else { return Vec::new() };
        let list =
            |row| crate::rows::field(row, name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        rows.rows.iter().map(list).collect()
    }
}

/// The rows of a picture. Where `y` is plain and the item has columns lower and upper, these are its interval.
pub(super) fn points(picture: &Picture, source: Source<'_>) -> Vec<Point> {
    let named = |name: &Option<String>| name.as_ref().map(|name| source.column(name));
    let (xs, ys) = (source.column(&picture.x), named(&picture.y));
    let (series, words) = (named(&picture.series), named(&picture.of));
    let ends = ["lower", "upper"].map(|name| source.column(name));
    let point = |(row, x): (usize, Cell)| {
        let cell = |column: &Option<Vec<Cell>>| column.as_ref().and_then(|cells| cells.get(row)).cloned();
        let y = cell(&ys).and_then(|y| reach(&y)).map(|y| within(y, ends.each_ref().map(|end| end.get(row))));
        let name = |column| cell(column).map_or_else(String::new, |cell| label(&cell));
        // A mark beside which nothing stands needs no dash that says so.
        let word =
            cell(&words).filter(|cell| *cell != Cell::Empty).map_or_else(String::new, |cell| label(&cell));
        Point { x, y, series: name(&series), word }
    };
    xs.into_iter().enumerate().map(point).collect()
}

/// A cell's number; none where it has none that can be drawn.
pub(super) fn reach(cell: &Cell) -> Option<Reach> {
    let (value, lower, upper) = match cell {
        Cell::Number(value) => (*value, *value, *value),
        Cell::Estimate { mean, error } => {
            let reach = crate::ties::reach(*error);
            (*mean, mean - reach, mean + reach)
        }
        Cell::Interval { value, lower, upper } => (*value, *lower, *upper),
        Cell::Word(_) | Cell::Empty => return None,
    };
    let known = |end: f64| if drawable(end) { end } else { value };
    drawable(value).then(|| Reach { value, lower: known(lower), upper: known(upper) })
}

fn within(y: Reach, ends: [Option<&Cell>; 2]) -> Reach {
    let plain = y.lower == y.value && y.upper == y.value;
    match ends.map(|end| end.and_then(number)) {
        [Some(lower), Some(upper)] if plain && lower <= y.value && y.value <= upper => {
            Reach { lower, upper, ..y }
        }
        _ => y,
    }
}

fn drawable(value: f64) -> bool {
    value.abs() <= LARGEST
}

/// A cell's number without its interval.
pub(super) fn number(cell: &Cell) -> Option<f64> {
    reach(cell).map(|reach| reach.value)
}

/// A cell as a name.
pub(super) fn label(cell: &Cell) -> String {
    match cell {
        Cell::Word(word) => word.clone(),
        Cell::Empty => "–".to_owned(),
        cell => number(cell).map_or_else(|| "?".to_owned(), |value| crate::markup::minus(&setting(value))),
    }
}

/// The different values of a column as names: numbers and ranges such as [0, .25) by size, words in the order of the rows.
pub(super) fn kinds<'a>(cells: impl Iterator<Item = &'a Cell>) -> Vec<String> {
    let mut seen = std::collections::BTreeSet::new();
    let mut kinds: Vec<(Option<f64>, String)> = Vec::new();
    let place = |cell: &Cell, name: &str| number(cell).or_else(|| lower_end(name));
    for cell in cells {
        let name = label(cell);
        if seen.insert(name.clone()) {
            kinds.push((place(cell, &name), name));
        }
    }
    if kinds.iter().all(|(number, _)| number.is_some()) {
        kinds.sort_by(|(a, _), (b, _)| a.unwrap_or(0.0).total_cmp(&b.unwrap_or(0.0)));
    }
    kinds.into_iter().map(|(_, name)| name).collect()
}

/// Where a range that is written as such begins.
fn lower_end(name: &str) -> Option<f64> {
    let (lower, upper) = name.strip_prefix('[')?.split_once(", ")?;
    upper.ends_with([')', ']']).then(|| lower.parse().ok())?
}

/// The names of all series, in the order of the rows; one without a name where there are none.
pub(super) fn series(points: &[Point]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for point in points {
        if !names.contains(&point.series.as_str()) {
            names.push(&point.series);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_core::report::ReportRow;
    use serde_json::json;

    #[test]
    fn fields_of_fields_and_intervals_beside_are_found() {
        let record = |x: f64| {
            ReportRow::default()
                .with("name", "a")
                .with("tau", json!({"gradient": x}))
                .with("lower", x - 1.0)
                .with("upper", x + 2.0)
        };
        let rows = Rows { rows: vec![record(0.5), ReportRow::default()], ..Rows::default() };
        let picture = Picture { x: "name".into(), y: Some("tau.gradient".into()), ..Picture::default() };
        let found = points(&picture, Source::Rows(&rows));
        assert_eq!(found[0].y, Some(Reach { value: 0.5, lower: -0.5, upper: 2.5 }));
        assert_eq!((found[1].x.clone(), found[1].y), (Cell::Empty, None));
    }

    #[test]
    fn numbers_are_in_order_and_words_as_they_come() {
        let cells = |values: &[f64]| values.iter().map(|value| Cell::Number(*value)).collect::<Vec<_>>();
        assert_eq!(kinds(cells(&[10.0, 2.0, 10.0]).iter()), ["2", "10"]);
        let words = ["b", "a", "b"].map(|word| Cell::Word(word.to_owned()));
        assert_eq!(kinds(words.iter()), ["b", "a"]);
        let ranges = ["[.5, 1]", "[0, .25)", "[.25, .5)"].map(|range| Cell::Word(range.to_owned()));
        assert_eq!(kinds(ranges.iter()), ["[0, .25)", "[.25, .5)", "[.5, 1]"]);
    }

    #[test]
    fn what_cannot_be_drawn_is_no_number() {
        for value in [f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(reach(&Cell::Number(value)), None);
        }
        let half = Cell::Interval { value: 1.0, lower: f64::NAN, upper: 2.0 };
        assert_eq!(reach(&half), Some(Reach { value: 1.0, lower: 1.0, upper: 2.0 }));
    }
}
