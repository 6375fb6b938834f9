//! What makes two runs the same run: contents of files, never how their paths are spelled.

use super::attention::debate::AttentionDebateRequest;
use super::attention::deceive::AttentionDeceiveRequest;
use super::attention::heads::AttentionHeadsRequest;
use super::attention::norms::AttentionNormsRequest;
use super::attention::test::AttentionTestRequest;
use super::attention::words::AttentionWordsRequest;
use super::eval::EvalRequest;
use super::explain::ExplainRequest;
use super::predict::PredictRequest;
use super::{HidingOptions, Read, Resources, TextInput, model, settings};
use crate::{Card, ContentHash, Example, sha256_hex, sha256_of};
use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;

/// What makes two runs the same, by name: values where they are short, SHA-256 where they are long or in files.
pub type RunIdentity = BTreeMap<String, String>;

/// A value longer than this is hashed.
const LONGEST_VALUE: usize = 200;
/// A value that is longer than this says nothing to a reader.
const SHOWN_CHARS: usize = 40;
/// What a stream that can be read only once is called; its texts are recognised one by one.
const STREAM: &str = "a stream";

impl ExplainRequest {
    /// What a run that goes on must have in common with the one that it goes on with.
    pub fn identity(&self, card: &Card) -> Result<RunIdentity> {
        let mut identity = fields(&self.meaning(), card)?;
        texts(&self.texts, &mut identity)?;
        hiding(&self.hiding, &mut identity)?;
        set(&self.set, &mut identity)?;
        Ok(identity)
    }
}

impl EvalRequest {
    /// The same; `contents` are the texts and the explanations made elsewhere, as they were read.
    pub fn identity(&self, card: &Card, contents: &[String]) -> Result<RunIdentity> {
        let mut identity = fields(&self.meaning(), card)?;
        hiding(&self.hiding, &mut identity)?;
        set(&self.set, &mut identity)?;
        identity.remove("explanations");
        Ok(read(identity, contents))
    }
}

impl AttentionTestRequest {
    /// The same; `contents` are the texts as they were read.
    pub fn identity(&self, card: &Card, contents: &[String]) -> Result<RunIdentity> {
        let mut identity = fields(&self.meaning(), card)?;
        for (name, path) in [("train", &self.train), ("dev", &self.dev)] {
            if let Some(path) = path {
                identity.insert(name.to_owned(), content(path)?);
            }
        }
        Ok(read(identity, contents))
    }
}

impl AttentionHeadsRequest {
    /// The same; `contents` are the texts and trees as they were read.
    pub fn identity(&self, card: &Card, contents: &[String]) -> Result<RunIdentity> {
        let asked = Self { resources: Resources::default(), conllu: None, ..self.clone() };
        Ok(read(fields(&asked, card)?, contents))
    }
}

impl AttentionNormsRequest {
    /// The same; `contents` are the texts as they were read.
    pub fn identity(&self, card: &Card, contents: &[String]) -> Result<RunIdentity> {
        let asked = Self { resources: Resources::default(), ..self.clone() };
        Ok(read(fields(&asked, card)?, contents))
    }
}

impl AttentionWordsRequest {
    /// The same; `contents` are the texts as they were read.
    pub fn identity(&self, card: &Card, contents: &[String]) -> Result<RunIdentity> {
        let asked = Self { resources: Resources::default(), ..self.clone() };
        Ok(read(fields(&asked, card)?, contents))
    }
}

impl AttentionDebateRequest {
    /// The same; there is no model before the run.
    pub fn identity(&self) -> Result<RunIdentity> {
        let mut identity = set_fields(&self.meaning())?;
        files(&self.named_files(), &mut identity)?;
        Ok(identity)
    }
}

impl AttentionDeceiveRequest {
    /// The same; small models start from nothing but their request.
    pub(super) fn identity(&self) -> Result<RunIdentity> {
        let mut identity = set_fields(&self.meaning())?;
        files(&self.named_files(), &mut identity)?;
        if self.kind.is_none() {
            let start = model::open(self.model.as_deref(), self.resources.threads())?;
            identity.insert("model".to_owned(), start.card().fingerprint.clone());
        }
        Ok(identity)
    }
}

