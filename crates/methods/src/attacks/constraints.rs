use super::ReplacementWords;
use super::stop_words::is_stop_word;
use crate::Arguments;
use crate::parameter::{Parameter, name_of, names};
use exegete_core::{Encoded, Result, Unit, dot};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Which words may be replaced, and by which.
#[derive(Debug, Clone, Default)]
pub struct Constraints {
    /// Words that are never replaced.
    pub keep: BTreeSet<String>,
    /// Words that are never put in.
    pub forbid: BTreeSet<String>,
    /// Groups of words, such as one for each part of speech: a word may only become another one of its groups. A word in
    /// none of them stays. No groups, no such rule.
    pub same: Vec<BTreeSet<String>>,
    /// Only so many of a word's nearest by the cosine of their vectors.
    pub neighbours: Option<usize>,
    /// Whether English stop words may be replaced.
    pub stop_words: bool,
}

/// Whether English stop words may be replaced.
const STOP_WORDS: [(&str, bool); 2] = [("keep", false), ("free", true)];

/// The words that are never put in.
pub(super) const FORBID: Parameter =
    Parameter::text("forbid", "awful,great", Some(""), "words that are never put in");

/// The parameters that [`Constraints::new`] reads.
pub(super) const PARAMETERS: [Parameter; 5] = [
    Parameter::text("keep", "film,actor", Some(""), "words that are never replaced"),
    FORBID,
    Parameter::text(
        "same",
        "good bad; film movie",
        Some(""),
        "groups of words, apart by `;` or lines: a word becomes another of its group, and one in none stays",
    ),
    Parameter::count(
        "neighbours",
        1..=1_000_000,
        None,
        "only so many nearest words by the cosine of their vectors; any word without it",
    ),
    Parameter::choice(
        "stop_words",
        &names(&STOP_WORDS),
        "whether English function words may be replaced; words of negation and degree always may",
    ),
];

impl Constraints {
    /// Takes `keep`, `forbid`, `same`, `neighbours` and `stop_words`.
    pub fn new(arguments: &mut Arguments) -> Result<Self> {
        let mut words = |key: &str| -> Result<String> { Ok(arguments.text(key)?.unwrap_or_default()) };
        let (keep, forbid, same) = (words("keep")?, words("forbid")?, words("same")?);
        Ok(Self {
            keep: listed(&keep),
            forbid: listed(&forbid),
            same: same.split(['\n', ';']).map(listed).filter(|group| !group.is_empty()).collect(),
            neighbours: arguments.optional_count("neighbours")?,
            stop_words: arguments.choice("stop_words", &STOP_WORDS)?,
        })
    }

    /// Only words that are never put in.
    pub(super) fn forbidding(words: &str) -> Self {
        Self { forbid: listed(words), ..Self::default() }
    }

    /// As they are used, for a report. Long lists are counted.
    pub fn params(&self) -> BTreeMap<String, Value> {
        let mut params = BTreeMap::new();
        let mut say = |key: &str, value: Value| drop(params.insert(key.to_owned(), value));
        for (key, words) in [("keep", &self.keep), ("forbid", &self.forbid)] {
            match words.len() {
                0 => {}
                1..=20 => say(key, words.iter().cloned().collect::<Vec<_>>().into()),
                count => say(key, format!("{count} words").into()),
            }
        }
        if !self.same.is_empty() {
            let count: usize = self.same.iter().map(BTreeSet::len).sum();
            say("same", format!("{} groups of {count} words", self.same.len()).into());
        }
        if let Some(count) = self.neighbours {
            say("neighbours", count.into());
        }
        say("stop_words", name_of(&STOP_WORDS, &self.stop_words).into());
        params
    }

