//! How words are hidden, from what the user says.

use crate::cli;
use anyhow::{Context, Result, bail};
use exegete::Model;
use exegete::methods::{Masker, Words};
use std::path::Path;
use std::sync::Arc;

/// The masker that the user asks for; none where the text and the target decide.
pub(crate) fn masker(args: &cli::Hiding, model: &dyn Model) -> Result<Option<Masker>> {
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
