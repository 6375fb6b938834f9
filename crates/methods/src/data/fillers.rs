//! Neutral words with a few among them that decide.

use super::words::{ANIMALS, COLOURS, FEMALE, MALE, NEGATIVE, POSITIVE};
use super::{GeneratedRow, GeneratedSet, Grammar, LabelledRow, RowDraws, TEXT, length, lengths};
use crate::{Arguments, Parameter};
use exegete_core::Result;

/// One word of praise or blame decides.
pub(super) const KEYWORD: GeneratedSet = GeneratedSet {
    name: "keyword",
    summary: "neutral words and one that praises or blames; it decides",
    columns: TEXT,
    has_lines: false,
    parameters: &KEYWORD_LENGTHS,
    new: |arguments| filled(arguments, keyword),
};

/// The same word, turned by `not` directly before it.
pub(super) const NEGATION: GeneratedSet = GeneratedSet {
    name: "negation",
    summary: "one word that praises or blames, turned by 'not' if that stands directly before it",
    parameters: &NEGATION_LENGTHS,
    new: |arguments| filled(arguments, negation),
    ..KEYWORD
};

/// Two such words, of which the second decides.
pub(super) const CONFLICT: GeneratedSet = GeneratedSet {
    name: "conflict",
    summary: "two words that praise or blame, on either side of 'but'; the second decides",
    parameters: &CONFLICT_LENGTHS,
    new: |arguments| filled(arguments, conflict),
    ..KEYWORD
};

/// Two words at a distance decide together.
pub(super) const FIRST_LAST: GeneratedSet = GeneratedSet {
    name: "first_last",
    summary: "whether the first and the last word are both colours, or both animals",
    parameters: &FIRST_LAST_LENGTHS,
    new: |arguments| filled(arguments, first_last),
    ..KEYWORD
};

/// Neutral words and one pronoun that decides the label.
pub(super) const PRONOUN: GeneratedSet = GeneratedSet {
    name: "pronoun",
    summary: "neutral words and one pronoun, which decides",
    parameters: &PRONOUN_LENGTHS,
    new: |arguments| filled(arguments, pronoun),
    ..KEYWORD
};

const KEYWORD_LENGTHS: [Parameter; 2] = lengths(1, 1000, (10, 30));
const NEGATION_LENGTHS: [Parameter; 2] = lengths(3, 1000, (10, 30));
const CONFLICT_LENGTHS: [Parameter; 2] = lengths(3, 1000, (10, 30));
const FIRST_LAST_LENGTHS: [Parameter; 2] = lengths(4, 1000, (10, 30));
const PRONOUN_LENGTHS: [Parameter; 2] = lengths(1, 1000, (6, 20));

/// Puts deciding words among neutral ones; what it returns is the label and which words decide.
type Rule = fn(&mut RowDraws, &mut [&'static str]) -> (&'static str, Vec<usize>);

fn filled(arguments: &mut Arguments, rule: Rule) -> Result<Grammar> {
    let length = length(arguments)?;
    Ok(Box::new(move |draws| {
        let count = draws.between(length);
        let mut words = draws.fillers(count);
        let (label, deciding) = rule(draws, &mut words);
        GeneratedRow::Labelled(LabelledRow::of_words(&words, label, &deciding))
    }))
}

/// The label of a sign.
pub(super) fn sign(positive: bool) -> &'static str {
    if positive { "positive" } else { "negative" }
}

/// A word of a sign.
pub(super) fn opinion(draws: &mut RowDraws, positive: bool) -> &'static str {
    draws.pick(if positive { &POSITIVE } else { &NEGATIVE })
}

fn keyword(draws: &mut RowDraws, words: &mut [&'static str]) -> (&'static str, Vec<usize>) {
    let at = draws.below(words.len());
    words[at] = opinion(draws, draws.side);
    (sign(draws.side), vec![at])
}

fn negation(draws: &mut RowDraws, words: &mut [&'static str]) -> (&'static str, Vec<usize>) {
    // Two quarters are turned, one has its `not` elsewhere, one has none.
    let turned = draws.quarter < 2;
    let at = if turned { 1 + draws.below(words.len() - 1) } else { draws.below(words.len()) };
    words[at] = opinion(draws, draws.side != turned);
    if turned {
        words[at - 1] = "not";
        return (sign(draws.side), vec![at - 1, at]);
    }
    if draws.quarter == 2 {
        let elsewhere: Vec<usize> = (0..words.len()).filter(|&i| i != at && i + 1 != at).collect();
        words[draws.pick(&elsewhere)] = "not";
    }
    (sign(draws.side), vec![at])
}

fn conflict(draws: &mut RowDraws, words: &mut [&'static str]) -> (&'static str, Vec<usize>) {
    let but = draws.between((1, words.len() - 2));
    let (first, second) = (draws.below(but), draws.between((but + 1, words.len() - 1)));
    // Were they always opposite, the first word would say as much as the second.
    let other = draws.coin();
    words[but] = "but";
    words[first] = opinion(draws, other);
    words[second] = opinion(draws, draws.side);
    (sign(draws.side), vec![second])
}

fn first_last(draws: &mut RowDraws, words: &mut [&'static str]) -> (&'static str, Vec<usize>) {
    let last = words.len() - 1;
    let one = draws.between((1, last - 1));
    let other = 1 + (one + draws.below(last - 2)) % (last - 1);
    let colour = draws.coin();
    let of = |draws: &mut RowDraws, colour: bool| draws.pick(if colour { &COLOURS } else { &ANIMALS });
    words[0] = of(draws, colour);
    words[last] = of(draws, colour == draws.side);
    for between in [one, other] {
        let colour = draws.coin();
        words[between] = of(draws, colour);
    }
    (if draws.side { "same" } else { "different" }, vec![0, last])
}

fn pronoun(draws: &mut RowDraws, words: &mut [&'static str]) -> (&'static str, Vec<usize>) {
    let at = draws.below(words.len());
    words[at] = draws.pick(if draws.side { &MALE } else { &FEMALE });
    (if draws.side { "M" } else { "F" }, vec![at])
}
