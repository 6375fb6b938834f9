//! The files that each command reads, which it must not write.

use super::again::AgainRequest;
use super::attention::CorpusOptions;
use super::attention::debate::AttentionDebateRequest;
use super::attention::deceive::AttentionDeceiveRequest;
use super::attention::heads::AttentionHeadsRequest;
use super::attention::norms::AttentionNormsRequest;
use super::attention::test::AttentionTestRequest;
use super::attention::words::AttentionWordsRequest;
use super::eval::EvalRequest;
use super::explain::ExplainRequest;
use super::model::{ExportRequest, folder};
use super::predict::PredictRequest;
use super::show::ShowRequest;
use super::train::TrainRequest;
use super::{HidingOptions, TextInput};
use crate::partial::{FilePlace, place};
use anyhow::{Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// A file that a command reads, or a folder whose files it reads, with what the user calls it.
pub type Read<'a> = (&'static str, &'a Path);

impl PredictRequest {
    /// Its files by option.
    pub fn reads(&self) -> Vec<Read<'_>> {
        [texts(&self.texts), model(self.model.as_deref())].concat()
    }
}

impl ExplainRequest {
    /// Its files by option.
    pub fn reads(&self) -> Vec<Read<'_>> {
        [
            texts(&self.texts),
            named("--held-out", self.held_out.as_deref()),
            model(self.model.as_deref()),
            hiding(&self.hiding),
            settings(&self.set),
        ]
        .concat()
    }
}

impl AgainRequest {
    /// The files that the command reads, none of which it may write.
    pub fn reads(&self) -> Vec<Read<'_>> {
        named("--again", self.again.as_deref())
    }
}

impl EvalRequest {
    /// Its files by option.
    pub fn reads(&self) -> Vec<Read<'_>> {
        let given = self.explanations.iter().filter_map(|word| word.split_once('='));
        let given: Vec<Read<'_>> = given.map(|(_, path)| ("--explanations", Path::new(path))).collect();
        [
            named("--input", self.input.as_deref()),
            model(self.model.as_deref()),
            hiding(&self.hiding),
            settings(&self.set),
            given,
        ]
        .concat()
    }
}

impl AttentionTestRequest {
    /// Its files by option.
    pub fn reads(&self) -> Vec<Read<'_>> {
        let trained = [named("--train", self.train.as_deref()), named("--dev", self.dev.as_deref())].concat();
        [named("--input", self.input.as_deref()), trained, model(self.model.as_deref())].concat()
    }
}

impl AttentionDeceiveRequest {
    /// Its files by option.
    pub fn reads(&self) -> Vec<Read<'_>> {
        let words = self.impermissible.as_deref().map(Path::new).filter(|path| path.is_file());
        [
            named("--train", self.train.as_deref()),
            named("--dev", self.dev.as_deref()),
            named("--impermissible", words),
            named("--join", self.join.as_deref()),
            named("--vectors", self.vectors.as_deref()),
            model(self.model.as_deref()),
        ]
        .concat()
    }
}

impl AttentionDebateRequest {
    /// Its files by option.
    pub fn reads(&self) -> Vec<Read<'_>> {
        [
            named("--train", self.train.as_deref()),
            named("--dev", self.dev.as_deref()),
            named("--vectors", self.vectors.as_deref()),
        ]
        .concat()
    }
}

impl AttentionHeadsRequest {
    /// Its files by option.
    pub fn reads(&self) -> Vec<Read<'_>> {
        [corpus(&self.corpus), named("--conllu", self.conllu.as_deref())].concat()
    }
}

impl AttentionNormsRequest {
    /// Its files by option.
    pub fn reads(&self) -> Vec<Read<'_>> {
        corpus(&self.corpus)
    }
}

impl AttentionWordsRequest {
    /// Its files by option.
    pub fn reads(&self) -> Vec<Read<'_>> {
        corpus(&self.corpus)
    }
}

fn corpus(corpus: &CorpusOptions) -> Vec<Read<'_>> {
    [named("--input", corpus.input.as_deref()), model(corpus.model.as_deref())].concat()
}

impl ShowRequest {
    /// The files that the command reads, none of which it may write.
    pub fn reads(&self) -> Vec<Read<'_>> {
        named("show", self.report.as_deref())
    }
}

impl TrainRequest {
    /// Its files by option.
    pub fn reads(&self) -> Vec<Read<'_>> {
        let train = self.train.iter().map(|path| ("--train", path.as_path()));
        let exclude = self.exclude.iter().map(|path| ("--exclude", path.as_path()));
        let weights = named("--weights", self.small.weights.as_deref());
        let rest = [named("--dev", self.dev.as_deref()), weights, model(self.model.as_deref())].concat();
        train.chain(exclude).chain(rest).collect()
    }
}

impl ExportRequest {
    /// The files that the command reads, none of which it may write.
    pub fn reads(&self) -> Vec<Read<'_>> {
        model(self.model.as_deref())
    }
}

fn named<'a>(name: &'static str, path: Option<&'a Path>) -> Vec<Read<'a>> {
    path.map(|path| (name, path)).into_iter().collect()
}

/// The model's folder; the default model and a black box have none.
fn model(model: Option<&Path>) -> Vec<Read<'_>> {
    named("the model", folder(model, "").ok().flatten())
}

fn hiding(hiding: &HidingOptions) -> Vec<Read<'_>> {
    [named("--words", hiding.words.as_deref()), named("--cache", hiding.cache.as_deref())].concat()
}

/// The files of `key=@FILE`.
fn settings(words: &[String]) -> Vec<Read<'_>> {
    let files = words.iter().filter_map(|word| word.split_once("=@"));
    files.map(|(_, path)| ("--set", Path::new(path))).collect()
}

fn texts(texts: &TextInput) -> Vec<Read<'_>> {
    [named("--input", texts.input.as_deref()), named("--weights", texts.weights_file())].concat()
}

/// Fails where a file to write is one that is read: the same file, whatever it is called.
pub fn refuse_reads(writes: &[PathBuf], reads: &[Read<'_>]) -> Result<()> {
    let writes: Vec<_> = writes.iter().filter_map(|path| Some((path, identity(path)?))).collect();
    for &(name, path) in reads {
        for file in files(path) {
            let Some(read) = identity(&file) else { continue };
            if let Some((target, _)) = writes.iter().find(|(_, written)| *written == read) {
                bail!(
                    "{}: is read by {name} and would be overwritten; write somewhere else",
                    target.display()
                );
            }
        }
    }
    Ok(())
}

/// A file itself, or what is directly in a folder.
fn files(path: &Path) -> Vec<PathBuf> {
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(_) => vec![path.to_owned()],
    }
}

/// What two names of one file have in common.
#[derive(Debug, PartialEq, Eq)]
enum Identity {
    /// Device and number of a file on it.
    #[cfg(unix)]
    There(u64, u64),
    /// A path without links.
    Path(PathBuf),
}

/// The identity of a regular file, there already or not; nothing else can be lost.
fn identity(path: &Path) -> Option<Identity> {
    match fs::metadata(path) {
        Ok(there) if !there.is_file() => None,
        #[cfg(unix)]
        Ok(there) => {
            use std::os::unix::fs::MetadataExt;
            Some(Identity::There(there.dev(), there.ino()))
        }
        #[cfg(not(unix))]
        Ok(_) => Some(Identity::Path(path.canonicalize().ok()?)),
        Err(_) => {
            let Ok(FilePlace::File { path, .. }) = place(path) else { return None };
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
            Some(Identity::Path(folder.join(path.file_name()?)))
        }
    }
}
