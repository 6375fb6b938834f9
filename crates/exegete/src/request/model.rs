//! Opening models for the commands, and the requests of `exegete model`.

pub mod check;

use super::{AddressOptions, Listener, Notice, Resources, needed, refuse_reads};
use crate::{Card, Example, Field, LoadOptions, Model, Precision, RemoteOptions, Sites, Task};
use anyhow::{Result, bail};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `exegete model info`, `sites` and `check`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct ModelRequest {
    /// A Hugging Face folder [default: the model that is part of the program].
    #[arg(value_name = "DIR")]
    pub model: Option<PathBuf>,
}

/// What `exegete model export` is asked: a model and a folder to write.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct ExportRequest {
    /// A Hugging Face folder [default: the model that is part of the program].
    #[arg(value_name = "DIR")]
    pub model: Option<PathBuf>,
    /// The folder to write.
    #[arg(short, long, value_name = "DIR", required = true)]
    pub output: Option<PathBuf>,
    /// Replace a model that the output folder already holds.
    #[arg(long)]
    pub overwrite: bool,
}

/// What a model is, a black box too.
pub fn info(request: &ModelRequest) -> Result<Card> {
    let dir = request.model.as_deref();
    let model = match address(dir) {
        Some(address) => crate::connect(address, &RemoteOptions::default())?,
        None => open(dir, 0)?,
    };
    Ok(model.card().clone())
}

/// Every named place inside a model.
pub fn sites(request: &ModelRequest) -> Result<Sites> {
    let dir = folder(request.model.as_deref(), "sites are places inside a network")?;
    Ok(open(dir, 0)?.require_open()?.sites().clone())
}

/// Writes a model as a plain Hugging Face folder.
pub fn export(request: &ExportRequest) -> Result<()> {
    let output = needed(&request.output, "an export needs a folder to write; give -o DIR")?;
    check_output(output, request.overwrite)?;
    refuse_reads(&crate::files_of_folder(output), &request.reads())?;
    let dir = folder(request.model.as_deref(), "an export needs weights to write")?;
    Ok(crate::export(dir, output)?)
}

/// The model a command was asked to use, a folder's or one at an address, with its warnings told.
pub(super) fn load(
    model: Option<&Path>,
    resources: &Resources,
    remote: &AddressOptions,
    pairs: bool,
    tell: Listener<'_>,
) -> Result<Arc<dyn Model>> {
    resources.check()?;
    let model = match address(model) {
        Some(address) => {
            resources.check_unused()?;
            crate::connect(address, &remote.options(address, pairs)?)?
        }
        None => {
            remote.check_unused()?;
            open(model, resources.threads())?
        }
    };
    warn(model.card(), tell);
    Ok(model)
}

/// A folder's model, without a word.
pub(super) fn open(dir: Option<&Path>, threads: usize) -> Result<Arc<dyn Model>> {
    open_with(dir, &LoadOptions { precision: Precision::F32, threads })
}

/// The model of a folder, or the default one where none is named.
pub(super) fn open_with(dir: Option<&Path>, options: &LoadOptions) -> Result<Arc<dyn Model>> {
    Ok(match folder(dir, "this needs its files")? {
        Some(dir) => crate::load(dir, options)?,
        None => crate::load_default(options)?,
    })
}

/// The folder that a `--model` means; none for the default model. A model at an address has none, and `need` says why
/// that matters.
pub(super) fn folder<'a>(model: Option<&'a Path>, need: &str) -> Result<Option<&'a Path>> {
    if let Some(address) = address(model) {
        bail!(
            "{address}: a model at an address only answers for texts, and {need}; give a Hugging Face folder"
        );
    }
    Ok(model.filter(|dir| dir.as_os_str() != crate::DEFAULT))
}

/// Whether a `--model` means the one that is part of the program.
pub(super) fn is_default(model: Option<&Path>) -> bool {
    model.is_none_or(|dir| dir.as_os_str() == crate::DEFAULT)
}

/// The address that a `--model` means, where it is one.
fn address(model: Option<&Path>) -> Option<&str> {
    model.and_then(Path::to_str).filter(|model| crate::is_address(model))
}

/// Whether a `--model` means something that only answers: an address or a command.
pub(super) fn is_black_box(model: Option<&Path>) -> bool {
    address(model).is_some()
}

/// Tells what the user should know about a model.
pub(super) fn warn(card: &Card, tell: Listener<'_>) {
    card.warnings.iter().for_each(|warning| tell(Notice::Warning(warning)));
}

/// An example with the field names of the task.
pub(super) fn example(task: &dyn Task, text: &str, pair: Option<&str>) -> Example {
    let named = |(name, text): (&str, &str)| Field { name: name.to_owned(), text: text.to_owned() };
    let texts = std::iter::once(text).chain(pair);
    Example { fields: task.fields().into_iter().zip(texts).map(named).collect(), label: None, weights: None }
}

/// Elsewhere `-` is the standard output, so nobody means a folder of that name.
pub(super) fn refuse_stdout(output: &Path) -> Result<()> {
    if output.as_os_str() == "-" {
        bail!("-o -: a model is a folder, which cannot go to the standard output; name a folder");
    }
    Ok(())
}

/// A model, or what else has a config, is not overwritten by accident.
pub(super) fn check_output(output: &Path, overwrite: bool) -> Result<()> {
    refuse_stdout(output)?;
    let found = ["model.safetensors", "model.safetensors.index.json", "config.json"]
        .into_iter()
        .find(|name| output.join(name).exists());
    match found {
        Some(name) if !overwrite => {
            bail!("{}: holds a {name} already; give another folder or --overwrite", output.display())
        }
        _ => Ok(()),
    }
}
