//! The command line, defined once: parsing, help and usage errors come from here.

mod eval;
mod hiding;
mod reads;
mod remote;
mod resources;

pub(crate) use eval::{Depth, Eval};
pub(crate) use hiding::Hiding;
pub(crate) use remote::Remote;
pub(crate) use resources::Resources;

use crate::input::Ask;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use exegete::render::Format;
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
    /// Say which parts of a text led to a prediction, and how far that can be trusted.
    Explain(Box<Explain>),
    /// Measure several methods, or explanations made elsewhere, on a file of texts.
    Eval(Box<Eval>),
    /// Render a saved report again.
    Show(Show),
    /// List the methods, or print the page of one.
    Methods(Methods),
    /// Run a model on a text, on lines from stdin, or on a file.
    Predict(Predict),
    /// Show what a model folder holds, or check that it behaves.
    #[command(subcommand)]
    Model(Model),
    /// Fine-tune or train a classifier of texts or pairs.
    Train(Train),
    /// Measure the speed of this machine against its own matrix-product peak.
    Bench(Bench),
}

/// What to read.
#[derive(Debug, Args)]
pub(crate) struct Texts {
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
    /// The column that holds the right label.
    #[arg(long, value_name = "C", requires = "input")]
    pub(crate) label_column: Option<String>,
}

/// `exegete predict`.
#[derive(Debug, Args)]
pub(crate) struct Predict {
    /// What to read.
    #[command(flatten)]
    pub(crate) texts: Texts,
    /// A Hugging Face folder, or a black box: http://… or "cmd: COMMAND" [default: the model for English sentiment that
    /// is part of the program].
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<PathBuf>,
    /// How to write the predictions.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: PredictionFormat,
    /// Write here instead of to stdout, which `-` means too; the file appears when it is complete.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// What the run may use.
    #[command(flatten)]
    pub(crate) resources: Resources,
    /// How a model at an address is asked.
    #[command(flatten)]
    pub(crate) remote: Remote,
}

impl Texts {
    /// What to read.
    pub(crate) fn ask(&self) -> Ask<'_> {
        Ask {
            text: self.text.as_deref(),
            input: self.input.as_deref(),
            pair: self.pair.as_deref(),
            text_column: self.text_column.as_deref(),
            pair_column: self.pair_column.as_deref(),
            label_column: self.label_column.as_deref(),
        }
    }

    /// Whether they are pairs.
    pub(crate) fn pairs(&self) -> bool {
        self.pair.is_some() || self.pair_column.is_some()
    }
}

/// `exegete explain`.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// What to read.
    #[command(flatten)]
    pub(crate) texts: Texts,
    /// A Hugging Face folder, or a black box: http://… or "cmd: COMMAND" [default: the model for English sentiment that
    /// is part of the program].
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<PathBuf>,
    /// How to explain, several for a comparison; `exegete methods` lists them [default: integrated_gradients, and
    /// partition_shap for a model that gives predictions only].
    #[arg(long = "method", value_name = "NAME")]
    pub(crate) methods: Vec<String>,
    /// Texts that a method over many texts, such as triggers, learns nothing from: its success is measured on them.
    #[arg(long, value_name = "FILE", requires = "input")]
    pub(crate) held_out: Option<PathBuf>,
    /// What to explain: predicted, class:NAME, margin:A,B, loss, start, end, answer, tag:POS=LABEL, token:POS=WORD,
    /// unit:SITE[pos,i]; with :logit, :prob or :logprob.
    #[arg(long = "target", value_name = "T", default_value = "predicted", conflicts_with = "top_labels")]
    pub(crate) targets: Vec<String>,
    /// Explain this many of the most probable labels.
    #[arg(long, value_name = "K")]
    pub(crate) top_labels: Option<usize>,
    /// The right label, for the target loss.
    #[arg(long, value_name = "L", conflicts_with = "label_column")]
    pub(crate) label: Option<String>,
    /// Where scores are taken, such as layer.3.out, or all-layers for the story of every layer.
    #[arg(long, value_name = "S", default_value = "embed.word")]
    pub(crate) site: String,
    /// What scores are summed to.
    #[arg(long, value_name = "U", default_value = "word")]
    pub(crate) units: String,
    /// A parameter of the methods, such as steps=50, or of one, such as lrp.rule=gamma; key=@FILE is what a file holds.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// What the text is compared with: zero, pad, mask, mean, text:…; several are averaged [default: zero].
    #[arg(long = "baseline", value_name = "B")]
    pub(crate) baselines: Vec<String>,
    /// How words are hidden.
    #[command(flatten)]
    pub(crate) hiding: Hiding,
    /// How much evidence is gathered.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) check: Check,
    /// The same as --check none.
    #[arg(long, conflicts_with = "check")]
    pub(crate) no_check: bool,
    /// Of everything random.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// How to write the report [default: text, for many texts jsonl].
    #[arg(long, value_parser = report_format())]
    pub(crate) format: Option<Format>,
    /// Write here instead of to stdout; a killed run over a file goes on where it was.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// What the run may use.
    #[command(flatten)]
    pub(crate) resources: Resources,
    /// How a model at an address is asked.
    #[command(flatten)]
    pub(crate) remote: Remote,
}

/// How much evidence is gathered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Check {
    /// Only what the method itself claims.
    None,
    /// What removing words does, within about 150 forward rows.
    #[default]
    Default,
    /// Noise, perturbations and random parameters too.
    Deep,
}

/// Every format that reports are written in.
fn report_format() -> impl TypedValueParser<Value = Format> {
    let known = Format::ALL.map(|format| PossibleValue::new(format.name()).help(format.about()));
    PossibleValuesParser::new(known).try_map(|name| {
        Format::ALL.into_iter().find(|format| format.name() == name).ok_or("this is no format")
    })
}

