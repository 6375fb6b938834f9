use clap::{Args, Subcommand, ValueEnum};
use exegete::request::data::DataRequest;
use std::path::PathBuf;

/// The commands below `exegete data`.
#[derive(Debug, Subcommand)]
pub(crate) enum Data {
    /// Make texts whose label and right explanation are known; without a name, list the sets.
    Make(DataMake),
}

/// What the command takes: its request, and how the result is written.
#[derive(Debug, Args)]
pub(crate) struct DataMake {
    /// The request that the flags fill in.
    #[command(flatten)]
    pub(crate) request: DataRequest,
    /// How to write the rows [default: by the name of FILE, else tsv].
    #[arg(long, value_enum)]
    pub(crate) format: Option<DataFormat>,
    /// Write here instead of to stdout, which `-` means too; the file appears when it is complete.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// How generated data is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DataFormat {
    /// Columns with tabs between them, after a line of names.
    Tsv,
    /// Columns with commas between them, after a line of names.
    Csv,
    /// One JSON object a row.
    Jsonl,
    /// Plain lines for language models, of the sets that have them.
    Txt,
}
