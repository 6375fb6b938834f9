use clap::{Args, ValueEnum};
use exegete::render::Format;
use exegete::request::eval::EvalRequest;
use std::path::PathBuf;

/// What `exegete eval` takes: its request, and how the result is written.
#[derive(Debug, Args)]
#[command(after_long_help = COLUMNS)]
pub(crate) struct Eval {
    /// The request that the flags fill in.
    #[command(flatten)]
    pub(crate) request: EvalRequest,
    /// How to write the tables.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: EvalFormat,
    /// Write here instead of to stdout; a killed run goes on where it was.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// What the columns mean; shown below the options.
const COLUMNS: &str = "\
Columns, each a mean over texts with its standard error:
  completeness gap   how far scores miss the sum that their method claims
  comprehensiveness  how far the probability falls without the top 1, 5, 10, 20, 50 % of units;
                     also minus that of random rankings, of the ranking upside down, and as a
                     difference of log probabilities (log odds)
  sufficiency        how far it falls with nothing but these units; likewise
  flips              share of texts whose decision changes while top units are removed; how many
                     units that takes, their share of the text, and the share of random sets as
                     large that change it too
  tau                Kendall's tau with leaving out one unit at a time; share with p < 0.05
  deletion, insertion area, sensitivity, infidelity, stability, randomised
                     with --check deep
  seconds, rows      what one explanation costs, without its evidence
The last row is a random ranking. A second table says how far the methods agree: Kendall's tau
between their scores.";

/// How a comparison is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum EvalFormat {
    /// For reading in a terminal.
    #[default]
    Text,
    /// One document, schema exegete.report/1.
    Json,
    /// One page that needs no other file.
    Html,
    /// One row a method.
    Csv,
}

impl From<EvalFormat> for Format {
    fn from(format: EvalFormat) -> Self {
        match format {
            EvalFormat::Text => Self::Text,
            EvalFormat::Json => Self::Json,
            EvalFormat::Html => Self::Html,
            EvalFormat::Csv => Self::Csv,
        }
    }
}
