//! The request of `exegete show`: a saved report, read again.

use super::needed;
use crate::render;
use crate::report::Report;
use anyhow::{Context, Result, bail};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What `exegete show` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct ShowRequest {
    /// A report, or a file with one report a line.
    #[arg(required = true)]
    pub report: Option<PathBuf>,
    /// Which line of a file with several, from 1.
    #[arg(long, value_name = "N", default_value_t = Self::default().row)]
    pub row: usize,
}

impl Default for ShowRequest {
    fn default() -> Self {
        Self { report: None, row: 1 }
    }
}

/// Reads the report from its file.
pub fn run(request: &ShowRequest) -> Result<Report> {
    read(needed(&request.report, "there is no report to show; name a file")?, request.row)
}

/// A file's report, or one line of a .jsonl file, from 1.
pub(super) fn read(path: &Path, row: usize) -> Result<Report> {
    if row == 0 {
        bail!("--row 0: rows are counted from 1");
    }
    let bytes = std::fs::read(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    let lines = path.extension().is_some_and(|extension| extension == "jsonl");
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
