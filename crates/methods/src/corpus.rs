//! Many texts that are read as often as a method needs them, and never held.

use crate::Request;
use exegete_core::{Driver, Error, Example, Model, Result};
use std::collections::BTreeMap;

/// A pass over the texts of a source.
pub type TextPass<'a> = Box<dyn Iterator<Item = Result<Example>> + 'a>;

/// Texts that can be read from the start as often as one likes; every pass gives the same ones.
pub trait TextSource: Sync {
    /// A new pass, from the first text on.
    fn pass(&self) -> Result<TextPass<'_>>;
}

impl<T: AsRef<[Example]> + Sync> TextSource for T {
    fn pass(&self) -> Result<TextPass<'_>> {
        Ok(Box::new(self.as_ref().iter().cloned().map(Ok)))
    }
}

/// Many texts and what is asked of them.
#[derive(Clone, Copy)]
pub struct Corpus<'a> {
    /// The model that is asked.
    pub model: &'a dyn Model,
    /// Runs and counts, tells how far the work is, and stops when told to.
    pub driver: &'a Driver,
    /// The texts, with labels where they are known.
    pub examples: &'a dyn TextSource,
    /// Texts that nothing is learned from; none where the user gave no file of them.
    pub held_out: Option<&'a dyn TextSource>,
    /// What is asked: units, targets, the masker, the seed.
    pub request: &'a Request,
}

impl<'a> Corpus<'a> {
    /// A pass over a source with the number of each text, from 0; it ends with an error where the work should stop.
    pub fn pass(
        &self,
        source: &'a dyn TextSource,
    ) -> Result<impl Iterator<Item = Result<(usize, Example)>> + 'a> {
        let driver = self.driver;
        Ok(source.pass()?.enumerate().map(move |(index, example)| {
            driver.at_text(index)?;
            Ok((index, example?))
        }))
    }

    /// Some texts of a source by their numbers, in the order asked for: one pass, up to the last of them.
    pub fn fetch(&self, source: &'a dyn TextSource, indices: &[usize]) -> Result<Vec<Example>> {
        let mut found: BTreeMap<usize, Option<Example>> =
            indices.iter().map(|&index| (index, None)).collect();
        let passed = found.last_key_value().map_or(0, |(&last, _)| last + 1);
        for text in self.pass(source)?.take(passed) {
            let (index, example) = text?;
            found.entry(index).and_modify(|place| *place = Some(example));
        }
        let get = |index: &usize| found.get(index).cloned().flatten();
        let gone = |index: usize| {
            Error::Input(format!(
                "row {} is not there any more; do not change the texts during a run",
                index + 1
            ))
        };
        indices.iter().map(|index| get(index).ok_or_else(|| gone(*index))).collect()
    }
}
