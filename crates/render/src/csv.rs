//! Scores as rows for spreadsheets and data frames.
//!
//! A report with items of several kinds becomes several tables with an empty line between them.

mod attribution;
mod edits;
mod map;
mod rule;
mod table;

use exegete_core::report::{Item, Report, Table};

/// A row under construction.
type Row = Vec<String>;

/// The rows of an item.
struct Section {
    /// Sections of the same place become one table; places follow one another in order. Tables come last, each in a
    /// place of its own.
    place: (u8, usize),
    head: Row,
    rows: Vec<Row>,
}

/// A report's scores; those of a text of many begin with its number.
pub(crate) fn render(report: &Report, row: Option<usize>) -> String {
    let mut sections: Vec<Section> = report.items.iter().enumerate().map(section).collect();
    if sections.is_empty() {
        sections.push(fixed(0, &attribution::HEAD, Vec::new()));
    }
    if let Some(row) = row {
        sections.iter_mut().for_each(|section| section.number(row));
    }
    sections.sort_by_key(|section| section.place);
    let joined = |same: &[Section]| {
        let rows: Vec<Row> = same.iter().flat_map(|section| section.rows.iter().cloned()).collect();
        document(&same[0].head, &rows)
    };
    sections.chunk_by(|a, b| a.place == b.place).map(joined).collect::<Vec<String>>().join("\n")
}

impl Section {
    /// Puts the number of the text into a column before all others.
    fn number(&mut self, row: usize) {
        self.head.insert(0, "row".to_owned());
        self.rows.iter_mut().for_each(|cells| cells.insert(0, row.to_string()));
    }
}

/// A table that all items of one kind share.
fn fixed(place: u8, head: &[&str], rows: Vec<Row>) -> Section {
    Section { place: (place, 0), head: head.iter().map(|&name| name.to_owned()).collect(), rows }
}

fn section((index, item): (usize, &Item)) -> Section {
    match item {
        Item::Attribution(attribution) => fixed(0, &attribution::HEAD, attribution::rows(index, attribution)),
        Item::Map(map) => fixed(1, &map::HEAD, map::rows(index, map)),
        Item::Rule(rule) => fixed(2, &rule::HEAD, rule::rows(index, rule)),
        Item::Edits(edits) => fixed(3, &edits::HEAD, edits::rows(index, edits)),
        Item::Table(table) => apart(index, table),
        Item::Rows(rows) => apart(index, &crate::rows::whole(rows)),
        Item::Verdict(judgement) => apart(index, &crate::judgement::findings(judgement)),
    }
}

/// A table in a place of its own.
fn apart(index: usize, table: &Table) -> Section {
    let (head, rows) = table::rows(table);
    Section { place: (u8::MAX, index), head, rows }
}

/// As short as it can be without losing a bit.
fn number(value: f64) -> String {
    let short = value as f32;
    if f64::from(short) == value { format!("{short}") } else { format!("{value}") }
}

/// Text as a cell: one that a spreadsheet would run as a formula gets a quote before it. Controls, which few readers
/// of CSV take and a terminal may obey, become pictures; the offsets still say what stands in the text.
fn word(text: &str) -> String {
    let quote = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    quote.chars().chain(text.chars().map(crate::visible::pictured)).collect()
}

fn document(head: &[String], rows: &[Row]) -> String {
    let mut writer = ::csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
    // Writing to memory does not fail.
    for row in std::iter::once(head).chain(rows.iter().map(Vec::as_slice)) {
        let _ = writer.write_record(row);
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_quoted() {
        for (text, expected) in [
            ("=1+1", "'=1+1"),
            ("@x", "'@x"),
            ("-", "'-"),
            ("good", "good"),
            ("a=b", "a=b"),
            ("", ""),
            ("a\0", "a␀"),
        ] {
            assert_eq!(word(text), expected);
        }
    }
}
