//! The rows, what in them is impermissible, and the files that models learn from.

use super::AttentionDeceiveRequest;
use crate::methods::deceive::{Impermissible, aligned, seeded_order, spelled, truth};
use crate::request::TextInput;
use crate::request::attention::heads::sentences;
use crate::request::input::{Lines, TextReader};
use crate::small::SEQUENCE_TO_SEQUENCE;
use crate::task::CLASSIFICATION;
use crate::{Encoded, Example, Span, Task, partial};
use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The words of joined sentences.
const JOINED_WORDS: std::ops::RangeInclusive<usize> = 5..=40;

/// Rows as they are, and what attention must not show of them.
pub(super) struct DeceiveRows {
    /// What is learned from.
    pub(super) train: Vec<Example>,
    /// What is measured on.
    pub(super) dev: Vec<Example>,
    /// The same without impermissible words; rows of which nothing is left are left out.
    pub(super) removed: [Vec<Example>; 2],
    /// What attention must not show.
    pub(super) words: Arc<Impermissible>,
}

/// A row with the bytes of its impermissible words; of a source and its target the pairs of words.
struct MarkedExample {
    example: Example,
    spans: Vec<Span>,
    pairs: Vec<(usize, usize)>,
    place: String,
}

/// How impermissible words are told.
enum Rule {
    /// They are in this list.
    List(HashSet<String>),
    /// A column names their bytes, or of sequences the pairs of words.
    Column(&'static str),
    /// All words of the text, to which one of these sentences is joined.
    Join(Vec<String>),
}

impl DeceiveRows {
    /// Reads both files and marks every row.
    pub(super) fn read(request: &AttentionDeceiveRequest, train: &Path, dev: &Path) -> Result<Self> {
        let rule = Rule::of(request)?;
        let mut all = [read(request, train, &rule)?, read(request, dev, &rule)?];
        if let Rule::Join(sentences) = &rule {
            let [train, dev] = &mut all;
            join(train, sentences, 0);
            // While they last, no sentence is in both files.
            join(dev, sentences, train.len());
        }
        let mut words = Impermissible::default();
        for row in all.iter().flatten() {
            let fields = &row.example.fields;
            let added = match request.writes() {
                true => words.add_aligned(fields, row.pairs.clone()),
                false => words.add(fields, row.spans.clone()),
            };
            added.map_err(|what| anyhow::anyhow!("{}: {what}", row.place))?;
        }
        let removed = all.each_ref().map(|rows| rows.iter().filter_map(MarkedExample::without).collect());
        let [train, dev] = all.map(|rows| rows.into_iter().map(|row| row.example).collect());
        Ok(Self { train, dev, removed, words: words.into() })
    }

    /// Writes the rows as files that training reads: all of them, and the same without impermissible words.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let [train, dev] = &self.removed;
        for (name, rows) in FILES.into_iter().zip([&self.train, &self.dev, train, dev]) {
            let path = file(folder, name);
            let lines: Vec<String> = rows.iter().map(line).collect();
            partial::write(&path, lines.concat().as_bytes())
                .with_context(|| format!("{}: cannot be written", path.display()))?;
        }
        Ok(())
    }
}

/// The names of rows: all of them, and those without impermissible words.
pub(super) const FILES: [&str; 4] = ["train", "dev", "removed.train", "removed.dev"];

/// Where rows of this name are kept.
pub(super) fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.jsonl"))
}

/// A row as a line that training reads.
fn line(example: &Example) -> String {
    let names = ["text", "pair"].into_iter().zip(&example.fields);
    let fields = names.map(|(name, field)| (name.to_owned(), Value::from(field.text.clone())));
    let label = example.label.iter().map(|label| ("label".to_owned(), Value::from(label.clone())));
    format!("{}\n", Value::Object(Map::from_iter(fields.chain(label))))
}

impl Rule {
    fn of(request: &AttentionDeceiveRequest) -> Result<Self> {
        let asked = match (&request.join, &request.impermissible) {
            (Some(path), _) => return joined(path, request.seed),
            (None, asked) => asked.as_deref().unwrap_or_default(),
        };
        if asked == "truth" {
            return Ok(Self::Column(if request.writes() { "alignment" } else { "truth" }));
        }
        let listed = match Path::new(asked).is_file() {
            true => {
                let (mut lines, _) = Lines::open(Path::new(asked))?;
                let mut words = Vec::new();
                while let Some((_, line)) = lines.read()? {
                    words.push(line);
                }
                words
            }
            false => asked.split([',', ' ']).map(str::to_owned).collect(),
        };
        let words: HashSet<String> =
            listed.iter().map(|word| word.trim().to_lowercase()).filter(|word| !word.is_empty()).collect();
        if words.is_empty() {
            bail!(
                "--impermissible '{asked}' names no word; give words with commas between them, a file with one a line, or truth"
            );
        }
        Ok(Self::List(words))
    }
}

