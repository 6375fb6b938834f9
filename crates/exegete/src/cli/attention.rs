use super::{ReportFormat, report_format};
use clap::{Args, Subcommand};
use exegete::request::attention::test::AttentionTestRequest;
use std::path::PathBuf;

/// What can be asked about the attention of a model.
#[derive(Debug, Subcommand)]
pub(crate) enum Attention {
    /// Run the published experiments on a model: is its attention an explanation of what it says?
    Test(Box<AttentionTest>),
}

/// What the command takes: its request, and how the result is written.
#[derive(Debug, Args)]
pub(crate) struct AttentionTest {
    /// What the experiments are asked.
    #[command(flatten)]
    pub(crate) request: AttentionTestRequest,
    /// How to write the report; csv holds one row a text.
    #[arg(long, value_parser = report_format(), default_value = "text")]
    pub(crate) format: ReportFormat,
    /// Write here instead of to stdout; a killed run goes on where it was.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
