//! Tables and JSON documents on stdout, for everything but predictions.

use anyhow::Result;
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use std::io::Write;

/// A table without frame; columns named in `right` are aligned to the right.
pub(crate) fn plain(header: &[&str], rows: Vec<Vec<String>>, right: &[usize]) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    if !header.is_empty() {
        table.set_header(header);
    }
    table.add_rows(rows);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if right.contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

/// Writes lines to stdout.
pub(crate) fn print(text: &str) -> Result<()> {
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

/// Writes a document of a named schema to stdout.
pub(crate) fn print_json(schema: &str, content: &impl Serialize) -> Result<()> {
    let document = Document { schema, content };
    print(&serde_json::to_string_pretty(&document)?)
}

#[derive(Serialize)]
struct Document<'a, T> {
    schema: &'a str,
    #[serde(flatten)]
    content: &'a T,
}
