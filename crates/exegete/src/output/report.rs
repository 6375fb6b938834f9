//! Reports on stdout or in a file.

use super::Output;
use crate::cli::ReportFormat;
use anyhow::{Context, Result, ensure};
use exegete::render::{self, RenderOptions};
use exegete::report::Report;
use std::io::{IsTerminal, Write};
use std::path::Path;

/// An error, before any work is done, where a bitmap would be written to a terminal.
pub(crate) fn refuse_terminal(format: Option<ReportFormat>, path: Option<&Path>) -> Result<()> {
    let text = matches!(format, None | Some(ReportFormat::Text(_)));
    ensure!(
        text || path.is_some() || !std::io::stdout().is_terminal(),
        "a terminal shows no png; name a file with -o, or use --format text"
    );
    Ok(())
}

/// Writes a whole report.
pub(crate) fn write(report: &Report, format: ReportFormat, path: Option<&Path>) -> Result<()> {
    let mut output = Output::open(path)?;
    let bytes = match format {
        ReportFormat::Text(format) => render::render(report, format, &options(Some(&output))).into_bytes(),
        #[cfg(feature = "png")]
        ReportFormat::Png => render::png(report, &options(Some(&output)))?,
    };
    output.write_all(&bytes).context("the output cannot be written")?;
    output.complete()
}

/// What the output can show; a file shows no colour.
pub(crate) fn options(output: Option<&Output>) -> RenderOptions {
    let colour = output.is_some_and(Output::is_terminal)
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let width = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let width = width.or_else(|| std::io::stdout().is_terminal().then(terminal_width).flatten());
    RenderOptions { colour, width: width.unwrap_or(80).clamp(20, 200), row: None }
}

fn terminal_width() -> Option<usize> {
    terminal_size::terminal_size().map(|(terminal_size::Width(columns), _)| columns.into())
}
