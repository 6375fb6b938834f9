//! Reports for people and for other programs: one value in, one of seven formats out.
//!
//! 1. [`read()`] takes a saved report back in and says what is wrong with one that cannot be shown.
//! 2. [`render`] writes a [`Report`] as terminal text, JSON, HTML, CSV or SVG; with the feature `png`, a function of that name
//!    makes a bitmap of the SVG. [`CorpusPage`] makes one page of many reports.
//!
//! Each format is one file (`text`, `json`, `html`, `csv`, `svg`) with one `match` on the kinds of items and a folder with
//! one file for each kind, over the same few views of a report: which items
//! belong together (`groups`), the text cut at its units (`passage`) or with what a rule holds and edits change
//! (`marked`), pictures of rows (`plot`), a map's tokens and columns (`map`), how strong a score is (`scale`) and which ranks it can tell apart
//! (`ties`), what the model, the evidence, a rule and edits say (`headline`, `evidence`, `rule`, `edits`), how a
//! number is written (`figures`) and what of a user's text may be shown as it is (`visible`, `markup`). Renderers know
//! no model and no method; whatever a report holds, they do not panic.

mod csv;
mod edits;
mod evidence;
mod figures;
mod groups;
mod headline;
mod html;
mod json;
mod judgement;
mod map;
mod marked;
mod markup;
mod measure;
mod passage;
mod plot;
#[cfg(feature = "png")]
mod png;
mod read;
mod rows;
mod rule;
mod scale;
mod sense;
mod svg;
mod text;
mod ties;
mod visible;

use exegete_core::report::Report;
pub use html::CorpusPage;
#[cfg(feature = "png")]
pub use png::png;
pub use read::read;

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Lines of text for a terminal.
    Text,
    /// A document with indentation; [`read()`] takes it back.
    Json,
    /// The same on one line.
    Jsonl,
    /// One page that needs no other file.
    Html,
    /// One row a unit, a token and site, a step of a rule, or a change.
    Csv,
    /// The text with its scores, conditions or changes as a picture.
    Svg,
}

impl Format {
    /// Every format, for lists of choices.
    pub const ALL: [Self; 6] = [Self::Text, Self::Json, Self::Jsonl, Self::Html, Self::Csv, Self::Svg];

    /// What users call it.
    pub fn name(self) -> &'static str {
        self.words().0
    }

    /// What it is, in a few words.
    pub fn about(self) -> &'static str {
        self.words().1
    }

    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Text => ("text", "For reading in a terminal"),
            Self::Json => ("json", "One document, schema exegete.report/1"),
            Self::Jsonl => ("jsonl", "One report a line"),
            Self::Html => ("html", "One self-contained page"),
            Self::Csv => ("csv", "One row a unit"),
            Self::Svg => ("svg", "A picture"),
        }
    }
}

/// What a report is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RenderOptions {
    /// Whether escape sequences will be shown as colour; without them, scores are marked with signs.
    pub colour: bool,
    /// Columns of the terminal, at least 40. Pictures take eight pixels a column.
    pub width: usize,
    /// Which text of many the report is about, counted from 1: rows for spreadsheets then begin with it.
    pub row: Option<usize>,
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self { colour: false, width: 100, row: None }
    }
}

impl RenderOptions {
    /// Below this nothing can be laid out; above it lines are too long to read.
    fn columns(&self) -> usize {
        self.width.clamp(40, 400)
    }
}

/// Rows in aligned columns for a terminal, however long the lines. Columns counted in `right` stand right; without a header
/// there is no line for it. No newline at the end.
pub fn columns(header: &[&str], rows: &[Vec<String>], right: &[usize]) -> String {
    text::columns(header, rows, right)
}

/// A report in one format, with a newline at its end.
pub fn render(report: &Report, format: Format, options: &RenderOptions) -> String {
    match format {
        Format::Text => text::render(report, options),
        Format::Json => json::pretty(report),
        Format::Jsonl => json::line(report),
        Format::Html => html::render(report),
        Format::Csv => csv::render(report, options.row),
        Format::Svg => svg::render(report, options),
    }
}
