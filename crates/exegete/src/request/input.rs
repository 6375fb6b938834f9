//! Examples from the command line, stdin or a file, one at a time.

mod again;
mod bad_rows;
mod columns;
mod lines;
mod table;
mod waiting;
mod weights;

use super::{Notice, Stop, TextInput, text_sha256};
use crate::report::RecordedFile;
use crate::{Card, Example, Field, Task};
pub(crate) use again::TextsAgain;
use anyhow::{Result, bail};
pub(crate) use bad_rows::BadRows;
use columns::{Columns, Indices};
pub(crate) use lines::Lines;
use std::path::Path;
pub(crate) use weights::WeightLines;

/// A stream of examples, from a command's text, its standard input or a file; nothing of a corpus is held but the row at
/// hand.
pub struct TextReader {
    rows: Rows,
    columns: Columns,
    /// The second text for every row, where it was given on the command line.
    pair: Option<String>,
    names: [&'static str; 2],
    /// Attention from outside, where it was given.
    weights: Option<WeightLines>,
    /// The size of the input where it is known, for progress.
    pub(crate) total_bytes: Option<u64>,
    /// Where the row at hand is: a line of the input.
    line: usize,
}

/// Where rows come from.
enum Rows {
    Argument(Option<String>),
    Text(Lines),
    Table(Lines, Separator, Option<Indices>),
    JsonLines(Lines),
}

/// What stands between the columns of a table, and whether quotes hold a field together.
#[derive(Clone, Copy)]
struct Separator {
    mark: char,
    quotes: bool,
}

/// The text fields of one row before they become an example.
struct Raw {
    text: String,
    pair: Option<String>,
    label: Option<String>,
}

/// Texts that are read together: some that an earlier run finished, then new ones.
pub(crate) struct TextsTogether {
    pub(crate) examples: Vec<Example>,
    /// How many of them are finished.
    pub(crate) finished: usize,
    /// Where each of the others is: a line of the input.
    lines: Vec<usize>,
}

impl TextsTogether {
    /// Those that are not finished, with their lines.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = (&Example, usize)> {
        self.examples.iter().skip(self.finished).zip(self.lines.iter().copied())
    }
}

impl TextReader {
    /// Opens what a command was asked to read.
    pub fn open(texts: &TextInput, task: &dyn Task) -> Result<Self> {
        Self::open_until(texts, task, &Stop::default())
    }

    /// The same; a wait for stdin ends when the run should stop.
    pub(crate) fn open_until(texts: &TextInput, task: &dyn Task, stop: &Stop) -> Result<Self> {
        texts.check()?;
        let columns = Columns::new(texts, task);
        let (rows, total_bytes) = match (texts.text.as_deref(), texts.input.as_deref()) {
            (_, Some(path)) if path.as_os_str() == "-" => (Rows::Text(Lines::stdin(stop)?), None),
            (_, Some(path)) => open_file(path, texts.delimiter.as_deref())?,
            (Some("-"), _) => (Rows::Text(Lines::stdin(stop)?), None),
            (text, None) => (Rows::Argument(text.map(str::to_owned)), None),
        };
        if matches!(rows, Rows::Argument(_) | Rows::Text(_)) && columns.named_by_user() {
            bail!(
                "a text per line has no columns; leave the column options out or give a .tsv, .csv or .jsonl file"
            );
        }
        if texts.delimiter.is_some() && !matches!(rows, Rows::Table(..)) {
            bail!("--delimiter is for tables; leave it out, or give .tsv or .csv files");
        }
        if columns.numbered && !matches!(rows, Rows::Table(..)) {
            bail!(
                "--no-header is for tables, and a .jsonl file names its fields in every line; leave it out, or give .tsv or .csv \
                 files"
            );
        }
        let names = task.fields();
        let weights = WeightLines::of(texts)?;
        Ok(Self { rows, columns, pair: texts.pair.clone(), names, weights, total_bytes, line: 0 })
    }

    /// Up to `count` further examples; none at the end.
    pub(crate) fn chunk(&mut self, count: usize) -> Result<Vec<Example>> {
        let mut examples = Vec::new();
        while examples.len() < count
            && let Some(example) = self.read()?
        {
            examples.push(example);
        }
        Ok(examples)
    }

    /// Further texts behind some that are finished, as many as make `count` with these, fewer at the end; what was read before an
    /// error counts.
    pub(crate) fn together(&mut self, finished: Vec<Example>, count: usize) -> (TextsTogether, Result<()>) {
        let mut chunk = TextsTogether { finished: finished.len(), examples: finished, lines: Vec::new() };
        while chunk.examples.len() < count {
            match self.read() {
                Ok(Some(example)) => chunk.examples.push(example),
                Ok(None) => break,
                Err(error) => return (chunk, Err(error)),
            }
            chunk.lines.push(self.line());
        }
        (chunk, Ok(()))
    }

