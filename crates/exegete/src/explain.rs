//! `exegete explain` and `show`.

use crate::cli::ReportFormat;
use crate::journal::{Journal, beside};
use crate::output::report::{options, refuse_terminal, write};
use crate::output::{Output, destination, is_replaceable};
use crate::stop::{Stopped, after_texts, is_stop};
use crate::{cli, progress};
use anyhow::{Context, Result, bail};
use exegete::render::{self, CorpusPage, Format, RenderOptions};
use exegete::report::Report;
use exegete::request::explain::{self, ExplainRequest, Explainer, GoingOn};
use exegete::request::{Notice, Stop, again, holds_answers, refuse_reads, show, text_sha256};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Explains the text or texts and writes the reports.
pub(crate) fn run(args: &cli::Explain, stop: &Stop) -> Result<()> {
    let request = args.request();
    let reads = [request.reads(), args.again.reads()].concat();
    let output = destination(args.output.as_deref(), &reads)?;
    refuse_terminal(args.format, output)?;
    if args.again.again.is_some() {
        let report = again::run(&args.again, &request, stop, &mut progress::say)?;
        return write(&report, args.format.unwrap_or(ReportFormat::Text(Format::Text)), output);
    }
    explain::refuse_written(&request, &args.written)?;
    let explainer = explain::open(&request, stop, &mut progress::say)?;
    let usual = if explainer.many() { Format::Jsonl } else { Format::Text };
    let format = args.format.unwrap_or(ReportFormat::Text(usual));
    if !explainer.many() {
        let kept = output.filter(|path| explainer.surveys() && is_replaceable(path));
        let kept = kept.filter(|_| request.hiding.cache.is_none()).map(beside).transpose()?;
        let kept = kept.map(|beside| beside.path);
        refuse_reads(kept.as_slice(), &reads)?;
        write(&one(explainer, &request, kept.as_deref())?, format, output)?;
        return kept.map_or(Ok(()), remove);
    }
    let ReportFormat::Text(format @ (Format::Jsonl | Format::Csv | Format::Text | Format::Html)) = format
    else {
        bail!(
            "many texts are written as jsonl, csv, text or html; `exegete show FILE.jsonl --row N` makes one of them a document or a picture"
        );
    };
    match output.filter(|path| is_replaceable(path)) {
        Some(path) => resumable(&request, &explainer, format, path),
        None => stream(&explainer, format, output),
    }
}

/// One report, about a text or about many together. What the model answers meanwhile may be kept, for the same command to go on
/// with where it does not come to its end.
fn one(explainer: Explainer<'_>, request: &ExplainRequest, kept: Option<&Path>) -> Result<Report> {
    if let Some(path) = kept.filter(|path| holds_answers(path) == Some(true)) {
        progress::say(Notice::Note(&format!("going on with the answers in {}", path.display())));
    }
    let progress = progress::RowCount::new();
    let count = progress.clone();
    let explainer = explainer.watched(move |advance| count.advance(advance));
    let (surveys, from) = (explainer.surveys(), GoingOn { answers: kept, ..GoingOn::default() });
    let report = explainer.report(from, &mut |notice| progress.show(notice));
    progress.finish();
    let Err(error) = report else { return report };
    let holds = kept.and_then(holds_answers);
    kept.filter(|_| holds == Some(false)).map_or(Ok(()), |path| remove(path.to_owned()))?;
    if !is_stop(&error) {
        return Err(error);
    }
    let how = match (&request.hiding.cache, kept) {
        (Some(_), _) => "the same command goes on with what --cache holds",
        (None, Some(_)) if holds == Some(true) => "the same command goes on",
        (None, Some(_)) => "nothing was asked that could be kept, and the same command begins anew",
        (None, None) if surveys => "with -o FILE the same command could go on",
        (None, None) => "with --cache FILE the same command could go on",
    };
    Err(Stopped(format!("stopped before the end; {how}")).into())
}

fn remove(path: PathBuf) -> Result<()> {
    fs::remove_file(&path).with_context(|| format!("{}: cannot be removed", path.display()))
}

