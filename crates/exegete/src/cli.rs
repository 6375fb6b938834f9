//! The command line, defined once: parsing, help and usage errors come from here.

mod attention;
mod data;
mod eval;
mod methods;

pub(crate) use attention::{Attention, AttentionDebate, AttentionLook, AttentionTest};
pub(crate) use data::{Data, DataFormat, DataMake};
pub(crate) use eval::Eval;
pub(crate) use methods::Methods;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use exegete::methods::nearest;
use exegete::render::Format;
use exegete::request::again::AgainRequest;
use exegete::request::bench::BenchRequest;
use exegete::request::explain::{ExplainCheck, ExplainRequest};
use exegete::request::model::{ExportRequest, ModelRequest};
use exegete::request::predict::PredictRequest;
use exegete::request::show::ShowRequest;
use exegete::request::train::TrainRequest;
use std::path::{Path, PathBuf};

/// Explains and interprets neural language models, and says how far each answer can be trusted.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, arg_required_else_help = false, max_term_width = 100)]
pub(crate) struct Cli {
    /// The command that the program is to run.
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// The command line as it was written.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        let matches = Self::command().try_get_matches()?;
        let mut cli = Self::from_arg_matches(&matches)?;
        if let (Command::Explain(args), Some(given)) =
            (&mut cli.command, matches.subcommand_matches("explain"))
        {
            let is_written = |name: &&str| given.value_source(name) == Some(ValueSource::CommandLine);
            args.written = ["check", "site", "target", "units"].into_iter().filter(is_written).collect();
        }
        Ok(cli)
    }
}

/// What the program can be asked to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say which parts of a text led to a prediction, and how far that can be trusted.
    Explain(Box<Explain>),
    /// Measure several methods, or explanations made elsewhere, on a file of texts.
    Eval(Box<Eval>),
    /// Say what the attention of a model is worth as an explanation.
    #[command(subcommand)]
    Attention(Attention),
    /// Render a saved report again.
    Show(Show),
    /// List the methods, or print the page of one.
    Methods(Methods),
    /// Run a model on a text, on lines from stdin, or on a file.
    Predict(Box<Predict>),
    /// Show what a model folder holds, or check that it behaves.
    #[command(subcommand)]
    Model(Model),
    /// Fine-tune or train a classifier of texts or pairs.
    Train(Box<Train>),
    /// Make data whose truth is known.
    #[command(subcommand)]
    Data(Data),
    /// Measure the speed of this machine against its own matrix-product peak.
    Bench(Bench),
    /// Print the JSON Schema of a command's request, or of reports.
    Schema(SchemaArgs),
}

/// What the command takes: its request, and how the result is written.
#[derive(Debug, Args)]
pub(crate) struct Predict {
    /// The request that the flags fill in.
    #[command(flatten)]
    pub(crate) request: PredictRequest,
    /// How to write the predictions.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: PredictionFormat,
    /// Write here instead of to stdout, which `-` means too; the file appears when it is complete.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// What the command takes: its request, and how the result is written.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The request that the flags fill in.
    #[command(flatten)]
    request: ExplainRequest,
    /// A report whose request is repeated.
    #[command(flatten)]
    pub(crate) again: AgainRequest,
    /// Fields of the request that were written, whatever they say.
    #[arg(skip)]
    pub(crate) written: Vec<&'static str>,
    /// The same as --check none.
    #[arg(long, conflicts_with = "check")]
    no_check: bool,
    /// How to write the report [default: text, for many texts jsonl].
    #[arg(long, value_parser = report_format())]
    pub(crate) format: Option<ReportFormat>,
    /// Write here instead of to stdout; a killed run over a file goes on where it was.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

impl Explain {
    /// The request that the flags fill in, with `--no-check` taken into account.
    pub(crate) fn request(&self) -> ExplainRequest {
        let check = if self.no_check { ExplainCheck::None } else { self.request.check };
        ExplainRequest { check, ..self.request.clone() }
    }
}

/// Every format that reports are written in.
fn report_format() -> impl TypedValueParser<Value = ReportFormat> {
    let known = ReportFormat::all().map(|format| {
        let (name, about) = format.words();
        PossibleValue::new(name).help(about)
    });
    PossibleValuesParser::new(known).try_map(|name| {
        ReportFormat::all().find(|format| format.words().0 == name).ok_or("this is no format")
    })
}

/// How a report is written: as text of some kind, or as a bitmap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReportFormat {
    /// Text that a library can hold as a string.
    Text(Format),
    /// Bytes that are no text.
    #[cfg(feature = "png")]
    Png,
}

