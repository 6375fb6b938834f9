//! `exegete attention debate`: many models are trained, so what each came to is kept as soon as it is known.

use super::written;
use crate::cli::{self, ReportFormat};
use crate::journal::Journal;
use crate::output::{destination, is_replaceable, report};
use crate::progress;
use crate::stop::{Stopped, is_stop};
use anyhow::{Context, Result, ensure};
use exegete::report::{Item, Report};
use exegete::request::attention::debate::{self, AttentionDebate, DebatedModel, WorkFolder};
use exegete::request::{Notice, Stop};
use exegete::sha256_hex;
use std::fs;
use std::path::{Path, PathBuf};

/// Runs `exegete attention debate`.
pub(super) fn run(args: &cli::AttentionDebate, stop: &Stop) -> Result<()> {
    let output = destination(args.output.as_deref(), &args.request.reads())?;
    let format = ReportFormat::chosen(args.format, output);
    report::refuse_terminal(Some(format), output)?;
    let asked = debate::open(&args.request)?;
    let found = match output.filter(|path| is_replaceable(path)) {
        Some(path) => {
            return kept(&asked, path, stop, &|found| report::write(&shown(found, format), format, output));
        }
        None => found(&asked, &WorkFolder::new()?.0, None, stop),
    };
    report::write(&shown(found?, format), format, output)
}

/// Keeps what is done beside the output, until that is written.
fn kept(
    asked: &AttentionDebate<'_>,
    output: &Path,
    stop: &Stop,
    write: &dyn Fn(Report) -> Result<()>,
) -> Result<()> {
    let identity = asked.identity()?;
    let mut journal = Journal::open(output, &identity)?;
    // Models of another run are of no use to this one.
    let run = sha256_hex(serde_json::to_string(&identity)?.as_bytes());
    let folder: PathBuf = journal.models().join(&run[..16]);
    match found(asked, &folder, Some(&mut journal), stop) {
        Ok(found) => {
            write(found)?;
            journal.remove()
        }
        Err(error) => {
            if journal.finished.is_empty() && error.downcast_ref::<Stopped>().is_none() {
                fs::remove_dir_all(journal.models()).ok();
            }
            journal.leave().and(Err(error))
        }
    }
}

/// Everything that was found, with models trained in a folder.
fn found(
    asked: &AttentionDebate<'_>,
    folder: &Path,
    mut journal: Option<&mut Journal>,
    stop: &Stop,
) -> Result<Report> {
    let earlier = journal.as_ref().map_or(Ok(Vec::new()), |journal| finished(journal, asked))?;
    let progress = progress::models();
    let tell = &mut |notice: Notice<'_>| progress.show(notice);
    let (names, mut done, goes_on) = (asked.names(), earlier.len(), journal.is_some());
    let models = asked.find(folder, earlier, stop, tell, &mut |model| {
        let line = (sha256_hex(names[done].as_bytes()), serde_json::to_string(model)?);
        done += 1;
        journal.as_mut().map_or(Ok(()), |journal| journal.add(&[line]))
    });
    let found = models.and_then(|models| asked.report(folder, &models, stop, tell));
    progress.finish();
    found.map_err(|error| match is_stop(&error) {
        true => {
            let how = if goes_on {
                "the same command goes on"
            } else {
                "with -o FILE the same command could go on"
            };
            Stopped(format!("stopped after {done} of {} models; {how}", names.len())).into()
        }
        false => error,
    })
}

/// What an earlier run found.
fn finished(journal: &Journal, asked: &AttentionDebate<'_>) -> Result<Vec<DebatedModel>> {
    let damaged = || format!("{}: is damaged; remove it to begin anew", journal.name());
    let read = |line: Result<String>| -> Result<DebatedModel> { Ok(serde_json::from_str(&line?)?) };
    let models: Vec<DebatedModel> =
        journal.results()?.map(read).collect::<Result<_>>().with_context(damaged)?;
    ensure!(models.len() <= asked.names().len(), "{}", damaged());
    Ok(models)
}

fn shown(found: Report, format: ReportFormat) -> Report {
    written(found, format, |item| matches!(item, Item::Verdict(_)))
}
