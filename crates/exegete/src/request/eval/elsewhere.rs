//! Files of explanations made elsewhere, one object a text.

use super::Corpus;
use crate::methods::{ExternalExplanation, ExternalScores};
use crate::request::input::Lines;
use crate::{Model, Units};
use anyhow::{Context, Result, bail};
use std::path::Path;

/// One file of explanations that were made elsewhere.
pub(super) struct File {
    /// What the user calls it.
    pub(super) name: String,
    path: String,
    /// Each line as it is written and as it is read.
    lines: Vec<(String, ExternalExplanation)>,
    /// Whether scores have a sign: where none is negative, they are taken for sizes.
    signed: bool,
}

impl File {
    /// The file of a `NAME=FILE`.
    pub(super) fn read(word: &str) -> Result<Self> {
        let Some((name, path)) =
            word.split_once('=').filter(|(name, path)| !name.is_empty() && !path.is_empty())
        else {
            bail!("--explanations '{word}' has no name; write NAME=FILE");
        };
        let (mut reader, _) = Lines::open(Path::new(path))?;
        let mut lines = Vec::new();
        while let Some((number, line)) = reader.read()? {
            let found = ExternalExplanation::parse(&line).map_err(|error| reader.error(number, error))?;
            lines.push((line, found));
        }
        let signed = lines.iter().any(|(_, found)| found.has_negative());
        Ok(Self { name: name.to_owned(), path: path.to_owned(), lines, signed })
    }

    /// What makes two files the same: their names and lines.
    pub(super) fn contents(&self) -> impl Iterator<Item = String> {
        std::iter::once(&self.name).chain(self.lines.iter().map(|(line, _)| line)).cloned()
    }

    /// One explanation a text; under a limit those of later texts do no harm.
    fn counted(&self, corpus: &Corpus, limited: bool) -> Result<()> {
        let (lines, texts) = (self.lines.len(), corpus.rows.len());
        if lines == texts || (limited && lines > texts) {
            return Ok(());
        }
        let line = lines.min(texts) + 1;
        let what = if lines < texts { "is missing" } else { "is one too many" };
        bail!(
            "{}: line {line}: {what}; {} has {texts} texts, and this file {lines} lines",
            self.path,
            corpus.name
        )
    }
}

/// The explanations of each text, indexed `[text][file]`; every line must fit its text.
pub(super) fn fit(
    files: &[File],
    corpus: &Corpus,
    model: &dyn Model,
    units: Units,
    limited: bool,
) -> Result<Vec<Vec<ExternalScores>>> {
    files.iter().try_for_each(|file| file.counted(corpus, limited))?;
    let mut all = vec![Vec::with_capacity(files.len()); corpus.rows.len()];
    for (index, given) in all.iter_mut().enumerate().filter(|_| !files.is_empty()) {
        let encoded = model.encoded(&corpus.rows[index].1).with_context(|| corpus.place(index))?;
        let units = units.of(&encoded);
        for File { path, lines, signed, .. } in files {
            let found = &lines[index].1;
            let values = found.fit(&encoded, &units);
            let place = format!("{path}: line {}", index + 1);
            let values = values.with_context(|| place.clone())?;
            given.push(ExternalScores { place, values, signed: *signed, target: found.target.clone() });
        }
    }
    Ok(all)
}