/// One report a text, in order; what an earlier run finished is not done again. What is kept meanwhile is JSON, from which
/// the output is made at the end, whatever its format.
fn resumable(request: &ExplainRequest, explainer: &Explainer<'_>, format: Format, path: &Path) -> Result<()> {
    let mut journal = Journal::open(path, &request.identity(explainer.model().card())?)?;
    let (answers, finished) = (journal.answers(), journal.finished.clone());
    let from = GoingOn { finished: &finished, answers: Some(&answers) };
    let progress = progress::reading();
    let tell = &mut |notice: Notice<'_>| progress.show(notice);
    let done = explainer.each(from, tell, &mut |example, report| {
        let line = render::render(&report, Format::Jsonl, &RenderOptions::default());
        journal.add(&[(text_sha256(example), line.trim_end().to_owned())])
    });
    progress.finish();
    if let Err(error) = done {
        let texts = journal.finished.len();
        return journal.leave().and(Err(after_texts(error, texts, true)));
    }
    let mut rows = RenderedRows::new(format, options(None));
    journal.complete(|journal, output| {
        for line in journal.results()? {
            output.write_all(rows.of_line(&line?)?.as_bytes())?;
        }
        Ok(output.write_all(rows.end().as_bytes())?)
    })
}

/// One report after the other.
fn stream(explainer: &Explainer<'_>, format: Format, path: Option<&Path>) -> Result<()> {
    let mut output = Output::open(path)?;
    let mut rows = RenderedRows::new(format, options(Some(&output)));
    let progress = progress::reading();
    let tell = &mut |notice: Notice<'_>| progress.show(notice);
    let done = explainer.each(GoingOn::default(), tell, &mut |_, report| {
        let text = rows.of(&report);
        Ok(progress.suspend(|| output.write_all(text.as_bytes()).and_then(|()| output.flush()))?)
    });
    progress.finish();
    done.map_err(|error| after_texts(error, rows.count, false))?;
    output.write_all(rows.end().as_bytes()).context("the output cannot be written")?;
    output.complete()
}

/// Reports as the rows of one output.
struct RenderedRows {
    format: Format,
    options: RenderOptions,
    /// What the format html makes of them.
    page: CorpusPage,
    /// Those that were made.
    count: usize,
}

impl RenderedRows {
    fn new(format: Format, options: RenderOptions) -> Self {
        Self { format, options, page: CorpusPage::new(), count: 0 }
    }

    fn of(&mut self, report: &Report) -> String {
        self.count += 1;
        if self.format == Format::Html {
            return self.page.row(report);
        }
        let options = RenderOptions { row: Some(self.count), ..self.options };
        let text = render::render(report, self.format, &options);
        match text.split_once('\n') {
            // The names of the columns stand once.
            Some((_, rows)) if self.format == Format::Csv && self.count > 1 => rows.to_owned(),
            _ => text,
        }
    }

    /// The same for a report that was kept as a line of JSON.
    fn of_line(&mut self, line: &str) -> Result<String> {
        match self.format {
            Format::Jsonl => Ok(format!("{line}\n")),
            _ => Ok(self.of(&render::read(line.as_bytes())?)),
        }
    }

    /// What stands below all of them.
    fn end(&self) -> String {
        if self.format == Format::Html { self.page.end() } else { String::new() }
    }
}

/// Writes a kept report in another format, or all of a file as one page.
pub(crate) fn show(args: &cli::Show) -> Result<()> {
    let path = destination(args.output.as_deref(), &args.request.reads())?;
    refuse_terminal(Some(args.format), path)?;
    if args.format == ReportFormat::Text(Format::Html) && args.request.has_rows() {
        let mut output = Output::open(path)?;
        let mut rows = RenderedRows::new(Format::Html, options(Some(&output)));
        show::each(&args.request, &mut |report| Ok(output.write_all(rows.of(&report).as_bytes())?))?;
        output.write_all(rows.end().as_bytes()).context("the output cannot be written")?;
        return output.complete();
    }
    let output = path;
    write(&show::run(&args.request)?, args.format, output)
}