impl PredictRequest {
    /// What a run that goes on must have in common with the one that it goes on with.
    pub fn identity(&self, card: &Card) -> Result<RunIdentity> {
        let mut identity = fields(
            &Self { resources: Default::default(), remote: Default::default(), ..self.clone() },
            card,
        )?;
        texts(&self.texts, &mut identity)?;
        Ok(identity)
    }
}

/// In what two runs differ, with both values where they are short; nothing where they are the same run.
pub fn differences(then: &RunIdentity, now: &RunIdentity) -> Vec<String> {
    let names: BTreeSet<&String> = then.keys().chain(now.keys()).collect();
    let differing = names.into_iter().filter(|name| then.get(*name) != now.get(*name));
    let is_short = |value: &&String| value.chars().count() <= SHOWN_CHARS;
    let told = |name: &String| match (then.get(name).filter(is_short), now.get(name).filter(is_short)) {
        (Some(then), Some(now)) => format!("{name} (then {then}, now {now})"),
        _ => name.clone(),
    };
    differing.map(told).collect()
}

/// Lower case, letters and digits only: two texts that agree in this are the same text.
pub(super) fn normal_form(example: &Example) -> String {
    let fields = example
        .fields
        .iter()
        .map(|field| field.text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect::<String>());
    fields.collect::<Vec<_>>().join("\n")
}

/// The SHA-256 of a text with its fields, label and weights, by which a finished one is recognised.
pub fn text_sha256(example: &Example) -> String {
    let mut hash = ContentHash::default();
    for field in &example.fields {
        hash.field(field.name.as_bytes());
        hash.field(field.text.as_bytes());
    }
    if let Some(label) = &example.label {
        hash.field(label.as_bytes());
    }
    if let Some(weights) = &example.weights {
        hash.field(&weights.iter().flat_map(|weight| weight.to_le_bytes()).collect::<Vec<u8>>());
    }
    hash.hex()
}

/// The fields of a request that are set, with the model's fingerprint in the place of its name.
fn fields(request: &impl Serialize, card: &Card) -> Result<RunIdentity> {
    let mut identity = set_fields(request)?;
    identity.insert("model".to_owned(), card.fingerprint.clone());
    Ok(identity)
}

