use super::{ReportFormat, report_format};
use clap::{Args, Subcommand};
use exegete::request::attention::debate::AttentionDebateRequest;
use exegete::request::attention::deceive::AttentionDeceiveRequest;
use exegete::request::attention::heads::AttentionHeadsRequest;
use exegete::request::attention::norms::AttentionNormsRequest;
use exegete::request::attention::test::AttentionTestRequest;
use exegete::request::attention::words::AttentionWordsRequest;
use std::path::PathBuf;

/// What can be asked about the attention of a model.
#[derive(Debug, Subcommand)]
pub(crate) enum Attention {
    /// Run the published experiments on a model: is its attention an explanation of what it says?
    Test(Box<AttentionTest>),
    /// Train models that hide from their attention what they read, and say what notices it.
    Deceive(Box<AttentionLook<AttentionDeceiveRequest>>),
    /// Train small models and run the whole debate on them: one verdict, the sentences that go with it, and every number.
    Debate(Box<AttentionDebate>),
    /// Say what each head of a transformer does: where it looks, which relations it follows, what is lost without it.
    Heads(Box<AttentionLook<AttentionHeadsRequest>>),
    /// Hold the weights of heads against the length of the vectors that they move.
    Norms(Box<AttentionLook<AttentionNormsRequest>>),
    /// Say what words are worth to attention over all their places, and which class they speak for.
    Words(Box<AttentionLook<AttentionWordsRequest>>),
}

/// What a command about a whole corpus takes: its request, and how the result is written.
#[derive(Debug, Args)]
pub(crate) struct AttentionLook<R: Args> {
    /// What the experiments are asked, as a request.
    #[command(flatten)]
    pub(crate) request: R,
    /// How to write the report [default: by the name of -o, else text].
    #[arg(long, value_parser = report_format())]
    pub(crate) format: Option<ReportFormat>,
    /// Write here instead of to stdout; a killed run goes on where it was.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// What the command takes: its request, and how the result is written.
#[derive(Debug, Args)]
pub(crate) struct AttentionTest {
    /// What the experiments are asked.
    #[command(flatten)]
    pub(crate) request: AttentionTestRequest,
    /// How to write the report [default: by the name of -o, else text]; csv holds one row a text.
    #[arg(long, value_parser = report_format())]
    pub(crate) format: Option<ReportFormat>,
    /// Write here instead of to stdout; a killed run goes on where it was.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// What the command takes: its request, and how the result is written.
#[derive(Debug, Args)]
pub(crate) struct AttentionDebate {
    /// What the debate is asked, as a request.
    #[command(flatten)]
    pub(crate) request: AttentionDebateRequest,
    /// How to write the report [default: by the name of -o, else text]; csv holds the verdict's findings.
    #[arg(long, value_parser = report_format())]
    pub(crate) format: Option<ReportFormat>,
    /// Write here instead of to stdout; a killed run goes on where it was.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
