//! Opening models for the commands, and `exegete model info|sites`.

use crate::cli::{Export, Folder, Remote, Resources, TableFormat};
use crate::output::refuse_reads;
use crate::table;
use anyhow::{Result, bail};
use exegete::{Card, Example, Field, Model, Options, Precision, RemoteOptions, SiteInfo, Sites, Task};
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;

/// The model a command was asked to use, a folder's or one at an address, with its warnings said.
pub(crate) fn load(
    model: Option<&Path>,
    resources: &Resources,
    remote: &Remote,
    pairs: bool,
) -> Result<Arc<dyn Model>> {
    let model = match address(model) {
        Some(address) => {
            resources.check_unused()?;
            exegete::connect(address, &remote.options(address, pairs)?)?
        }
        None => {
            remote.check_unused()?;
            open(model, resources.threads())?
        }
    };
    warn(model.card());
    Ok(model)
}

/// A folder's model, without a word.
pub(crate) fn open(dir: Option<&Path>, threads: usize) -> Result<Arc<dyn Model>> {
    open_with(dir, &Options { precision: Precision::F32, threads })
}

/// The model of a folder, or the default one where none is named.
pub(crate) fn open_with(dir: Option<&Path>, options: &Options) -> Result<Arc<dyn Model>> {
    Ok(match folder(dir, "this needs its files")? {
        Some(dir) => exegete::load(dir, options)?,
        None => exegete::load_default(options)?,
    })
}

/// The folder that a `--model` means; none for the default model. A model at an address has none, and `need` says why
/// that matters.
pub(crate) fn folder<'a>(model: Option<&'a Path>, need: &str) -> Result<Option<&'a Path>> {
    if let Some(address) = address(model) {
        bail!(
            "{address}: a model at an address only answers for texts, and {need}; give a Hugging Face folder"
        );
    }
    Ok(model.filter(|dir| dir.as_os_str() != exegete::DEFAULT))
}

/// The address that a `--model` means, where it is one.
fn address(model: Option<&Path>) -> Option<&str> {
    model.and_then(Path::to_str).filter(|model| exegete::is_address(model))
}

/// Whether a `--model` means something that only answers: an address or a command.
pub(crate) fn is_black_box(model: Option<&Path>) -> bool {
    address(model).is_some()
}

/// Says on stderr what the user should know about a model.
pub(crate) fn warn(card: &Card) {
    for warning in &card.warnings {
        eprintln!("warning: {warning}");
    }
}

/// An example with the field names of the task.
pub(crate) fn example(task: &dyn Task, text: &str, pair: Option<&str>) -> Example {
    let named = |(name, text): (&str, &str)| Field { name: name.to_owned(), text: text.to_owned() };
    let texts = std::iter::once(text).chain(pair);
    Example { fields: task.fields().into_iter().zip(texts).map(named).collect(), label: None }
}

/// A model, or what else has a config, is not overwritten by accident.
pub(crate) fn check_output(output: &Path, overwrite: bool) -> Result<()> {
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

/// `exegete model export`.
pub(crate) fn export(args: &Export) -> Result<()> {
    check_output(&args.output, args.overwrite)?;
    refuse_reads(&exegete::files_of_folder(&args.output), &args.reads())?;
    let dir = folder(args.dir.as_deref(), "an export needs weights to write")?;
    exegete::export(dir, &args.output)?;
    Ok(())
}

/// `exegete model info`.
pub(crate) fn info(folder: &Folder) -> Result<()> {
    let dir = folder.dir.as_deref();
    let model = match address(dir) {
        Some(address) => exegete::connect(address, &RemoteOptions::default())?,
        None => open(dir, 0)?,
    };
    match folder.format {
        TableFormat::Text => table::print(&table::plain(&[], describe(model.card()), &[])),
        TableFormat::Json if model.card().parameters == 0 => {
            table::print_json("exegete.model/1", &without_sizes(model.card())?)
        }
        TableFormat::Json => table::print_json("exegete.model/1", model.card()),
    }
}

/// Nobody knows the sizes of a black box, and a zero would be taken for one.
fn without_sizes(card: &Card) -> Result<serde_json::Value> {
    let mut document = serde_json::to_value(card)?;
    if let Some(fields) = document.as_object_mut() {
        fields.retain(|name, _| !["parameters", "max_tokens"].contains(&name.as_str()));
    }
    Ok(document)
}

fn describe(card: &Card) -> Vec<Vec<String>> {
    let mut rows = vec![
        ("name", card.name.clone()),
        ("family", card.family.clone()),
        ("task", card.task.title().to_owned()),
        ("labels", if card.labels.is_empty() { "none".to_owned() } else { card.labels.join(", ") }),
    ];
    rows.extend(card.sizes.0.iter().map(|(name, size)| (*name, size.to_string())));
    if card.parameters > 0 {
        rows.extend([
            ("parameters", thousands(card.parameters)),
            ("max tokens", card.max_tokens.to_string()),
        ]);
    }
    rows.push(("fingerprint", card.fingerprint.clone()));
    rows.extend(card.warnings.iter().map(|warning| ("warning", warning.clone())));
    rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect()
}

/// Digits in groups of three.
fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let grouped = digits.char_indices().flat_map(|(index, digit)| {
        let comma = index > 0 && (digits.len() - index).is_multiple_of(3);
        comma.then_some(',').into_iter().chain([digit])
    });
    grouped.collect()
}

#[derive(Serialize)]
struct Listed<'a> {
    sites: &'a Sites,
}

/// `exegete model sites`.
pub(crate) fn sites(folder: &Folder) -> Result<()> {
    let dir = self::folder(folder.dir.as_deref(), "sites are places inside a network")?;
    let model = open(dir, 0)?;
    let sites = model.require_open()?.sites();
    if folder.format == TableFormat::Json {
        return table::print_json("exegete.sites/1", &Listed { sites });
    }
    let row = |info: &SiteInfo| {
        let axes = info.axes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" × ");
        vec![info.site.to_string(), axes, if info.cut { "cut" } else { "" }.to_owned()]
    };
    table::print(&table::plain(&["site", "axes", "can start"], sites.iter().map(row).collect(), &[]))
}

#[cfg(test)]
mod tests {
    use super::thousands;

    #[test]
    fn digits_are_grouped() {
        for (number, expected) in [(0, "0"), (999, "999"), (1000, "1,000"), (22_713_216, "22,713,216")] {
            assert_eq!(thousands(number), expected);
        }
    }
}