impl ReportFormat {
    fn all() -> impl Iterator<Item = Self> {
        let text = Format::ALL.into_iter().map(Self::Text);
        #[cfg(feature = "png")]
        let text = text.chain([Self::Png]);
        text
    }

    /// What was asked for, else what a file of this name holds, else text.
    pub(crate) fn chosen(asked: Option<Self>, output: Option<&Path>) -> Self {
        let ending = output.and_then(Path::extension);
        let named = || Self::all().find(|format| ending.is_some_and(|ending| ending == format.words().0));
        asked.or_else(named).unwrap_or(Self::Text(Format::Text))
    }

    /// Its name and what it is.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Text(format) => (format.name(), format.about()),
            #[cfg(feature = "png")]
            Self::Png => ("png", "The same picture as a bitmap"),
        }
    }
}

/// What the command takes: its request, and how the result is written.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The request that the flags fill in.
    #[command(flatten)]
    pub(crate) request: ShowRequest,
    /// How to write it.
    #[arg(long, value_parser = report_format(), default_value = "text")]
    pub(crate) format: ReportFormat,
    /// Write here instead of to stdout.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// What the command takes: its request, and how the result is written.
#[derive(Debug, Args)]
pub(crate) struct Train {
    /// The request that the flags fill in.
    #[command(flatten)]
    pub(crate) request: TrainRequest,
}

/// The commands below `exegete model`.
#[derive(Debug, Subcommand)]
pub(crate) enum Model {
    /// What it is: family, task, labels, sizes, warnings. An http://… or "cmd: …" is a model too.
    Info(ModelArgs),
    /// Every named place inside it, with its axes.
    Sites(ModelArgs),
    /// Run the conformance suite on it: sites fire, edits take effect, gradients match differences.
    Check(ModelArgs),
    /// Write it as a plain Hugging Face folder of single precision.
    Export(Export),
}

/// The flags of `exegete model export`.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The request that the flags fill in.
    #[command(flatten)]
    pub(crate) request: ExportRequest,
}

/// A model and how to print what is said about it.
#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    /// The request that the flags fill in.
    #[command(flatten)]
    pub(crate) request: ModelRequest,
    /// How to print it.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TableFormat,
}

/// What the command takes: its request, and how the result is written.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// The request that the flags fill in.
    #[command(flatten)]
    pub(crate) request: BenchRequest,
    /// How to print the figures.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TableFormat,
}

/// What the command takes: its request, and how the result is written.
#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// A command, such as explain or model info; explain again for --again; or `report`.
    #[arg(required = true, num_args = 1..=2)]
    pub(crate) name: Vec<String>,
}

/// How predictions are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum PredictionFormat {
    /// Text for a person to read.
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
    /// Text for a person to read.
    #[default]
    Text,
    /// One JSON document, for other programs.
    Json,
}

/// What clap says about a wrong call, in one line: its paragraphs joined, without the usage, and with what may have been meant.
pub(crate) fn one_line(error: &clap::Error, words: &[String]) -> String {
    let rendered = error.render().to_string();
    let paragraphs = rendered.split("\n\n").map(|p| p.split_whitespace().collect::<Vec<_>>().join(" "));
    let told =
        |p: &String| !["Usage:", "For more information", "tip:"].iter().any(|start| p.starts_with(start));
    let told = paragraphs.filter(|p| !p.is_empty() && told(p));
    let message = told.chain(meant(error, words)).collect::<Vec<_>>().join("; ");
    format!("{}; --help shows the usage", message.trim_start_matches("error: "))
}

