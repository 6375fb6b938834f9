//! The request of `exegete show`: a saved report, read again.

use super::needed;
use crate::render;
use crate::report::Report;
use anyhow::{Context, Result, bail};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// What `exegete show` is asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct ShowRequest {
    /// A report, or a file with one report a line.
    #[arg(required = true)]
    pub report: Option<PathBuf>,
    /// Which line of a file with several, from 1 [default: all as one page where html is asked for, else the first].
    #[arg(long, value_name = "N")]
    pub row: Option<usize>,
}

impl ShowRequest {
    /// Whether all reports of a file are meant: a .jsonl file, of which no row was picked.
    pub fn has_rows(&self) -> bool {
        self.row.is_none() && self.report.as_deref().is_some_and(holds_lines)
    }
}

/// Reads the report from its file.
pub fn run(request: &ShowRequest) -> Result<Report> {
    read(needed(&request.report, "there is no report to show; name a file")?, request.row.unwrap_or(1))
}

/// Reads the reports of a file that holds one a line, and hands each over as it is read.
pub fn each(request: &ShowRequest, sink: &mut dyn FnMut(Report) -> Result<()>) -> Result<()> {
    let path = needed(&request.report, "there is no report to show; name a file")?;
    let file = File::open(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    for (index, line) in BufReader::new(file).split(b'\n').enumerate() {
        let place = || format!("{}: line {}", path.display(), index + 1);
        let line = line.with_context(place)?;
        if !line.trim_ascii().is_empty() {
            sink(render::read(&line).with_context(place)?)?;
        }
    }
    Ok(())
}

fn holds_lines(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}

/// A file's report, or one line of a .jsonl file, from 1.
pub(super) fn read(path: &Path, row: usize) -> Result<Report> {
    if row == 0 {
        bail!("--row 0: rows are counted from 1");
    }
    let bytes = std::fs::read(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    let lines = holds_lines(path);
    if row > 1 && !lines {
        bail!("{}: is one report; --row is for .jsonl files, which hold one a line", path.display());
    }
    let wanted = if lines {
        let mut rows = bytes.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        let found = rows.nth(row.saturating_sub(1));
        found.with_context(|| format!("{}: has no row {row}", path.display()))?
    } else {
        &bytes
    };
    render::read(wanted).with_context(|| path.display().to_string())
}
