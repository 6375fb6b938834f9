//! Pictures of an item's rows as vector graphics, the same for pages, pictures and bitmaps.
//!
//! 1. `data` reads the columns that a picture names, from a table or from objects.
//! 2. Each shape is one file: it lays the marks out and says what it had to leave out.
//! 3. What is drawn has classes and no colours (`ink`): a page colours it by its reader's light, a picture by white paper.
//!
//! Colour never stands alone: what is apart by colour also has its own mark, dash, strip or panel.

mod axis;
mod bars;
mod boxes;
mod data;
mod frame;
mod grid;
mod histogram;
mod ink;
mod lines;
mod scatter;
mod strips;
mod violins;
mod words;

pub(crate) use bars::bars;
pub(crate) use data::Source;
use data::points;
use exegete_core::report::{Picture, Shape};
pub(crate) use grid::{Cells, cells, matrix};
pub(crate) use histogram::{Counted, counted};
pub(crate) use ink::PAPER;
pub(crate) use words::{Weighed, WeighedText, weighed};

/// The width of a picture whose content does not ask for another, in units that are pixels on paper.
const WIDTH: f64 = 480.0;

/// A picture that was laid out.
pub(crate) struct Plot {
    /// The heading, which says what is shown.
    pub(crate) title: String,
    /// In units of its content.
    pub(crate) width: f64,
    /// In units of its content.
    pub(crate) height: f64,
    /// Elements of SVG with classes.
    pub(crate) body: String,
    /// What is not drawn, and how to read what is.
    pub(crate) notes: Vec<String>,
}

/// A picture as it is drawn; none where there is nothing to draw, or where it is text.
pub(crate) fn plot(picture: &Picture, source: Source<'_>) -> Option<Plot> {
    let points = points(picture, source);
    let plot = match picture.shape {
        Shape::Histogram => histogram::draw(picture, &points),
        Shape::Boxes => boxes::draw(picture, source, &points),
        Shape::Violins => violins::draw(picture, &points),
        Shape::Scatter => scatter::draw(picture, &points),
        Shape::Lines => lines::draw(picture, &points),
        Shape::Bars => bars::draw(picture, &points),
        Shape::Grid => grid::draw(picture, source),
        Shape::Words => None,
    }?;
    Some(Plot { title: picture.title.clone(), ..plot })
}

/// What stands along an axis: its title, or the column's name with spaces.
fn along(title: Option<&String>, column: &str) -> String {
    title.cloned().unwrap_or_else(|| column.replace(['_', '.'], " "))
}

/// What is said of things that are left out.
fn left_out(all: usize, shown: usize, noun: &str) -> Option<String> {
    let more = all.checked_sub(shown).filter(|more| *more > 0)?;
    Some(format!(
        "the first {shown} of {} are drawn; {more} more are in the item",
        crate::figures::count(all, noun)
    ))
}