    /// Passes over the texts that an earlier run finished; an error where they are others.
    pub(crate) fn skip(&mut self, finished: &[String]) -> Result<()> {
        self.passed(finished, &mut |_| ())
    }

    /// The same, and hands them out.
    pub(crate) fn skipped(&mut self, finished: &[String]) -> Result<Vec<Example>> {
        let mut examples = Vec::with_capacity(finished.len());
        self.passed(finished, &mut |example| examples.push(example))?;
        Ok(examples)
    }

    fn passed(&mut self, finished: &[String], visit: &mut dyn FnMut(Example)) -> Result<()> {
        let advice = "finish that run with its own texts, remove its file or choose another output";
        for then in finished {
            let Some(example) = self.read()? else {
                bail!("{}: holds fewer texts than an unfinished run finished; {advice}", self.name());
            };
            if text_sha256(&example) != *then {
                return Err(self.rejected(format!(
                    "is another text than the one that an unfinished run finished there; {advice}"
                )));
            }
            visit(example);
        }
        Ok(())
    }

    /// Every further row with its line, at most so many. What is wrong is told of all rows at once; with a card, that is also a
    /// label which the model does not have.
    pub(crate) fn whole(
        &mut self,
        limit: Option<usize>,
        labels: Option<&Card>,
    ) -> Result<Vec<(usize, Example)>> {
        let mut rows = Vec::new();
        self.every(limit, labels, &mut |line, example| rows.push((line, example)))?;
        Ok(rows)
    }

    /// The same, row by row.
    fn every(
        &mut self,
        limit: Option<usize>,
        labels: Option<&Card>,
        visit: &mut dyn FnMut(usize, Example),
    ) -> Result<()> {
        let (mut rows, mut bad) = (0, BadRows::default());
        while limit.is_none_or(|limit| rows < limit) {
            let before = self.bytes();
            match self.read().and_then(|row| self.meant(row, labels)) {
                Ok(None) => break,
                Ok(Some(example)) => {
                    rows += 1;
                    visit(self.line, example);
                }
                // Without a header, or where nothing more can be read, no other row says anything.
                Err(error) if self.bytes() == before || self.is_unreadable() => return Err(error),
                Err(error) => bad.add(self.name(), error),
            }
        }
        bad.none()
    }

    /// Whether no row can be read, whatever it holds.
    fn is_unreadable(&self) -> bool {
        let lacks_pairs = self.columns.needs_pair && self.pair.is_none();
        !self.rows.has_header() || lacks_pairs && matches!(self.rows, Rows::Text(_))
    }

    /// A row whose label is one of the model's.
    fn meant(&self, row: Option<Example>, labels: Option<&Card>) -> Result<Option<Example>> {
        if let (Some(card), Some(label)) = (labels, row.as_ref().and_then(|row| row.label.as_deref())) {
            card.task.meant(card, label).map_err(|error| self.rejected(error))?;
        }
        Ok(row)
    }

    /// Reads a file once before any work: whatever is wrong with a row of it is told at once and not after hours. What is no
    /// file can be read only once.
    pub(crate) fn check_file(texts: &TextInput, task: &dyn Task, labels: Option<&Card>) -> Result<()> {
        if !texts.input.as_deref().is_some_and(Path::is_file) {
            return Ok(());
        }
        let texts = TextInput { weights: None, ..texts.clone() };
        Self::open(&texts, task)?.every(None, labels, &mut |_, _| ())
    }

    /// The standard input by what was read of it, where it is the input.
    pub(crate) fn recorded_stdin(&self) -> Option<RecordedFile> {
        let Rows::Text(lines) = &self.rows else { return None };
        lines.sha256().map(|sha256| RecordedFile { path: "-".to_owned(), sha256: Some(sha256) })
    }

    /// How many bytes of the input have been read.
    pub fn bytes(&self) -> u64 {
        match &self.rows {
            Rows::Argument(_) => 0,
            Rows::Text(lines) | Rows::Table(lines, ..) | Rows::JsonLines(lines) => lines.bytes(),
        }
    }

