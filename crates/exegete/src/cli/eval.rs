use super::{Remote, Resources};
use crate::input::Ask;
use clap::{Args, ValueEnum};
use exegete::render::Format;
use std::path::PathBuf;

/// `exegete eval`.
#[derive(Debug, Args)]
#[command(after_long_help = COLUMNS)]
pub(crate) struct Eval {
    /// The methods to compare; `exegete methods` lists them.
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', required_unless_present = "explanations")]
    pub(crate) methods: Vec<String>,
    /// The texts: .txt (a text a line), .tsv or .csv with a header, or .jsonl.
    #[arg(long, value_name = "FILE")]
    pub(crate) input: PathBuf,
    /// The column that holds the text [default: the first of text, sentence, content].
    #[arg(long, value_name = "C")]
    pub(crate) text_column: Option<String>,
    /// The column that holds the second text of a pair.
    #[arg(long, value_name = "C")]
    pub(crate) pair_column: Option<String>,
    /// The column that holds the right label, for the target loss.
    #[arg(long, value_name = "C")]
    pub(crate) label_column: Option<String>,
    /// A Hugging Face folder, or a black box: http://… or "cmd: COMMAND" [default: the model for English sentiment that
    /// is part of the program].
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<PathBuf>,
    /// What to explain, as in `exegete explain`.
    #[arg(long, value_name = "T", default_value = "predicted")]
    pub(crate) target: String,
    /// What scores are summed to.
    #[arg(long, value_name = "U", default_value = "word")]
    pub(crate) units: String,
    /// A parameter of the methods, such as steps=50, or of one, such as lrp.rule=gamma.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// What the text is compared with: zero, pad, mask, mean, text:…; several are averaged [default: what each method
    /// takes by itself, mostly zero].
    #[arg(long = "baseline", value_name = "B")]
    pub(crate) baselines: Vec<String>,
    /// How words are hidden.
    #[command(flatten)]
    pub(crate) hiding: super::Hiding,
    /// How much evidence is gathered.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) check: Depth,
    /// Only the first texts of the file.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Of everything random.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Explanations made elsewhere, to be judged beside the methods: a .jsonl file with one object a text, in the order of
    /// the input.
    ///
    /// An object is {"tokens": […], "scores": […]} with the model's own tokens, special ones included or not;
    /// {"units": [{"text": …, "start": …, "end": …, "score": …}]} with offsets in bytes (of the first text, or of the one
    /// that "field" counts from 0); or a line of `exegete explain --format jsonl`. Where no score of a file is negative,
    /// its scores are taken to have no sign.
    #[arg(long, value_name = "NAME=FILE")]
    pub(crate) explanations: Vec<String>,
    /// How to write the tables.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: EvalFormat,
    /// Write here instead of to stdout; a killed run goes on where it was.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// What the run may use.
    #[command(flatten)]
    pub(crate) resources: Resources,
    /// How a model at an address is asked.
    #[command(flatten)]
    pub(crate) remote: Remote,
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

/// How much evidence is gathered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Depth {
    /// What removing words does, within about 150 forward rows.
    #[default]
    Default,
    /// Noise, perturbations and random parameters too.
    Deep,
}

/// How a comparison is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum EvalFormat {
    /// For reading in a terminal.
    #[default]
    Text,
    /// One document, schema exegete.report/1.
    Json,
    /// One self-contained page.
    Html,
    /// One row a method.
    Csv,
}

impl Eval {
    /// What to read.
    pub(crate) fn ask(&self) -> Ask<'_> {
        Ask {
            input: Some(&self.input),
            text_column: self.text_column.as_deref(),
            pair_column: self.pair_column.as_deref(),
            label_column: self.label_column.as_deref(),
            ..Ask::default()
        }
    }
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