/// `exegete show`.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// A report, or a file with one report a line.
    pub(crate) report: PathBuf,
    /// Which line of a file with several, from 1.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) row: usize,
    /// How to write it.
    #[arg(long, value_parser = report_format(), default_value = "text")]
    pub(crate) format: Format,
    /// Write here instead of to stdout.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// `exegete methods`.
#[derive(Debug, Args)]
pub(crate) struct Methods {
    /// The method whose page to print.
    pub(crate) name: Option<String>,
}

/// `exegete train`.
#[derive(Debug, Args)]
pub(crate) struct Train {
    /// Rows to learn from: .tsv or .csv with a header, or .jsonl; may be given several times.
    #[arg(long, value_name = "FILE", required = true)]
    pub(crate) train: Vec<PathBuf>,
    /// Rows to measure each epoch on; the best epoch's model is kept [default: the last epoch's].
    #[arg(long, value_name = "FILE")]
    pub(crate) dev: Option<PathBuf>,
    /// Leave out training rows whose text, in letters and digits alone, occurs in this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) exclude: Vec<PathBuf>,
    /// The folder to write; an unfinished run found there is taken up again.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Replace a model that the output folder already holds.
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// The Hugging Face folder to start from [default: the model that is part of the program].
    #[arg(long, value_name = "DIR")]
    pub(crate) model: Option<PathBuf>,
    /// Take only the config and the tokenizer of the folder, and random weights.
    #[arg(long, requires = "model")]
    pub(crate) from_scratch: bool,
    /// The column that holds the text [default: the first of text, sentence, content].
    #[arg(long, value_name = "C")]
    pub(crate) text_column: Option<String>,
    /// The column that holds the second text of a pair.
    #[arg(long, value_name = "C")]
    pub(crate) pair_column: Option<String>,
    /// The column that holds the label: a class by name or number, labels or soft shares separated by |, or a number.
    #[arg(long, value_name = "C", default_value = "label")]
    pub(crate) label_column: String,
    /// The classes in order, such as negative,positive [default: the model's own where the rows use their names, else those found in the rows].
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) labels: Vec<String>,
    /// What is made small.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) loss: Loss,
    /// What the best epoch is chosen by [default: accuracy].
    #[arg(long, value_enum, requires = "dev")]
    pub(crate) metric: Option<Metric>,
    /// How often every row is seen.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) epochs: usize,
    /// Rows a step.
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub(crate) batch: usize,
    /// How the weights move.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) optimiser: Optimiser,
    /// The learning rate at its highest.
    #[arg(long, value_name = "X", default_value_t = 5e-5)]
    pub(crate) rate: f64,
    /// The momentum of sgd [default: 0.9].
    #[arg(long, value_name = "X")]
    pub(crate) momentum: Option<f64>,
    /// Each layer's rate is that of the layer above times this.
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    pub(crate) layer_decay: f64,
    /// The share of all steps over which the rate rises, before it falls in a line to zero.
    #[arg(long, value_name = "SHARE", default_value_t = 0.06)]
    pub(crate) warmup: f64,
    /// Weight decay of matrices: decoupled in adamw, part of the gradient in sgd.
    #[arg(long, value_name = "X", default_value_t = 0.01)]
    pub(crate) decay: f64,
    /// The longest gradient; longer ones are scaled down; 0 for no limit.
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    pub(crate) clip: f64,
    /// Dropout at every place where the family has it [default: the config's rates].
    #[arg(long, value_name = "SHARE")]
    pub(crate) dropout: Option<f64>,
    /// Cut training texts to this many tokens [default: as many as the model reads].
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<usize>,
    /// Of order, dropout and new weights.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Steps between two saved states, from which a killed run goes on; 0 for one an epoch.
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub(crate) save_every: usize,
    /// What the run may use.
    #[command(flatten)]
    pub(crate) resources: Resources,
}

/// What training makes small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Loss {
    /// One right class a row.
    #[default]
    CrossEntropy,
    /// Any number of labels a row: binary cross-entropy, summed over labels.
    MultiLabel,
    /// A number: half the squared error.
    Regression,
    /// Cross-entropy against given shares of the classes, as for distillation.
    Soft,
}

/// What the best epoch is chosen by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Metric {
    /// The highest accuracy; for numbers the lowest loss.
    #[default]
    Accuracy,
    /// The highest macro-F1; for numbers the lowest loss.
    MacroF1,
    /// The lowest loss.
    Loss,
}

/// How weights move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Optimiser {
    /// Adam with decoupled weight decay.
    #[default]
    Adamw,
    /// Gradient descent with momentum.
    Sgd,
}

/// `exegete model …`.
#[derive(Debug, Subcommand)]
pub(crate) enum Model {
    /// What it is: family, task, labels, sizes, warnings. An http://… or "cmd: …" is a model too.
    Info(Folder),
    /// Every named place inside it, with its axes.
    Sites(Folder),
    /// Run the conformance suite on it: sites fire, edits take effect, gradients match differences.
    Check(Folder),
    /// Write it as a plain Hugging Face folder of single precision.
    Export(Export),
}

/// `exegete model export`.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// A Hugging Face folder [default: the model that is part of the program].
    pub(crate) dir: Option<PathBuf>,
    /// The folder to write.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Replace a model that the output folder already holds.
    #[arg(long)]
    pub(crate) overwrite: bool,
}

/// A model folder and how to print what is said about it.
#[derive(Debug, Args)]
pub(crate) struct Folder {
    /// A Hugging Face folder [default: the model that is part of the program].
    pub(crate) dir: Option<PathBuf>,
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
