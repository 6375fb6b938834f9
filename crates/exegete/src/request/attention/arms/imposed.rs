//! The weights that guides are trained and measured under: a list of numbers for every row.

use super::base::{Base, Weighing};
use crate::methods::debate::Place;
use crate::{Driver, Encoded, Example, Model, Span, partial};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Weights of every training row and then of every dev row, in a file and here.
pub(super) struct ImposedWeights {
    pub(super) path: PathBuf,
    lists: Vec<Vec<f64>>,
    train: usize,
}

impl ImposedWeights {
    /// Writes the weights of every row: the file that training reads.
    pub(super) fn write(work: &Path, name: &str, lists: Vec<Vec<f64>>, train: usize) -> Result<Self> {
        let path = work.join(format!("weights-{name}.jsonl"));
        let lines = lists.iter().map(|list| Ok(serde_json::to_string(list)? + "\n"));
        let text = lines.collect::<Result<String>>()?;
        partial::write(&path, text.as_bytes())
            .with_context(|| format!("{}: cannot be written", path.display()))?;
        Ok(Self { path, lists, train })
    }

    /// A dev row under its weights.
    pub(super) fn give(&self, dev: usize, example: &Example) -> Example {
        let weights = self.lists[self.train + dev].iter().map(|&weight| weight as f32).collect();
        Example { weights: Some(weights), ..example.clone() }
    }
}

impl Base {
    /// Every row, those to learn from first.
    fn examples(&self) -> impl Iterator<Item = &Example> {
        self.texts.train.iter().chain(&self.texts.dev).map(|(example, _)| example)
    }

    /// The same weight for each word of a row.
    pub(super) fn equal(&self) -> Vec<Vec<f64>> {
        let equal = |example: &Example| {
            let count = words(example).len();
            vec![1.0 / count as f64; count]
        };
        self.examples().map(equal).collect()
    }

    /// The weights that a model gives to the words of each row.
    pub(super) fn weights_of(
        &self,
        model: &dyn Model,
        driver: &Driver,
        place: &Place,
    ) -> Result<Vec<Vec<f64>>> {
        let examples: Vec<Example> = self.examples().cloned().collect();
        let found = super::base::answers(model, driver, place, &examples, Weighing::Own)?;
        let list = |(example, alpha): (&Example, Vec<f64>)| {
            let encoded = model.encoded(example)?;
            let spans = place.parts(&encoded).tokens;
            let spans = spans.iter().map(|tokens| span(&encoded, tokens)).zip(alpha);
            let weighed: Vec<(Span, f64)> = spans.filter_map(|(span, alpha)| Some((span?, alpha))).collect();
            Ok(aligned(&weighed, &words(example)))
        };
        examples.iter().zip(found.alpha).map(list).collect()
    }
}

/// The words of the first field, as small models cut them.
fn words(example: &Example) -> Vec<Span> {
    let words = Encoded::of_words(example).tokens.into_iter().filter(|token| token.type_id == 0);
    words.filter_map(|token| token.span).collect()
}

/// The bytes from the first token of a word to the last.
fn span(encoded: &Encoded, tokens: &[usize]) -> Option<Span> {
    tokens.iter().filter_map(|&t| encoded.tokens[t].span).reduce(|a, b| Span { end: b.end.max(a.end), ..a })
}

/// Weights of some words as weights of words that are cut in another way: each goes where its bytes go, and they sum to 1
/// again. Equal ones where no byte is in common.
fn aligned(weighed: &[(Span, f64)], words: &[Span]) -> Vec<f64> {
    let shared = |a: &Span, b: &Span| {
        let (start, end) = (a.start.max(b.start), a.end.min(b.end));
        if a.field == b.field { end.saturating_sub(start) } else { 0 }
    };
    let mut lists = vec![0.0; words.len()];
    for (span, weight) in weighed {
        let all: usize = words.iter().map(|word| shared(span, word)).sum();
        for (own, word) in lists.iter_mut().zip(words) {
            *own += weight * shared(span, word) as f64 / all.max(1) as f64;
        }
    }
    let sum: f64 = lists.iter().sum();
    let even = 1.0 / words.len().max(1) as f64;
    lists.into_iter().map(|weight| if sum > 0.0 { weight / sum } else { even }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_testkit::{Of, close};

    fn at(start: usize, end: usize) -> Span {
        Span { field: 0, start, end }
    }

    #[test]
    fn weights_go_where_their_bytes_go() {
        let words = [at(0, 4), at(5, 7), at(7, 8)];
        let same: Vec<(Span, f64)> = words.into_iter().zip([0.5, 0.3, 0.2]).collect();
        close("the same words", &aligned(&same, &words), &[0.5, 0.3, 0.2], Of::Size(1.0), 1e-12);
        // One word that is two here gives each its share of bytes, and what was cut off has nothing.
        let cut = [(at(5, 8), 0.6)];
        close("cut otherwise", &aligned(&cut, &words), &[0.0, 2.0 / 3.0, 1.0 / 3.0], Of::Size(1.0), 1e-12);
        close("nothing in common", &aligned(&[], &words), &[1.0 / 3.0; 3], Of::Size(1.0), 1e-12);
    }
}