    /// How far it is read after so many texts.
    pub(crate) fn progress(&self, texts: usize) -> Notice<'static> {
        Notice::Read { texts, bytes: self.bytes(), total_bytes: self.total_bytes }
    }

    /// What the input is called, for an error about all of it.
    pub(crate) fn name(&self) -> &str {
        match &self.rows {
            Rows::Argument(_) => "the text",
            Rows::Text(lines) | Rows::Table(lines, ..) | Rows::JsonLines(lines) => lines.name(),
        }
    }

    /// An error about the row that was read last.
    fn rejected(&self, what: impl std::fmt::Display) -> anyhow::Error {
        match &self.rows {
            Rows::Argument(_) => anyhow::anyhow!("{what}"),
            Rows::Text(lines) | Rows::Table(lines, ..) | Rows::JsonLines(lines) => {
                lines.error(self.line, what)
            }
        }
    }

    /// The line of the row that was read last, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The next example; none at the end.
    pub fn read(&mut self) -> Result<Option<Example>> {
        let Some((line, raw)) = self.rows.next(&self.columns)? else {
            return self.weights.take().map_or(Ok(()), WeightLines::finish).map(|()| None);
        };
        self.line = line;
        let pair = raw.pair.or_else(|| self.pair.clone());
        if pair.is_none() && self.columns.needs_pair {
            bail!(
                "a question-answering model reads a question and its context; give the context with --pair or --pair-column"
            );
        }
        let mut example = Example { fields: vec![self.field(0, raw.text)?], label: raw.label, weights: None };
        if let Some(pair) = pair {
            example.fields.push(self.field(1, pair)?);
        }
        match &mut self.weights {
            Some(weights) => weights.give(example).map(Some),
            None => Ok(Some(example)),
        }
    }

    fn field(&self, index: usize, text: String) -> Result<Field> {
        let name = self.names[index];
        if !text.trim().is_empty() {
            return Ok(Field { name: name.to_owned(), text });
        }
        Err(match &self.rows {
            Rows::Argument(_) => anyhow::anyhow!("the {name} is empty; give at least one word"),
            _ => self.rejected(format!("the {name} is empty; remove the row or fill it in")),
        })
    }
}

impl Rows {
    /// Whether it is known which column is which, where there are columns.
    fn has_header(&self) -> bool {
        !matches!(self, Self::Table(_, _, None))
    }

    fn next(&mut self, columns: &Columns) -> Result<Option<(usize, Raw)>> {
        match self {
            Self::Argument(text) => Ok(text.take().map(|text| (1, Raw::text(text)))),
            Self::Text(lines) => Ok(lines.read()?.map(|(line, text)| (line, Raw::text(text)))),
            Self::Table(lines, separator, indices) => {
                if indices.is_none() && !columns.numbered {
                    *indices = Some(header(lines, *separator, columns)?);
                }
                let Some((line, fields)) = separator.row(lines)? else { return Ok(None) };
                let indices = match indices {
                    Some(indices) => indices,
                    None => indices.insert(columns.count(lines, line, fields.len())?),
                };
                Ok(Some((line, indices.raw(lines, line, fields)?)))
            }
            Self::JsonLines(lines) => {
                let row = lines.read()?;
                row.map(|(line, text)| Ok((line, columns.json_row(lines, line, &text)?))).transpose()
            }
        }
    }
}

impl Raw {
    fn text(text: String) -> Self {
        Self { text, pair: None, label: None }
    }
}

impl Separator {
    fn row(self, lines: &mut Lines) -> Result<Option<(usize, Vec<String>)>> {
        if self.quotes { table::csv_row(lines, self.mark) } else { table::tsv_row(lines, self.mark) }
    }

    /// What a user says, else what the kind of file has.
    fn new(asked: Option<&str>, usual: char, quotes: bool) -> Result<Self> {
        let mark = match asked {
            None => usual,
            Some("tab" | "\\t") => '\t',
            Some(asked) => {
                let mut marks = asked.chars();
                match (marks.next(), marks.next()) {
                    (Some(mark), None) if !matches!(mark, '"' | '\n' | '\r') => mark,
                    _ => bail!(
                        "--delimiter '{}' is not one character; write it as it is, or tab",
                        asked.escape_debug()
                    ),
                }
            }
        };
        Ok(Self { mark, quotes })
    }
}

fn header(lines: &mut Lines, separator: Separator, columns: &Columns) -> Result<Indices> {
    match separator.row(lines)? {
        Some((line, names)) => columns.find(lines, line, names, separator.mark),
        None => bail!("{}: is empty; a header with the column names was expected", lines.name()),
    }
}

fn open_file(path: &Path, delimiter: Option<&str>) -> Result<(Rows, Option<u64>)> {
    let (lines, size) = Lines::open(path)?;
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    let rows = match extension.as_str() {
        "txt" => Rows::Text(lines),
        "tsv" => Rows::Table(lines, Separator::new(delimiter, '\t', false)?, None),
        "csv" => Rows::Table(lines, Separator::new(delimiter, ',', true)?, None),
        "jsonl" => Rows::JsonLines(lines),
        _ => bail!("{}: unknown kind of file; name it .txt, .tsv, .csv or .jsonl", lines.name()),
    };
    Ok((rows, Some(size)))
}

#[cfg(test)]
mod tests;
