//! `exegete attention …`: what the attention of a model is worth.

mod debate;

use crate::cli::{self, ReportFormat};
use crate::journal::Journal;
use crate::output::{destination, is_replaceable, report};
use crate::progress;
use crate::stop::{Stopped, after_texts, is_stop};
use anyhow::{Context, Error, Result, ensure};
use exegete::methods::debate::TextRecord;
use exegete::render::Format;
use exegete::report::{Item, Report};
use exegete::request::attention::deceive::{self, AttentionDeceiveRequest};
use exegete::request::attention::test::{self, AttentionTest};
use exegete::request::attention::{CorpusLook, Steps, heads, norms, words};
use exegete::request::{Listener, Notice, Read, Stop};
use exegete::sha256_hex;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

/// Runs `exegete attention …`.
pub(crate) fn run(about: &cli::Attention, stop: &Stop) -> Result<()> {
    match about {
        cli::Attention::Test(args) => test(args, stop),
        cli::Attention::Deceive(args) => deceive(args, stop),
        cli::Attention::Debate(args) => debate::run(args, stop),
        cli::Attention::Heads(args) => look(args, &args.request.reads(), stop, (heads::open, is_rows)),
        cli::Attention::Norms(args) => look(args, &args.request.reads(), stop, (norms::open, is_layers)),
        cli::Attention::Words(args) => look(args, &args.request.reads(), stop, (words::open, is_rows)),
    }
}

/// Runs a command that looks at a whole corpus, step by step: how it is opened, and which item is its main one.
fn look<'a, R: clap::Args>(
    args: &'a cli::AttentionLook<R>,
    reads: &[Read<'_>],
    stop: &Stop,
    (open, is_main): (
        impl Fn(&'a R, &Stop, Listener<'_>) -> Result<Box<dyn CorpusLook + 'a>>,
        fn(&Item) -> bool,
    ),
) -> Result<()> {
    let output = destination(args.output.as_deref(), reads)?;
    let progress = progress::texts();
    let tell = &mut |notice: Notice<'_>| progress.show(notice);
    let asked = open(&args.request, stop, tell)?;
    let kept = output.filter(|path| is_replaceable(path));
    let mut journal = kept.map(|path| Journal::open(path, &asked.identity()?)).transpose()?;
    let steps = journal.as_mut().map_or_else(|| Ok(Steps::unkept()), steps);
    let found = steps.and_then(|mut steps| asked.find(&mut steps, tell));
    progress.finish();
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            let error = after_steps(error, journal.as_ref().map(|journal| journal.finished.len()));
            return journal.map_or(Ok(()), Journal::leave).and(Err(error));
        }
    };
    let format = ReportFormat::chosen(args.format, output);
    report::write(&written(found, format, is_main), format, output)?;
    journal.map_or(Ok(()), Journal::remove)
}

/// The steps that a journal holds, and where it takes more.
fn steps(journal: &mut Journal) -> Result<Steps<'_>> {
    let (name, earlier, finished) = (journal.name().to_string(), journal.results()?, journal.finished.len());
    let keep = move |line: &str| {
        let number = format!("step {}", journal.finished.len());
        journal.add(&[(sha256_hex(number.as_bytes()), line.to_owned())])
    };
    Ok(Steps::kept(name, finished, earlier, keep))
}

/// A stop of a run step by step; every other error as it is.
fn after_steps(error: Error, kept: Option<usize>) -> Error {
    match kept {
        _ if !is_stop(&error) => error,
        Some(steps) => Stopped(format!("stopped after {steps} steps; the same command goes on")).into(),
        None => Stopped("stopped; with -o FILE the same command could go on".to_owned()).into(),
    }
}

