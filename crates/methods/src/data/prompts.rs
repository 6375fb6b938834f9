//! Texts that a language model goes on with in one right way.

use super::words::{NAMES, NOUNS, PREPOSITIONS};
use super::{GeneratedRow, GeneratedSet, Grammar, LabelledRow, RowDraws, TEXT, length, lengths};
use crate::{Arguments, Parameter};
use exegete_core::Result;

/// A name that was said is said again.
pub(super) const NAME_COPY: GeneratedSet = GeneratedSet {
    name: "name_copy",
    summary: "a name and a friend's; what comes after 'so they call me' is the name",
    columns: TEXT,
    has_lines: true,
    parameters: &[],
    new: |_| Ok(Box::new(name_copy)),
};

/// The value of a key that was listed.
pub(super) const KEY_VALUE: GeneratedSet = GeneratedSet {
    name: "key_value",
    summary: "a list of keys with values, then keys that are asked for; the last one's value comes next",
    parameters: &KEY_VALUE_PARAMETERS,
    new: key_value,
    ..NAME_COPY
};

/// The number of a verb.
pub(super) const AGREEMENT: GeneratedSet = GeneratedSet {
    name: "agreement",
    summary: "nouns of either number, the first of which decides between 'is' and 'are'",
    parameters: &[Parameter::count("attractors", 0..=100, Some(2), "how many nouns may follow the first")],
    new: agreement,
    ..NAME_COPY
};

const KEY_VALUE_PARAMETERS: [Parameter; 3] = {
    let [least, most] = lengths(2, CODES, (2, 6));
    [least, most, Parameter::count("queries", 1..=1000, Some(12), "how many keys are asked for")]
};

/// How many keys there are, and how many values.
const CODES: usize = 16;

fn name_copy(draws: &mut RowDraws) -> GeneratedRow {
    let name = draws.below(NAMES.len());
    let other = (name + 1 + draws.below(NAMES.len() - 1)) % NAMES.len();
    let phrases = [["my", "name", "is", NAMES[name]], ["a", "friend", "named", NAMES[other]]];
    let first = draws.below(2);
    let (mut words, mut at) = (some_fillers(draws), 0);
    for phrase in [first, 1 - first] {
        if phrase == 0 {
            at = words.len() + 3;
        }
        words.extend(phrases[phrase]);
        words.extend(some_fillers(draws));
    }
    words.extend(["so", "they", "call", "me"]);
    GeneratedRow::Labelled(LabelledRow::of_words(&words, NAMES[name], &[at]).with_line())
}

fn some_fillers(draws: &mut RowDraws) -> Vec<&'static str> {
    let count = draws.between((2, 5));
    draws.fillers(count)
}

fn key_value(arguments: &mut Arguments) -> Result<Grammar> {
    let (length, queries) = (length(arguments)?, arguments.count("queries")?);
    Ok(Box::new(move |draws| {
        let pairs = pairs(draws, length);
        let last = draws.below(pairs.len());
        let others: Vec<&[String; 2]> =
            (0..pairs.len()).filter(|&at| at != last).map(|at| &pairs[at]).collect();
        let mut words: Vec<&str> = pairs.iter().flatten().map(String::as_str).collect();
        words.push("?");
        for _ in 1..queries {
            words.extend(draws.pick(&others).iter().map(String::as_str));
        }
        let [key, value] = &pairs[last];
        words.push(key);
        GeneratedRow::Labelled(LabelledRow::of_words(&words, value, &[2 * last, 2 * last + 1]).with_line())
    }))
}

/// Keys that differ, each with a value.
fn pairs(draws: &mut RowDraws, length: (usize, usize)) -> Vec<[String; 2]> {
    let mut keys: Vec<usize> = (0..CODES).collect();
    let count = draws.between(length);
    let pair = |_| {
        let key = keys.swap_remove(draws.below(keys.len()));
        [format!("k{key:02}"), format!("v{:02}", draws.below(CODES))]
    };
    (0..count).map(pair).collect()
}

fn agreement(arguments: &mut Arguments) -> Result<Grammar> {
    let attractors = arguments.count("attractors")?;
    Ok(Box::new(move |draws| {
        let count = draws.between((0, attractors));
        let first = noun(draws, draws.side);
        let others: Vec<(&str, String)> = (0..count).map(|_| attractor(draws)).collect();
        let mut words = vec!["the", &first];
        others.iter().for_each(|(preposition, noun)| words.extend([preposition, "the", noun]));
        let label = if draws.side { "are" } else { "is" };
        GeneratedRow::Labelled(LabelledRow::of_words(&words, label, &[1]).with_line())
    }))
}

fn attractor(draws: &mut RowDraws) -> (&'static str, String) {
    let (preposition, plural) = (draws.pick(&PREPOSITIONS), draws.coin());
    (preposition, noun(draws, plural))
}

fn noun(draws: &mut RowDraws, plural: bool) -> String {
    format!("{}{}", draws.pick(&NOUNS), if plural { "s" } else { "" })
}