    /// The words that may take a unit's place; none where it must stay.
    pub fn allowed(&self, vocabulary: &ReplacementWords, encoded: &Encoded, unit: &Unit) -> Vec<u32> {
        let word = encoded.slice(unit.span);
        let lower = word.to_lowercase();
        if self.keep.contains(&lower) || (!self.stop_words && is_stop_word(&lower)) {
            return Vec::new();
        }
        let mut allowed: Vec<u32> = vocabulary.ids_like(word).collect();
        allowed.retain(|&id| {
            let other = vocabulary.word(id).unwrap_or_default().to_lowercase();
            other != lower && self.admits(&other) && self.alike(&lower, &other)
        });
        match self.neighbours {
            Some(count) => nearest(vocabulary, encoded, unit, allowed, count),
            None => allowed,
        }
    }

    /// Whether a word may be put in at all.
    pub fn admits(&self, lower: &str) -> bool {
        !self.forbid.contains(lower)
    }

    fn alike(&self, word: &str, other: &str) -> bool {
        self.same.is_empty() || self.same.iter().any(|group| group.contains(word) && group.contains(other))
    }
}

/// Words apart by space or commas, in lower case.
fn listed(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| c.is_whitespace() || c == ',');
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// The `count` nearest by cosine to the mean vector of the unit's tokens.
fn nearest(
    vocabulary: &ReplacementWords,
    encoded: &Encoded,
    unit: &Unit,
    mut among: Vec<u32>,
    count: usize,
) -> Vec<u32> {
    if among.len() <= count {
        return among;
    }
    let tokens = unit.tokens.iter().filter_map(|&token| encoded.tokens.get(token));
    let mut middle: Vec<f32> = Vec::new();
    for token in tokens {
        let vector = vocabulary.vector(token.id);
        middle.resize(vector.len(), 0.0);
        middle.iter_mut().zip(vector).for_each(|(sum, x)| *sum += x);
    }
    let cosine = |id: u32| {
        let vector = vocabulary.vector(id);
        // The middle's own length is the same for all.
        dot(vector, &middle) / dot(vector, vector).sqrt().max(f64::MIN_POSITIVE)
    };
    let mut by_cosine: Vec<(f64, u32)> = among.drain(..).map(|id| (cosine(id), id)).collect();
    by_cosine.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    by_cosine.into_iter().take(count).map(|(_, id)| id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use crate::attacks::hotflip;
    use exegete_core::{Example, Model, Units};
    use exegete_testkit::Toy;

    /// What the word in the middle of "the WORD film" may become under some settings.
    fn check(word: &str, settings: &[&str], expected: &[&str]) {
        let toy = Toy::default();
        let open = toy.open().unwrap();
        let vocabulary = ReplacementWords::of(open).unwrap();
        let encoded = open.encode(&Example::text(format!("the {word} film"))).unwrap();
        let mut given = Arguments::new(&hotflip::INFO, Settings::parse(settings).unwrap()).unwrap();
        let constraints = Constraints::new(&mut given).unwrap();
        given.finish().unwrap();
        let allowed = constraints.allowed(&vocabulary, &encoded, &Units::Word.of(&encoded)[1]);
        let words: Vec<&str> = allowed.iter().filter_map(|&id| vocabulary.word(id)).collect();
        assert_eq!(words, expected, "{word} {settings:?}");
    }

    #[test]
    fn rules_leave_what_they_allow() {
        check("good", &[], &["bad", "not", "film"]);
        check("Good", &[], &["bad", "not", "film"]);
        check("of", &[], &[]);
        check("of", &["stop_words=free"], &["good", "bad", "not", "film"]);
        check("42", &[], &[]);
        check("good", &["keep=fine, GOOD"], &[]);
        check("good", &["forbid=bad,not"], &["film"]);
        check("good", &["same=good bad fine; not no"], &["bad"]);
        check("film", &["same=good bad fine\nnot no"], &[]);
        // Cosines with good = (2, 1)/2: bad (−4, 3)/4 −0.45, not (1, −6)/4 −0.29, film (−2, −3)/4 −0.87.
        check("good", &["neighbours=2"], &["not", "bad"]);
        check("good", &["neighbours=9"], &["bad", "not", "film"]);
    }
}
