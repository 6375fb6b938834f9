//! How words are hidden, from what the user says.

use crate::Model;
use crate::methods::{Masker, Words};
use anyhow::{Context, Result, bail};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How words are hidden, and where answers are kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default)]
pub struct HidingOptions {
    /// How hidden words become absent: delete, mask, pad, unk, zero, or sampled with --words [default: delete, or in place
    /// where the target is about one token].
    #[arg(long, value_name = "M")]
    pub masker: Option<String>,
    /// Words to put in the place of hidden ones, one a line, each with a tab and its count where they are not equally
    /// frequent; for --masker sampled.
    #[arg(long, value_name = "FILE")]
    pub words: Option<PathBuf>,
    /// Keep what the model answers in this file, so that nothing is asked twice, in later runs either.
    #[arg(long, value_name = "FILE")]
    pub cache: Option<PathBuf>,
}

/// The masker that the user asks for; none where the text and the target decide.
pub(super) fn masker(args: &HidingOptions, model: &dyn Model) -> Result<Option<Masker>> {
    match (args.masker.as_deref(), args.words.as_deref()) {
        (Some("sampled") | None, Some(path)) => {
            let words = Words::new(model, &read(path)?).with_context(|| path.display().to_string())?;
            Ok(Some(Masker::Sampled(Arc::new(words))))
        }
        (Some(other), Some(_)) => bail!("--words are for --masker sampled, not for {other}"),
        (Some(name), None) => Ok(Some(name.parse()?)),
        (None, None) => Ok(None),
    }
}

/// Words with their counts, one a line.
fn read(path: &Path) -> Result<Vec<(String, f64)>> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    let line = |(index, line): (usize, &str)| {
        let (word, count) = line.split_once('\t').unwrap_or((line, "1"));
        let count: f64 = count.trim().parse().map_err(|_| {
            anyhow::anyhow!("{}, line {}: '{}' is no count", path.display(), index + 1, count.trim())
        })?;
        Ok((word.trim().to_owned(), count))
    };
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(line).collect()
}
