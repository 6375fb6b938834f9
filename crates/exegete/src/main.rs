//! The `exegete` program: reads the command line, calls the library, prints what it says.

mod answers;
mod bench;
mod check;
mod cli;
mod eval;
mod explain;
mod hiding;
mod input;
mod journal;
mod model;
mod output;
mod predict;
mod progress;
mod size;
mod table;
mod train;

use clap::Parser;
use std::io;
use std::process::ExitCode;

fn main() -> ExitCode {
    report_panics_in_one_line();
    std::panic::catch_unwind(run).unwrap_or(ExitCode::from(2))
}

fn run() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => return fail(&cli::one_line(&error)),
        Err(help) => {
            // Help that nobody reads to its end is no failure.
            let _ = help.print();
            return ExitCode::SUCCESS;
        }
    };
    match execute(&cli.command) {
        Ok(code) => code,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => fail(&format!("{error:#}")),
    }
}

fn execute(command: &cli::Command) -> anyhow::Result<ExitCode> {
    match command {
        cli::Command::Explain(args) => explain::run(args)?,
        cli::Command::Eval(args) => eval::run(args)?,
        cli::Command::Show(args) => explain::show(args)?,
        cli::Command::Methods(args) => explain::methods(args)?,
        cli::Command::Predict(args) => predict::run(args)?,
        cli::Command::Model(cli::Model::Info(folder)) => model::info(folder)?,
        cli::Command::Model(cli::Model::Sites(folder)) => model::sites(folder)?,
        cli::Command::Model(cli::Model::Check(folder)) => {
            return Ok(if check::run(folder)? { ExitCode::SUCCESS } else { ExitCode::from(1) });
        }
        cli::Command::Model(cli::Model::Export(args)) => model::export(args)?,
        cli::Command::Train(args) => train::run(args)?,
        cli::Command::Bench(args) => bench::run(args)?,
    }
    Ok(ExitCode::SUCCESS)
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
