//! The files that each command reads, which it must not write.

use super::{Eval, Explain, Export, Hiding, Predict, Show, Train};
use crate::model::folder;
use crate::output::Read;
use std::path::Path;

impl Predict {
    /// Its files by option.
    pub(crate) fn reads(&self) -> Vec<Read<'_>> {
        [named("--input", self.texts.input.as_deref()), model(self.model.as_deref())].concat()
    }
}

impl Explain {
    /// Its files by option.
    pub(crate) fn reads(&self) -> Vec<Read<'_>> {
        [
            named("--input", self.texts.input.as_deref()),
            named("--held-out", self.held_out.as_deref()),
            model(self.model.as_deref()),
            hiding(&self.hiding),
            settings(&self.set),
        ]
        .concat()
    }
}

impl Eval {
    /// Its files by option.
    pub(crate) fn reads(&self) -> Vec<Read<'_>> {
        let given = self.explanations.iter().filter_map(|word| word.split_once('='));
        let given: Vec<Read<'_>> = given.map(|(_, path)| ("--explanations", Path::new(path))).collect();
        [
            named("--input", Some(&self.input)),
            model(self.model.as_deref()),
            hiding(&self.hiding),
            settings(&self.set),
            given,
        ]
        .concat()
    }
}

impl Show {
    /// The report.
    pub(crate) fn reads(&self) -> Vec<Read<'_>> {
        named("show", Some(&self.report))
    }
}

impl Train {
    /// Its files by option.
    pub(crate) fn reads(&self) -> Vec<Read<'_>> {
        let train = self.train.iter().map(|path| ("--train", path.as_path()));
        let exclude = self.exclude.iter().map(|path| ("--exclude", path.as_path()));
        let rest = [named("--dev", self.dev.as_deref()), model(self.model.as_deref())].concat();
        train.chain(exclude).chain(rest).collect()
    }
}

impl Export {
    /// The model.
    pub(crate) fn reads(&self) -> Vec<Read<'_>> {
        model(self.dir.as_deref())
    }
}

fn named<'a>(name: &'static str, path: Option<&'a Path>) -> Vec<Read<'a>> {
    path.map(|path| (name, path)).into_iter().collect()
}

/// The model's folder; the default model and a black box have none.
fn model(model: Option<&Path>) -> Vec<Read<'_>> {
    named("the model", folder(model, "").ok().flatten())
}

fn hiding(hiding: &Hiding) -> Vec<Read<'_>> {
    [named("--words", hiding.words.as_deref()), named("--cache", hiding.cache.as_deref())].concat()
}

/// The files of `key=@FILE`.
fn settings(words: &[String]) -> Vec<Read<'_>> {
    let files = words.iter().filter_map(|word| word.split_once("=@"));
    files.map(|(_, path)| ("--set", Path::new(path))).collect()
}