fn set_fields(request: &impl Serialize) -> Result<RunIdentity> {
    let Value::Object(fields) = serde_json::to_value(request)? else { return Ok(RunIdentity::new()) };
    let set = fields.into_iter().filter(|(_, value)| !value.is_null());
    let mut identity: RunIdentity = set.map(|(name, value)| (name, shown(&value))).collect();
    identity.insert("version".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    Ok(identity)
}

fn shown(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if text.len() <= LONGEST_VALUE { text } else { sha256_hex(text.as_bytes()) }
}

/// With what was read in the place of the name of its file.
fn read(mut identity: RunIdentity, contents: &[String]) -> RunIdentity {
    let mut hash = ContentHash::default();
    contents.iter().for_each(|content| hash.field(content.as_bytes()));
    identity.insert("input".to_owned(), hash.hex());
    identity
}

fn texts(texts: &TextInput, identity: &mut RunIdentity) -> Result<()> {
    if let Some(weights) = texts.weights_file() {
        identity.insert("weights".to_owned(), content(weights)?);
    }
    if !texts.many() {
        return Ok(());
    }
    identity.remove("text");
    let file = texts.input.as_deref().filter(|path| path.is_file());
    let input = file.map_or_else(|| Ok(STREAM.to_owned()), content)?;
    identity.insert("input".to_owned(), input);
    // The same bytes are other texts in another kind of file.
    let kind = file.and_then(Path::extension).map(|kind| kind.to_string_lossy().to_lowercase());
    identity.extend(kind.map(|kind| ("kind of input".to_owned(), kind)));
    Ok(())
}

/// Files by what they hold, under the names of their options.
fn files(reads: &[Read<'_>], identity: &mut RunIdentity) -> Result<()> {
    for (name, path) in reads {
        identity.insert(name.trim_start_matches('-').to_owned(), content(path)?);
    }
    Ok(())
}

fn hiding(hiding: &HidingOptions, identity: &mut RunIdentity) -> Result<()> {
    if let Some(words) = &hiding.words {
        identity.insert("words".to_owned(), content(words)?);
    }
    Ok(())
}

/// Parameters with the contents of the files that they name.
fn set(words: &[String], identity: &mut RunIdentity) -> Result<()> {
    identity.insert("set".to_owned(), shown(&serde_json::to_value(settings(words)?)?));
    Ok(())
}

/// The SHA-256 of what a file holds.
pub(super) fn content(path: &Path) -> Result<String> {
    let cannot = || format!("{}: cannot be read", path.display());
    sha256_of(File::open(path).with_context(cannot)?).with_context(cannot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn card() -> Card {
        crate::load_default(&crate::LoadOptions::default()).unwrap().card().clone()
    }

    /// What differs between a request and a change of it.
    fn differs(request: &ExplainRequest, change: impl Fn(&mut ExplainRequest)) -> Vec<String> {
        let card = card();
        let mut other = request.clone();
        let then = request.identity(&card).unwrap();
        change(&mut other);
        let now = other.identity(&card).unwrap();
        let names = now.keys().chain(then.keys().filter(|name| !now.contains_key(*name)));
        names.filter(|name| then.get(*name) != now.get(*name)).cloned().collect()
    }

    #[test]
    fn contents_count_and_names_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["a.txt", "same.txt", "same.tsv"] {
            fs::write(at(name), "one\ntwo\n").unwrap();
        }
        fs::write(at("b.txt"), "one\nthree\n").unwrap();
        let mut request = ExplainRequest::default();
        request.texts.input = Some(at("a.txt"));
        request.hiding.words = Some(at("a.txt"));
        request.texts.weights = Some(at("a.txt"));
        request.set = vec![format!("forbid=@{}", at("a.txt").display())];
        let nothing: [&str; 0] = [];
        assert_eq!(
            differs(&request, |r| r.texts.input = Some(folder.path().join(".").join("same.txt"))),
            nothing
        );
        assert_eq!(differs(&request, |r| r.hiding.words = Some(at("same.txt"))), nothing);
        assert_eq!(differs(&request, |r| r.texts.weights = Some(at("same.txt"))), nothing);
        assert_eq!(
            differs(&request, |r| r.set = vec![format!("forbid=@{}", at("same.txt").display())]),
            nothing
        );
        assert_eq!(differs(&request, |r| r.hiding.cache = Some(at("cache"))), nothing);
        assert_eq!(differs(&request, |r| r.texts.input = Some(at("b.txt"))), ["input"]);
        assert_eq!(differs(&request, |r| r.texts.input = Some(at("same.tsv"))), ["kind of input"]);
        assert_eq!(differs(&request, |r| r.hiding.words = Some(at("b.txt"))), ["words"]);
        assert_eq!(differs(&request, |r| r.texts.weights = Some(at("b.txt"))), ["weights"]);
        assert_eq!(
            differs(&request, |r| r.set = vec![format!("forbid=@{}", at("b.txt").display())]),
            ["set"]
        );
        assert_eq!(differs(&request, |r| r.seed = 1), ["seed"]);
    }

    #[test]
    fn a_texts_hash_keeps_its_parts_apart() {
        let labelled = Example { label: Some("b".into()), ..Example::text("a") };
        let weighted = |weight| Example { weights: Some(vec![weight, 1.0]), ..Example::text("a") };
        let hashes = [
            Example::text("a"),
            Example::text("ab"),
            Example::pair("a", "b"),
            labelled,
            weighted(0.5),
            weighted(0.25),
        ];
        let hashes: std::collections::BTreeSet<String> = hashes.iter().map(text_sha256).collect();
        assert_eq!(hashes.len(), 6);
    }
}