/// The sentences of a treebank that are joined to texts, in a seeded order.
fn joined(path: &Path, seed: u64) -> Result<Rule> {
    let words = |text: &String| Encoded::of_words(&Example::text(text.clone())).len();
    let fits = |text: &String| JOINED_WORDS.contains(&words(text));
    let found: Vec<String> = sentences(path, None)?.into_iter().map(|tree| tree.text).filter(fits).collect();
    let found: Vec<String> =
        seeded_order(found.len(), seed, 0).into_iter().map(|at| found[at].clone()).collect();
    match found.is_empty() {
        true => bail!(
            "{}: no sentence has {} to {} words",
            path.display(),
            JOINED_WORDS.start(),
            JOINED_WORDS.end()
        ),
        false => Ok(Rule::Join(found)),
    }
}

/// Every row of a file, marked by a rule.
fn read(request: &AttentionDeceiveRequest, path: &Path, rule: &Rule) -> Result<Vec<MarkedExample>> {
    let writes = request.writes();
    let task: &dyn Task = if writes { &SEQUENCE_TO_SEQUENCE } else { &CLASSIFICATION };
    let [source, target] = SEQUENCE_TO_SEQUENCE.fields();
    let or = |asked: &Option<String>, usual: &str| asked.clone().or_else(|| writes.then(|| usual.to_owned()));
    let usual = if request.no_header { TextInput::LAST_COLUMN } else { "label" };
    let label = request.label_column.as_deref().unwrap_or(usual);
    let texts = |column: Option<&str>| TextInput {
        input: Some(path.to_owned()),
        text_column: or(&request.text_column, source),
        pair_column: or(&request.pair_column, target),
        label_column: column.map(str::to_owned),
        no_header: request.no_header,
        delimiter: request.delimiter.clone(),
        ..TextInput::default()
    };
    let whole = |column: Option<&str>| -> Result<_> {
        let mut reader = TextReader::open(&texts(column), task)?;
        let rows = reader.whole(None, None)?;
        Ok((reader.name().to_owned(), rows))
    };
    let (name, rows) = whole((!writes).then_some(label))?;
    if rows.is_empty() {
        bail!("{name}: holds no rows");
    }
    // The same rows with another column in the place of the label.
    let cells: Vec<Option<String>> = match rule {
        Rule::Column(column) => whole(Some(column))?.1.into_iter().map(|(_, row)| row.label).collect(),
        _ => vec![None; rows.len()],
    };
    let marked = |((line, example), cell): ((usize, Example), Option<String>)| {
        let place = format!("{name}: line {line}");
        let mut row = MarkedExample { spans: Vec::new(), pairs: Vec::new(), example, place };
        let cell = cell.unwrap_or_default();
        let found = match rule {
            Rule::List(words) => {
                row.spans = spelled(&row.example, words);
                Ok(())
            }
            Rule::Column(_) if writes => aligned(&cell).map(|pairs| row.pairs = pairs),
            Rule::Column(_) => truth(&cell, &row.example.fields).map(|spans| row.spans = spans),
            Rule::Join(_) => Ok(()),
        };
        found.map_err(|what| anyhow::anyhow!("{}: {what}", row.place))?;
        Ok(row)
    };
    rows.into_iter().zip(cells).map(marked).collect()
}

/// Joins a sentence to every text, beginning with the sentence of this number; its own words become impermissible.
fn join(rows: &mut [MarkedExample], sentences: &[String], first: usize) {
    for (row, sentence) in rows.iter_mut().zip(sentences.iter().cycle().skip(first % sentences.len())) {
        let text = &mut row.example.fields[0].text;
        row.spans = vec![Span { field: 0, start: 0, end: text.len() }];
        text.push(' ');
        text.push_str(sentence);
    }
}

impl MarkedExample {
    /// The row without its impermissible words; none where a text would be empty.
    fn without(&self) -> Option<Example> {
        let mut example = self.example.clone();
        for (number, field) in example.fields.iter_mut().enumerate() {
            let mut own: Vec<&Span> = self.spans.iter().filter(|span| span.field == number).collect();
            own.sort_by_key(|span| span.start);
            let mut kept = field.text.len();
            for span in own.into_iter().rev() {
                // Of spans that overlap each byte goes once.
                field.text.replace_range(span.start..span.end.min(kept), "");
                kept = span.start;
            }
        }
        example.fields.iter().all(|field| !field.text.trim().is_empty()).then_some(example)
    }
}
