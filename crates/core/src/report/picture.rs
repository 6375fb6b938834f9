use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the rows of an item are drawn beside it. Every number of a picture stands in that item: a picture only names its
/// columns, or for objects the fields, where `a.b` is the field b of a.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Picture {
    /// What it shows, for people.
    pub title: String,
    /// The kind of drawing.
    pub shape: Shape,
    /// The column along the horizontal axis, or of what bars and boxes stand for.
    pub x: String,
    /// The column along the vertical axis; none where rows are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y: Option<String>,
    /// The column whose values are drawn apart, by colour and mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
    /// What stands along the horizontal axis, with its unit; the column's name where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x_title: Option<String>,
    /// What stands along the vertical axis, with its unit; the column's name where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y_title: Option<String>,
    /// The column whose words stand beside the marks, or the strength of a cell of a grid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
}

/// The shapes that rows can be drawn in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// How many rows have which `x`, apart by `series`.
    Histogram,
    /// Quartiles and whiskers of `y` for each `x`; an item whose rows are quartiles already has the columns q1, median, q3.
    Boxes,
    /// The distribution of `y` for each `x`, mirrored.
    Violins,
    /// A mark a row at `x` and `y`, with the word `of`.
    Scatter,
    /// `y` over `x`, a line for each of `series`; an interval is drawn as a bar.
    Lines,
    #[default]
    /// A bar of length `y` for each `x`, side by side for each of `series`.
    Bars,
    /// Cells at column `x` and row `y`, as dark as `of` is large.
    Grid,
    /// The words of the list `x`, each on a ground by its number in the list `y`, and beside them again by the list `of`;
    /// `y_title` and `x_title` name these two. With `series` only rows that have it, under what it says.
    Words,
}

impl Picture {
    /// The columns that it names, with the field that names them.
    pub(super) fn named(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let others = [("y", &self.y), ("series", &self.series), ("of", &self.of)];
        let others = others.into_iter().filter_map(|(field, name)| Some((field, name.as_deref()?)));
        std::iter::once(("x", self.x.as_str())).chain(others)
    }
}
