//! `exegete eval`: several explanations of many texts, measured and compared.

use crate::cli::ReportFormat;
use crate::journal::Journal;
use crate::output::{destination, is_replaceable, report};
use crate::stop::after_texts;
use crate::{cli, progress};
use anyhow::{Context, Result, bail};
use exegete::methods::compare::Text;
use exegete::request::eval::{self, Evaluator};
use exegete::request::{Notice, Stop, text_sha256};

/// Compares methods over the texts and writes the tables.
pub(crate) fn run(args: &cli::Eval, stop: &Stop) -> Result<()> {
    let request = &args.request;
    let output = destination(args.output.as_deref(), &request.reads())?;
    let evaluator = eval::open(request, stop, &mut progress::say)?;
    let identity = || request.identity(evaluator.model().card(), &evaluator.contents());
    let journal = output.filter(|path| is_replaceable(path));
    let mut journal = journal.map(|path| Journal::open(path, &identity()?)).transpose()?;
    let earlier = journal.as_ref().map_or(Ok(Vec::new()), |journal| finished(journal, &evaluator))?;
    let answers = journal.as_ref().map(Journal::answers);
    let progress = progress::texts();
    let tell = &mut |notice: Notice<'_>| progress.show(notice);
    let mut done = earlier.len();
    let texts = evaluator.measure(earlier, answers.as_deref(), tell, &mut |example, text| {
        done += 1;
        match &mut journal {
            Some(journal) => journal.add(&[(text_sha256(example), serde_json::to_string(text)?)]),
            None => Ok(()),
        }
    });
    progress.finish();
    let texts = match texts {
        Ok(texts) => texts,
        Err(error) => {
            let error = after_texts(error, done, journal.is_some());
            return journal.map_or(Ok(()), Journal::leave).and(Err(error));
        }
    };
    report::write(&evaluator.report(&texts), ReportFormat::Text(args.format.into()), output)?;
    journal.map_or(Ok(()), Journal::remove)
}

/// What an earlier run measured.
fn finished(journal: &Journal, evaluator: &Evaluator<'_>) -> Result<Vec<Text>> {
    let read = |line: Result<String>| -> Result<Text> {
        let text: Text = serde_json::from_str(&line?)?;
        if evaluator.fits(&text) { Ok(text) } else { bail!("an explanation is missing") }
    };
    let texts = journal.results()?.map(read).collect::<Result<_>>();
    texts.with_context(|| format!("{}: is damaged; remove it to begin anew", journal.name()))
}
