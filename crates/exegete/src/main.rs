//! The `exegete` program: reads the command line, calls the library, prints what it says.

mod attention;
mod bench;
mod cli;
mod data;
mod eval;
mod explain;
mod journal;
mod methods;
mod model;
mod output;
mod predict;
mod progress;
mod stop;
mod table;
mod train;

use std::io;
use std::process::ExitCode;
use stop::{INTERRUPTED, Stopped, is_stop, on_interrupt};

fn main() -> ExitCode {
    report_panics_in_one_line();
    std::panic::catch_unwind(run).unwrap_or(ExitCode::from(2))
}

fn run() -> ExitCode {
    let cli = match cli::Cli::read() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => {
            let words: Vec<String> =
                std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
            return fail(&cli::one_line(&error, &words));
        }
        Err(help) => {
            // Help that nobody reads to its end is no failure.
            let _ = help.print();
            return ExitCode::SUCCESS;
        }
    };
    match execute(&cli.command) {
        Ok(code) => code,
        Err(error) if is_stop(&error) => interrupted("stopped before the end"),
        Err(error) if error.is::<Stopped>() => interrupted(&error.to_string()),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => fail(&format!("{error:#}")),
    }
}

fn execute(command: &cli::Command) -> anyhow::Result<ExitCode> {
    match command {
        cli::Command::Explain(args) => explain::run(args, &on_interrupt())?,
        cli::Command::Eval(args) => eval::run(args, &on_interrupt())?,
        cli::Command::Attention(about) => attention::run(about, &on_interrupt())?,
        cli::Command::Show(args) => explain::show(args)?,
        cli::Command::Methods(args) => methods::run(args)?,
        cli::Command::Predict(args) => predict::run(args, &on_interrupt())?,
        cli::Command::Model(cli::Model::Info(folder)) => model::info(folder)?,
        cli::Command::Model(cli::Model::Sites(folder)) => model::sites(folder)?,
        cli::Command::Model(cli::Model::Check(args)) => {
            return Ok(if model::check(args, &on_interrupt())? {
                ExitCode::SUCCESS
            } else {
                ExitCode::from(1)
            });
        }
        cli::Command::Model(cli::Model::Export(args)) => exegete::request::model::export(&args.request)?,
        cli::Command::Train(args) => train::run(args, &on_interrupt())?,
        cli::Command::Data(cli::Data::Make(args)) => data::make(args, &on_interrupt())?,
        cli::Command::Bench(args) => bench::run(args, &on_interrupt())?,
        cli::Command::Schema(args) => {
            table::print(&format!("{:#}", exegete::request::json_schema(&args.name.join(" "))?))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What was asked for, so no error: what is done is kept where it can be.
fn interrupted(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::from(INTERRUPTED)
}

/// One line, whatever the message holds: names of files and columns come from outside.
fn fail(message: &str) -> ExitCode {
    let words = message.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    eprintln!("error: {}", words.collect::<Vec<_>>().join(" "));
    ExitCode::from(2)
}

/// Whoever reads our output (`| head`) may stop when they have seen enough.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let closed = |e: &io::Error| e.kind() == io::ErrorKind::BrokenPipe;
    error.chain().filter_map(|cause| cause.downcast_ref()).any(closed)
}

/// A panic is our defect, never the user's: it still ends in one line and exit code 2.
fn report_panics_in_one_line() {
    std::panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let message = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        fail(&format!(
            "a defect in exegete at {place}: {message}; please report it with the command that led here"
        ));
    }));
}
