//! Text and JSON documents on stdout, for everything but predictions.

use anyhow::Result;
use serde::Serialize;
use std::io::Write;

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
