//! The command line, defined once: parsing, help and usage errors come from here.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Explains and interprets neural language models, and says how far each answer can be trusted.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, arg_required_else_help = false, max_term_width = 100)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a model on a text, on lines from stdin, or on a file.
    Predict(Predict),
    /// Show what a model folder holds, or check that it behaves.
    #[command(subcommand)]
    Model(Model),
    /// Measure the speed of this machine against its own matrix-product peak.
    Bench(Bench),
}

/// `exegete predict`.
#[derive(Debug, Args)]
pub(crate) struct Predict {
    /// The text, or `-` for one text a line from stdin.
    #[arg(required_unless_present = "input", conflicts_with = "input")]
    pub(crate) text: Option<String>,
    /// A file: .txt (a text a line), .tsv or .csv with a header, or .jsonl.
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,
    /// The second text of a pair; the context for a question-answering model.
    #[arg(long, value_name = "TEXT2", conflicts_with = "pair_column")]
    pub(crate) pair: Option<String>,
    /// The column that holds the text [default: the first of text, sentence, content].
    #[arg(long, value_name = "C", requires = "input")]
    pub(crate) text_column: Option<String>,
    /// The column that holds the second text of a pair.
    #[arg(long, value_name = "C", requires = "input")]
    pub(crate) pair_column: Option<String>,
    /// The column that holds the right label; the accuracy is then said at the end.
    #[arg(long, value_name = "C", requires = "input")]
    pub(crate) label_column: Option<String>,
    /// A Hugging Face folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) model: Option<PathBuf>,
    /// How to write the predictions.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: PredictionFormat,
    /// Write here instead of to stdout; the file appears when it is complete.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// What the run may use.
    #[command(flatten)]
    pub(crate) resources: Resources,
}

/// `exegete model …`.
#[derive(Debug, Subcommand)]
pub(crate) enum Model {
    /// What it is: family, task, labels, sizes, warnings.
    Info(Folder),
    /// Every named place inside it, with its axes.
    Sites(Folder),
    /// Run the conformance suite on it: sites fire, edits take effect, gradients match differences.
    Check(Folder),
}

/// A model folder and how to print what is said about it.
#[derive(Debug, Args)]
pub(crate) struct Folder {
    /// A Hugging Face folder.
    pub(crate) dir: PathBuf,
    /// How to print it.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TableFormat,
}

/// `exegete bench`.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// A Hugging Face folder [default: BERT-base with random weights].
    #[arg(long, value_name = "DIR")]
    pub(crate) model: Option<PathBuf>,
    /// How to print the figures.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TableFormat,
    /// Best of two runs instead of five.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Only the figures whose name holds this.
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Option<String>,
    /// What the run may use.
    #[command(flatten)]
    pub(crate) resources: Resources,
}

/// What a run may use of the machine.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Resources {
    /// Threads; 0 for all.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) threads: usize,
    /// Memory for activations, such as 2GiB or 512MB; weights come on top.
    #[arg(long, value_name = "SIZE", default_value = "2GiB", value_parser = crate::size::parse)]
    pub(crate) memory: usize,
}

/// How predictions are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum PredictionFormat {
    /// For reading.
    #[default]
    Text,
    /// One document, schema exegete.predictions/1.
    Json,
    /// One row a text.
    Csv,
}

/// How tables are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum TableFormat {
    /// For reading.
    #[default]
    Text,
    /// One document.
    Json,
}

/// What clap says about a wrong call, in one line: its paragraphs joined, without the usage.
pub(crate) fn one_line(error: &clap::Error) -> String {
    let rendered = error.render().to_string();
    let paragraphs = rendered.split("\n\n").map(|p| p.split_whitespace().collect::<Vec<_>>().join(" "));
    let told =
        |p: &String| !p.is_empty() && !p.starts_with("Usage:") && !p.starts_with("For more information");
    let message = paragraphs.filter(told).collect::<Vec<_>>().join("; ");
    format!("{}; --help shows the usage", message.trim_start_matches("error: "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn usage_errors_are_one_line() {
        for args in [
            &["exegete"][..],
            &["exegete", "predict"],
            &["exegete", "predict", "x", "--modle", "d"],
            &["exegete", "predict", "x", "--input", "f.txt"],
            &["exegete", "bench", "--memory", "plenty"],
        ] {
            let line = one_line(&Cli::try_parse_from(args).unwrap_err());
            assert!(!line.contains('\n') && !line.contains("Usage:") && line.len() > 30, "{args:?}: {line}");
        }
    }
}
