//! Texts whose label and whose right explanation follow from a rule, so that explanations can be held against the truth.
//!
//! 1. [`SETS`] lists the sets; [`find_set`] finds one by name.
//! 2. A [`Generator`] is a set with its settings and a seed.
//! 3. [`Generator::row`] makes any row, which depends on nothing but these and its number: a longer file begins with the
//!    shorter one.

mod brackets;
mod copying;
mod draw;
mod fillers;
mod opinions;
mod prompts;
mod row;
mod stories;
pub mod words;

pub use draw::RowDraws;
pub use row::{AlignedRow, GeneratedRow, LabelledRow};

use crate::{Arguments, Parameter, Settings, nearest};
use exegete_core::{Error, Result};
use std::fmt;

/// The rule of a set: from the random numbers of a row to the row.
pub type Grammar = Box<dyn Fn(&mut RowDraws) -> GeneratedRow + Send + Sync>;

/// What is said about a set.
#[derive(Debug)]
pub struct GeneratedSet {
    /// Its name, in snake case.
    pub name: &'static str,
    /// What a text looks like and what decides its label, in one line.
    pub summary: &'static str,
    /// The columns of a file of it.
    pub columns: &'static [&'static str],
    /// Whether its rows are also lines for language models.
    pub has_lines: bool,
    /// What it can be told.
    pub parameters: &'static [Parameter],
    /// Makes its rule from what it is told.
    pub new: fn(&mut Arguments) -> Result<Grammar>,
}

/// Every set there is.
pub const SETS: [&GeneratedSet; 16] = [
    &fillers::KEYWORD,
    &fillers::NEGATION,
    &fillers::CONFLICT,
    &fillers::FIRST_LAST,
    &fillers::PRONOUN,
    &opinions::ASPECT,
    &stories::BABI1,
    &stories::BABI2,
    &stories::BABI3,
    &copying::COPY,
    &copying::REVERSE,
    &copying::BIGRAM_FLIP,
    &brackets::BRACKETS,
    &prompts::NAME_COPY,
    &prompts::KEY_VALUE,
    &prompts::AGREEMENT,
];

/// The columns of a text.
const TEXT: &[&str] = &["text", "label", "truth"];
/// The columns of a pair of texts.
const PAIR: &[&str] = &["text", "pair", "label", "truth"];

/// The set of this name.
pub fn find_set(name: &str) -> Result<&'static GeneratedSet> {
    SETS.into_iter().find(|set| set.name == name).ok_or_else(|| {
        let near = nearest(name, SETS.iter().map(|set| set.name));
        let meant = near.map(|near| format!("did you mean {near}? ")).unwrap_or_default();
        Error::Request(format!("'{name}' is no set of data; {meant}`exegete data make` lists them"))
    })
}

/// A set with its settings and a seed.
pub struct Generator {
    /// What is said about the set.
    pub set: &'static GeneratedSet,
    seed: u64,
    grammar: Grammar,
}

impl Generator {
    /// A set under settings, every one of which it must know.
    pub fn new(set: &'static GeneratedSet, settings: Settings, seed: u64) -> Result<Self> {
        let mut arguments = Arguments::of(set.name, set.parameters.iter().collect(), settings)?;
        let grammar = (set.new)(&mut arguments)?;
        arguments.finish()?;
        Ok(Self { set, seed, grammar })
    }

    /// A row by its number, from 0.
    pub fn row(&self, number: u64) -> GeneratedRow {
        (self.grammar)(&mut RowDraws::new(self.seed, number))
    }
}

impl fmt::Debug for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Generator").field("set", &self.set.name).field("seed", &self.seed).finish()
    }
}

/// The parameters `min` and `max` of a set whose texts have a length.
const fn lengths(least: usize, most: usize, default: (usize, usize)) -> [Parameter; 2] {
    [
        Parameter::count("min", least..=most, Some(default.0), "the shortest text"),
        Parameter::count("max", least..=most, Some(default.1), "the longest text"),
    ]
}

/// The values of `min` and `max`.
fn length(arguments: &mut Arguments) -> Result<(usize, usize)> {
    let (least, most) = (arguments.count("min")?, arguments.count("max")?);
    if least > most {
        return Err(Error::Request(format!("min={least} is above max={most}; set both")));
    }
    Ok((least, most))
}

/// The same in halves, for texts whose length is even.
fn half_length(arguments: &mut Arguments) -> Result<(usize, usize)> {
    let (least, most) = length(arguments)?;
    let half = (least.div_ceil(2), most / 2);
    if half.0 > half.1 {
        return Err(Error::Request(format!("min={least}, max={most}: there is no even length between")));
    }
    Ok(half)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(name: &str, words: &[&str]) -> Result<Generator> {
        Generator::new(find_set(name)?, Settings::parse(words)?, 3)
    }

    #[test]
    fn rows_have_the_columns_and_lines_of_their_set() {
        for set in SETS {
            let generator = made(set.name, &[]).unwrap();
            for row in (0..50).map(|number| generator.row(number)) {
                let names: Vec<&str> = row.cells().into_iter().map(|(name, _)| name).collect();
                assert_eq!((&names[..], row.line().is_some()), (set.columns, set.has_lines), "{}", set.name);
            }
            assert!(set.summary.len() < 100 && !set.summary.contains('\n'), "{}", set.summary);
        }
    }

    #[test]
    fn errors_are_one_line_that_says_what_is_taken() {
        for (name, words, expected) in [
            (
                "keywrod",
                &[][..],
                "'keywrod' is no set of data; did you mean keyword? `exegete data make` lists them",
            ),
            ("keyword", &["min=0"], "min=0: must be a whole number from 1 to 1,000"),
            ("keyword", &["min=31"], "min=31 is above max=30; set both"),
            ("keyword", &["mni=3"], "keyword knows no 'mni' (mni=3); it knows max, min"),
            ("aspect", &["min=3"], "aspect knows no 'min' (min=3); it knows nothing"),
            ("brackets", &["kinds=4"], "kinds=4: must be a whole number from 1 to 3"),
            ("brackets", &["min=5", "max=5"], "min=5, max=5: there is no even length between"),
            ("copy", &["vocabulary=0"], "vocabulary=0: must be a whole number from 1 to 100,000"),
            ("key_value", &["max=17"], "max=17: must be a whole number from 2 to 16"),
        ] {
            assert_eq!(made(name, words).unwrap_err().to_string(), expected);
        }
    }

    /// The smallest and the largest values that are legal give rows as well.
    #[test]
    fn extreme_settings_give_rows() {
        use crate::Takes;
        for set in SETS {
            for pick in [0, 1] {
                let word = |parameter: &Parameter| match parameter.takes {
                    Takes::Count { least, most, .. } => format!("{}={}", parameter.name, [least, most][pick]),
                    _ => panic!("{}: no other kind is used", parameter.name),
                };
                let words: Vec<String> = set.parameters.iter().map(word).collect();
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                match made(set.name, &words) {
                    Ok(generator) => (0..20).for_each(|number| drop(generator.row(number))),
                    Err(error) => panic!("{}: {error}", set.name),
                }
            }
        }
    }
}
