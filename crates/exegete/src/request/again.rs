//! A report's request, asked again.

use super::explain::{self, ExplainRequest, GoingOn};
use super::{Listener, Stop, needed, record, show};
use crate::report::{RecordedFile, Report};
use anyhow::{Context, Result, bail};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// What `exegete explain --again` is asked: a report, and what it does not say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct AgainRequest {
    /// Repeat the request of a report: the same model and files give the same numbers. A model at an address is never asked
    /// because a report says so; name it again with --model.
    #[arg(long, value_name = "REPORT")]
    pub again: Option<PathBuf>,
    /// Which line of a .jsonl file of reports to repeat, from 1 [default: 1 of a .jsonl file].
    #[arg(long, value_name = "N", requires = "again")]
    pub row: Option<usize>,
}

/// What may be said anew beside a report that is repeated: where the model is and what the run may use.
const ANEW: [&str; 4] = ["model", "threads", "memory", "cache"];

/// Repeats the request of a report. Of `anew` only the model, threads, memory and cache may be set.
pub fn run(request: &AgainRequest, anew: &ExplainRequest, stop: &Stop, tell: Listener<'_>) -> Result<Report> {
    let path = needed(&request.again, "there is no report to repeat; name one with --again")?;
    refuse_others(anew)?;
    let earlier = show::read(path, request.row.unwrap_or(1))?;
    let (asked, files) = recorded(path, &earlier, anew)?;
    let now = record::files(&asked.named_files())?;
    same_files(path, &files, &now)?;
    let explainer = explain::open(&asked, stop, tell)?;
    if explainer.many() {
        bail!("{}: its request is about many texts and makes a report of each", path.display());
    }
    same_model(path, &earlier, explainer.model().card())?;
    let report = explainer.report(GoingOn::default(), tell)?;
    // What the standard input held is known when it was read.
    same_files(path, &files, report.request.as_ref().map_or(&now, |request| &request.files))?;
    Ok(report)
}

/// The request as it was, with what is said anew.
fn recorded(
    path: &Path,
    report: &Report,
    anew: &ExplainRequest,
) -> Result<(ExplainRequest, Vec<RecordedFile>)> {
    let place = path.display();
    let Some(request) = report.request.clone() else {
        bail!("{place}: does not say what was asked; it was made elsewhere or by an earlier version");
    };
    if request.command != "explain" {
        bail!(
            "{place}: is of the command '{}', and explain --again repeats reports of explain",
            request.command
        );
    }
    let mut asked = typed(request.fields).with_context(|| place.to_string())?;
    if super::model::is_black_box(asked.model.as_deref()) && anew.model.is_none() {
        let model = asked.model.unwrap_or_default();
        bail!(
            "{place}: its model is {}, which is never asked because a report says so; give it with --model",
            model.display()
        );
    }
    asked.model = anew.model.clone().or(asked.model);
    asked.resources.threads = anew.resources.threads.or(asked.resources.threads);
    asked.resources.memory = anew.resources.memory.or(asked.resources.memory);
    // A report must not name a file to be written.
    asked.hiding.cache.clone_from(&anew.hiding.cache);
    Ok((asked, request.files))
}

/// The fields as a request; an error names the field.
fn typed(fields: Map<String, Value>) -> Result<ExplainRequest> {
    for (name, value) in &fields {
        let alone = Map::from_iter([(name.clone(), value.clone())]);
        serde_json::from_value::<ExplainRequest>(alone.into()).with_context(|| format!("request.{name}"))?;
    }
    Ok(serde_json::from_value(fields.into())?)
}

fn refuse_others(anew: &ExplainRequest) -> Result<()> {
    let (Value::Object(given), Value::Object(usual)) =
        (serde_json::to_value(anew)?, serde_json::to_value(ExplainRequest::default())?)
    else {
        return Ok(());
    };
    let other =
        given.iter().find(|(name, value)| !ANEW.contains(&name.as_str()) && usual.get(*name) != Some(value));
    match other {
        Some((name, _)) => bail!(
            "--again repeats what a report says, so {} cannot be given beside it; only --model, --threads, --memory and --cache can",
            if name == "text" { "a text".to_owned() } else { format!("--{}", name.replace('_', "-")) }
        ),
        None => Ok(()),
    }
}

fn same_files(path: &Path, then: &[RecordedFile], now: &[RecordedFile]) -> Result<()> {
    for RecordedFile { path: file, sha256 } in now {
        let place = path.display();
        match then.iter().find(|then| then.path == *file).map(|then| &then.sha256) {
            _ if sha256.is_none() => bail!(
                "{file}: is a stream and no file, so it cannot be compared with what {place} was made of"
            ),
            Some(then) if then == sha256 => {}
            Some(_) => bail!("{file}: is not what it was when {place} was made: its SHA-256 is another"),
            None => bail!("{place}: its request names {file} and does not say what it held"),
        }
    }
    Ok(())
}

fn same_model(path: &Path, earlier: &Report, card: &crate::Card) -> Result<()> {
    let then = &earlier.provenance.model;
    if then.fingerprint != card.fingerprint {
        bail!(
            "{}: was made with the model {} ({}), and this one is {} ({}); give that model with --model",
            path.display(),
            then.fingerprint,
            then.name,
            card.fingerprint,
            card.name
        );
    }
    Ok(())
}