/// Runs `exegete attention deceive`. Its models stay in the folder of `--work`, else until the report is written.
fn deceive(args: &cli::AttentionLook<AttentionDeceiveRequest>, stop: &Stop) -> Result<()> {
    let request = &args.request;
    let output = destination(args.output.as_deref(), &request.reads())?;
    let format = ReportFormat::chosen(args.format, output);
    let beside = output.filter(|path| is_replaceable(path)).map(|path| {
        let mut name = path.as_os_str().to_owned();
        name.push(".unfinished.models");
        PathBuf::from(name)
    });
    let goes_on = request.work.is_some() || beside.is_some();
    let work = request
        .work
        .clone()
        .or(beside)
        .unwrap_or_else(|| std::env::temp_dir().join(format!("exegete-deceive-{}", std::process::id())));
    let progress = progress::stages();
    let found = deceive::run(request, &work, stop, &mut |notice| progress.show(notice));
    progress.finish();
    let written = match found {
        Ok(found) => report::write(&written(found, format, is_arms), format, output),
        Err(error) if is_stop(&error) && goes_on => {
            return Err(Stopped("stopped; the same command goes on".to_owned()).into());
        }
        Err(error) if is_stop(&error) => {
            Err(Stopped("stopped; with -o FILE or --work DIR the same command could go on".to_owned()).into())
        }
        Err(error) => Err(error),
    };
    // What a failed run trained is worth keeping where the same command finds it again.
    if request.work.is_none() && (written.is_ok() || !goes_on) {
        fs::remove_dir_all(&work).or_else(|error| match error.kind() {
            ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })?;
    }
    written
}

/// Runs `exegete attention test`.
fn test(args: &cli::AttentionTest, stop: &Stop) -> Result<()> {
    let request = &args.request;
    let output = destination(args.output.as_deref(), &request.reads())?;
    let asked = test::open(request, stop, &mut progress::say)?;
    let contents = asked.contents();
    let identity = || request.identity(asked.model().card(), &contents);
    let journal = output.filter(|path| is_replaceable(path));
    let mut journal = journal.map(|path| Journal::open(path, &identity()?)).transpose()?;
    let earlier = journal.as_ref().map_or(Ok(Vec::new()), |journal| finished(journal, &asked))?;
    let progress = progress::texts();
    let tell = &mut |notice: Notice<'_>| progress.show(notice);
    let mut done = earlier.len();
    let records = asked.measure(earlier, tell, &mut |found| {
        let names = contents[done..].iter().map(|content| sha256_hex(content.as_bytes()));
        let lines = names.zip(found).map(|(name, record)| Ok((name, serde_json::to_string(record)?)));
        done += found.len();
        let lines = lines.collect::<Result<Vec<_>>>()?;
        journal.as_mut().map_or(Ok(()), |journal| journal.add(&lines))
    });
    let work = journal.as_ref().map(Journal::models);
    progress.finish();
    // From here on there are models to count and no texts: lines, which say what is left.
    let found = records.and_then(|records| Ok((asked.train(work.as_deref(), &mut progress::say)?, records)));
    let (arms, records) = match found {
        Ok(found) => found,
        Err(error) => {
            let error = after_texts(error, done, journal.is_some());
            return journal.map_or(Ok(()), Journal::leave).and(Err(error));
        }
    };
    let format = ReportFormat::chosen(args.format, output);
    report::write(&written(asked.report(&records, &arms), format, is_rows), format, output)?;
    journal.map_or(Ok(()), Journal::remove)
}

/// What an earlier run found.
fn finished(journal: &Journal, asked: &AttentionTest<'_>) -> Result<Vec<TextRecord>> {
    let damaged = || format!("{}: is damaged; remove it to begin anew", journal.name());
    let read = |line: Result<String>| -> Result<TextRecord> { Ok(serde_json::from_str(&line?)?) };
    let records: Vec<TextRecord> =
        journal.results()?.map(read).collect::<Result<_>>().with_context(damaged)?;
    ensure!(records.len() <= asked.len(), "{}", damaged());
    Ok(records)
}

/// A table of values holds the main items alone: the others have other columns.
fn written(report: Report, format: ReportFormat, is_main: fn(&Item) -> bool) -> Report {
    let csv = matches!(format, ReportFormat::Text(Format::Csv));
    Report { items: report.items.into_iter().filter(|item| !csv || is_main(item)).collect(), ..report }
}

fn is_rows(item: &Item) -> bool {
    matches!(item, Item::Rows(_))
}

fn is_layers(item: &Item) -> bool {
    matches!(item, Item::Table(table) if table.name == "layers")
}

fn is_arms(item: &Item) -> bool {
    matches!(item, Item::Table(table) if table.name == "arms")
}