/// The command or the option that was meant, where one is near.
fn meant(error: &clap::Error, words: &[String]) -> Option<String> {
    let (kind, of_commands) = match error.kind() {
        ErrorKind::InvalidSubcommand => (ContextKind::InvalidSubcommand, true),
        ErrorKind::UnknownArgument => (ContextKind::InvalidArg, false),
        _ => return None,
    };
    let Some(ContextValue::String(written)) = error.get(kind) else { return None };
    let mut top = Cli::command();
    top.build();
    let mut command = &top;
    for word in words.iter().skip(1) {
        match command.find_subcommand(word) {
            Some(below) => command = below,
            None => break,
        }
    }
    let commands = command.get_subcommands().map(clap::Command::get_name);
    let options = command.get_arguments().filter_map(clap::Arg::get_long);
    match of_commands {
        true => nearest(written, commands).map(|near| format!("did you mean '{near}'?")),
        false if written.starts_with("--") => {
            nearest(written, options).map(|near| format!("did you mean '--{near}'?"))
        }
        false => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    /// Flags that belong to the program: how results are written.
    const OWN: [&str; 4] = ["help", "version", "format", "no_check"];
    /// One command has two requests: what to explain, and a report whose request is repeated.
    const TWO: [&str; 2] = ["explain", "explain again"];

    #[test]
    fn flags_are_the_fields_of_requests() {
        for (name, schema) in exegete::request::SCHEMAS.into_iter().filter(|(name, _)| *name != "report") {
            let mut command = Cli::command();
            command.build();
            let words = if TWO.contains(&name) { TWO[0] } else { name };
            let command =
                words.split(' ').fold(&command, |command, name| command.find_subcommand(name).unwrap());
            let fields = schema()["properties"].as_object().unwrap().clone();
            let other = TWO.iter().filter(|_| TWO.contains(&name)).map(|name| {
                exegete::request::json_schema(name).unwrap()["properties"].as_object().unwrap().clone()
            });
            let other: Vec<String> =
                other.flat_map(|fields| fields.into_iter().map(|field| field.0)).collect();
            let of_program =
                |id: &str| OWN.contains(&id) || id == "output" || other.iter().any(|field| field == id);
            let own = |arg: &&clap::Arg| !fields.contains_key(arg.get_id().as_str());
            for arg in command.get_arguments().filter(own) {
                assert!(of_program(arg.get_id().as_str()), "{name}: {} is in no request", arg.get_id());
            }
            for (field, said) in &fields {
                let arg = command.get_arguments().find(|arg| arg.get_id() == field.as_str());
                let arg = arg.unwrap_or_else(|| panic!("{name}: {field} has no flag"));
                let long = arg.get_long().map(|long| long.replace('-', "_"));
                assert!(arg.is_positional() || long.as_ref() == Some(field), "{name}: {field} is --{long:?}");
                let (said_default, own) = (&said["default"], default(arg, &said["default"]));
                // A number is the same with and without a decimal point.
                let alike = said_default.is_number() && said_default.as_f64() == own.as_f64();
                assert!(alike || *said_default == own, "{name}: {field}: {said_default} and {own}");
                let line = said["description"].as_str().unwrap().split("\n\n").next().unwrap().to_owned();
                let help = arg.get_help().unwrap().to_string();
                assert_eq!(help, line.trim_end_matches('.'), "{name}: {field}");
            }
        }
    }

    /// What clap takes where a flag is not given, as a value of the type that the schema has.
    fn default(arg: &clap::Arg, like: &serde_json::Value) -> serde_json::Value {
        use serde_json::Value;
        let given: Vec<&str> = arg.get_default_values().iter().map(|value| value.to_str().unwrap()).collect();
        match (&given[..], like) {
            (words, Value::Array(_)) => words.to_vec().into(),
            ([], Value::Bool(_)) | (["false"], _) => false.into(),
            ([], _) => Value::Null,
            ([one], Value::Number(_)) => serde_json::from_str(one).unwrap(),
            ([one], _) => (*one).into(),
            _ => panic!("{} has several defaults", arg.get_id()),
        }
    }

    #[test]
    fn usage_errors_are_one_line() {
        for args in [
            &["exegete"][..],
            &["exegete", "show"],
            &["exegete", "predict", "x", "--modle", "d"],
            &["exegete", "predict", "x", "--input", "f.txt"],
            &["exegete", "bench", "--memory", "plenty"],
        ] {
            let words: Vec<String> = args.iter().map(|&word| word.to_owned()).collect();
            let line = one_line(&Cli::try_parse_from(args).unwrap_err(), &words);
            assert!(!line.contains('\n') && !line.contains("Usage:") && line.len() > 30, "{args:?}: {line}");
        }
    }
}
