//! Sequences to be written again, in three orders.

use super::{AlignedRow, GeneratedRow, GeneratedSet, Grammar, half_length, length};
use crate::{Arguments, Parameter};
use exegete_core::Result;

/// The target is the source.
pub(super) const COPY: GeneratedSet = GeneratedSet {
    name: "copy",
    summary: "a sequence of made-up words; the target is the source",
    columns: &["source", "target", "alignment"],
    has_lines: false,
    parameters: &PARAMETERS,
    new: |arguments| sequence(arguments, length, 1, |at, _| at),
};

/// The target is the source from its end.
pub(super) const REVERSE: GeneratedSet = GeneratedSet {
    name: "reverse",
    summary: "the same; the target is the source from its end",
    new: |arguments| sequence(arguments, length, 1, |at, count| count - 1 - at),
    ..COPY
};

/// The target is the source with neighbours exchanged, pair by pair.
pub(super) const BIGRAM_FLIP: GeneratedSet = GeneratedSet {
    name: "bigram_flip",
    summary: "the same; in the target neighbours have changed places in pairs",
    new: |arguments| sequence(arguments, half_length, 2, |at, _| at ^ 1),
    ..COPY
};

const PARAMETERS: [Parameter; 3] = {
    let [least, most] = super::lengths(2, 1000, (2, 10));
    [least, most, Parameter::count("vocabulary", 1..=100_000, Some(100), "how many words there are")]
};

/// Sequences of a drawn number of steps; `place` is where the word at a place of the source goes, and undoes itself.
fn sequence(
    arguments: &mut Arguments,
    length: fn(&mut Arguments) -> Result<(usize, usize)>,
    step: usize,
    place: fn(usize, usize) -> usize,
) -> Result<Grammar> {
    let (length, vocabulary) = (length(arguments)?, arguments.count("vocabulary")?);
    let digits = (vocabulary - 1).to_string().len().max(2);
    Ok(Box::new(move |draws| {
        let count = step * draws.between(length);
        let words: Vec<String> =
            (0..count).map(|_| format!("w{:0digits$}", draws.below(vocabulary))).collect();
        let target: Vec<&str> = (0..count).map(|at| words[place(at, count)].as_str()).collect();
        let alignment = (0..count).map(|at| (at, place(at, count))).collect();
        GeneratedRow::Aligned(AlignedRow { source: words.join(" "), target: target.join(" "), alignment })
    }))
}
