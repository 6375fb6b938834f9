//! `exegete data make`: generated data as a file, or the list of sets.

use crate::cli::{DataFormat, DataMake};
use crate::output::{self, Output, csv_table};
use crate::table;
use anyhow::{Context, Result, bail, ensure};
use exegete::methods::data::{GeneratedRow, GeneratedSet, SETS, find_set};
use exegete::render::columns;
use exegete::request::Stop;
use exegete::request::data;
use serde::ser::{SerializeMap, Serializer};
use std::io::Write;
use std::path::Path;

/// Makes the rows of a set and writes them, or lists the sets.
pub(crate) fn make(args: &DataMake, stop: &Stop) -> Result<()> {
    let Some(name) = &args.request.name else { return list() };
    let set = find_set(name)?;
    let path = output::destination(args.output.as_deref(), &[])?;
    let format = match (args.format, path) {
        (Some(format), _) => format,
        (None, path) => format_of(path)?,
    };
    ensure!(format != DataFormat::Txt || set.has_lines, "{}", no_lines(set));
    // Nothing is written before the request turned out to be right: the first row brings the head along.
    let mut output = None;
    data::run(&args.request, stop, &mut |row| {
        let output = match &mut output {
            Some(output) => output,
            None => output.insert(begun(path, format, set)?),
        };
        write(output, format, row).context("the output cannot be written")
    })?;
    output.map_or(Ok(()), Output::complete)
}

/// The output with what stands above the rows.
fn begun(path: Option<&Path>, format: DataFormat, set: &GeneratedSet) -> Result<Output> {
    let mut output = Output::open(path)?;
    header(&mut output, format, set).context("the output cannot be written")?;
    Ok(output)
}

/// The sets, one a line.
fn list() -> Result<()> {
    let row = |set: &&GeneratedSet| {
        let settings = set.parameters.iter().map(|known| format!("{}={}", known.name, known.default()));
        let settings = settings.collect::<Vec<_>>().join(" ");
        vec![set.name.to_owned(), set.summary.to_owned(), set.columns.join(" "), settings]
    };
    let rows: Vec<Vec<String>> = SETS.iter().map(row).collect();
    table::print(&columns(&["set", "what is in it", "columns", "settings"], &rows, &[]))
}

/// The format that a file's name asks for.
fn format_of(path: Option<&Path>) -> Result<DataFormat> {
    let Some(end) = path.and_then(Path::extension) else { return Ok(DataFormat::Tsv) };
    match end.to_str() {
        Some("tsv") => Ok(DataFormat::Tsv),
        Some("csv") => Ok(DataFormat::Csv),
        Some("jsonl") => Ok(DataFormat::Jsonl),
        Some("txt") => Ok(DataFormat::Txt),
        _ => {
            let name = path.unwrap_or(Path::new("")).display();
            bail!("{name}: unknown kind of file; name it .tsv, .csv, .jsonl or .txt, or say --format")
        }
    }
}

fn no_lines(set: &GeneratedSet) -> String {
    let with_lines: Vec<&str> = SETS.iter().filter(|set| set.has_lines).map(|set| set.name).collect();
    format!(
        "{} has labels that plain lines cannot hold; of {} there are such lines; write .tsv, .csv or .jsonl",
        set.name,
        with_lines.join(", ")
    )
}

fn header(out: &mut dyn Write, format: DataFormat, set: &GeneratedSet) -> Result<()> {
    match format {
        DataFormat::Tsv => Ok(writeln!(out, "{}", set.columns.join("\t"))?),
        DataFormat::Csv => csv_table::write(out, set.columns),
        DataFormat::Jsonl | DataFormat::Txt => Ok(()),
    }
}

/// Writes one row. No cell holds a tab or a line break: generated texts have blanks between words and nothing else.
fn write(out: &mut dyn Write, format: DataFormat, row: &GeneratedRow) -> Result<()> {
    let named = row.cells();
    let cells = || named.iter().map(|(_, cell)| cell.as_str()).collect::<Vec<_>>();
    match format {
        DataFormat::Tsv => Ok(writeln!(out, "{}", cells().join("\t"))?),
        DataFormat::Csv => csv_table::write(out, &cells()),
        DataFormat::Jsonl => Ok(writeln!(out, "{}", object(&named)?)?),
        DataFormat::Txt => Ok(writeln!(out, "{}", row.line().unwrap_or_default())?),
    }
}

/// A JSON object whose fields stand in the order of the columns.
fn object(cells: &[(&str, String)]) -> Result<String> {
    let mut json = Vec::new();
    let mut serializer = serde_json::Serializer::new(&mut json);
    let mut map = serializer.serialize_map(Some(cells.len()))?;
    cells.iter().try_for_each(|(name, cell)| map.serialize_entry(name, cell))?;
    map.end()?;
    Ok(String::from_utf8(json)?)
}
