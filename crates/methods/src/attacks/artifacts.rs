//! How strongly single words go with labels in data, whatever a model does with them.
//!
//! PMI(w, y) = ln p(w, y) / (p(w) p(y)) with 100 added to every count: S. Gururangan and others, *Annotation artifacts in
//! natural language inference data*, 2018. z = (p(y|w) − p(y)) / √(p(y)(1 − p(y)) / n(w)): M. Gardner and others,
//! *Competency problems*, 2021. Counts are of texts that hold a word.

use crate::registry::{CorpusMethod, Info, Meaning, Needs, New, Unread, params};
use crate::{Arguments, Corpus, Parameter};
use exegete_core::report::{Cell, Item, Table};
use exegete_core::{Encoded, Error, Example, Result, Span, class_index};
use std::collections::{BTreeMap, BTreeSet};

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "artifacts",
    summary: "words that go with a label in the data, whatever the model",
    prose: include_str!("artifacts.md"),
    parameters: &[
        Parameter::count("top", 1..=1_000_000, Some(20), "words shown for each label"),
        Parameter::count(
            "field",
            1..=2,
            None,
            "only the first or the second text of each row (2 for hypothesis-only artifacts); both without it",
        ),
    ],
    axioms: &[],
    signed: false,
    meaning: Meaning::Other,
    needs: Needs::Predictions,
    new: New::Surveys(|arguments| Ok(Box::new(Artifacts::new(arguments)?))),
};

/// Added to every count, so that rare words say little.
const SMOOTHING: f64 = 100.0;
/// The chance of one wrong word among all that a list of significant words may have.
const LEVEL: f64 = 0.01;

/// More labels than this are no classes.
const MOST_LABELS: usize = 100;

struct Artifacts {
    top: usize,
    field: Option<usize>,
}

impl Artifacts {
    fn new(arguments: &mut Arguments) -> Result<Self> {
        let field = arguments.optional_count("field")?.map(|field| field - 1);
        Ok(Self { top: arguments.count("top")?, field })
    }
}

impl CorpusMethod for Artifacts {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        params([("top", self.top.into()), ("field", self.field.map(|field| field + 1).into())])
    }

    fn survey(&self, corpus: &Corpus<'_>) -> Result<Vec<Item>> {
        let known = &corpus.model.card().labels;
        // By the model's name for it where it has one: data often write the index.
        let named =
            |label: &str| class_index(known, label).map_or(label, |index| known[index].as_str()).to_owned();
        let mut labels = BTreeSet::new();
        for text in corpus.pass(corpus.examples)? {
            labels.extend(text?.1.label.as_deref().map(named));
        }
        let labels: Vec<String> = labels.into_iter().collect();
        if !(2..=MOST_LABELS).contains(&labels.len()) {
            return Err(Error::Input(format!(
                "the rows have {} different labels; words are counted for 2 to {MOST_LABELS} (--label-column)",
                labels.len()
            )));
        }
        let mut association = Association::new(&labels, self.field);
        for text in corpus.pass(corpus.examples)? {
            let example = text?.1;
            if let Some(label) = example.label.as_deref().map(named) {
                association.add(&example, labels.binary_search(&label).unwrap_or(0));
            }
        }
        Ok(vec![Item::Table(association.table(self.top))])
    }

    fn unread(&self) -> &'static [Unread] {
        &[Unread::Target, Unread::Units, Unread::Hiding, Unread::Evidence, Unread::HeldOut, Unread::Answers]
    }
}

/// How many texts of each label each word occurs in.
#[derive(Debug, Clone, PartialEq)]
pub struct Association {
    labels: Vec<String>,
    /// The only field that is read, where there is one.
    field: Option<usize>,
    /// Texts of each label.
    texts: Vec<usize>,
    /// Texts of each label that hold a word.
    words: BTreeMap<String, Vec<usize>>,
    /// Sums of the smoothed counts over words, by label.
    totals: Vec<f64>,
}

/// How one word goes with one label.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bond {
    /// Texts that hold the word.
    pub texts: usize,
    /// The share of them that have the label.
    pub share: f64,
    /// Pointwise mutual information, in nats.
    pub pmi: f64,
    /// The share's distance from the label's own share, in standard errors.
    pub z: f64,
    /// 1 for the word with the highest PMI.
    pub rank: usize,
    /// The share of words with a lower PMI.
    pub above: f64,
}

impl Association {
    /// No texts yet; `field` is the only one that is read, where there is one.
    pub fn new(labels: &[String], field: Option<usize>) -> Self {
        let (labels, classes) = (labels.to_vec(), labels.len());
        Self { labels, field, texts: vec![0; classes], words: BTreeMap::new(), totals: vec![0.0; classes] }
    }

    /// Counts a text with this label.
    pub fn add(&mut self, example: &Example, label: usize) {
        let classes = self.labels.len();
        if label >= classes {
            return;
        }
        self.texts[label] += 1;
        for word in words_of(example, self.field) {
            let counts = self.words.entry(word).or_insert_with(|| {
                self.totals.iter_mut().for_each(|total| *total += SMOOTHING);
                vec![0; classes]
            });
            counts[label] += 1;
            self.totals[label] += 1.0;
        }
    }

    /// Counts labelled texts that are there already.
    pub fn count<'e>(
        labels: &[String],
        texts: impl IntoIterator<Item = (&'e Example, usize)>,
        field: Option<usize>,
    ) -> Self {
        let mut association = Self::new(labels, field);
        texts.into_iter().for_each(|(example, label)| association.add(example, label));
        association
    }

    /// How many words there are.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there is no word at all.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// How a word goes with a label; none where no text holds it.
    pub fn bond(&self, word: &str, label: usize) -> Option<Bond> {
        let counts = self.words.get(&word.to_lowercase())?;
        let pmi = self.pmi(counts, label);
        let others = || self.words.values().map(|counts| self.pmi(counts, label));
        let above = others().filter(|&other| other < pmi).count() as f64;
        Some(Bond {
            rank: 1 + others().filter(|&other| other > pmi).count(),
            above: above / self.words.len() as f64,
            ..self.plain(counts, label)
        })
    }

    /// Without its rank among the others.
    fn plain(&self, counts: &[usize], label: usize) -> Bond {
        let texts: usize = counts.iter().sum();
        let share = counts[label] as f64 / texts as f64;
        let expected = self.texts[label] as f64 / self.texts.iter().sum::<usize>() as f64;
        let error = (expected * (1.0 - expected) / texts as f64).sqrt();
        let z = if error > 0.0 { (share - expected) / error } else { 0.0 };
        Bond { texts, share, pmi: self.pmi(counts, label), z, rank: 0, above: 0.0 }
    }

    fn pmi(&self, counts: &[usize], label: usize) -> f64 {
        let smoothed = |count: usize| count as f64 + SMOOTHING;
        let all: f64 = self.totals.iter().sum();
        let word: f64 = counts.iter().map(|&count| smoothed(count)).sum();
        (smoothed(counts[label]) * all / (word * self.totals[label])).ln()
    }

    /// The words with the highest PMI for each label.
    pub fn table(&self, top: usize) -> Table {
        let mut rows = Vec::new();
        for (label, name) in self.labels.iter().enumerate() {
            let mut bonds: Vec<(&String, Bond)> =
                self.words.iter().map(|(word, counts)| (word, self.plain(counts, label))).collect();
            bonds.sort_by(|a, b| b.1.pmi.total_cmp(&a.1.pmi).then(a.0.cmp(b.0)));
            for (word, bond) in bonds.into_iter().take(top) {
                let numbers = [bond.texts as f64, bond.share, bond.pmi, bond.z].map(Cell::Number);
                rows.push(
                    [Cell::Word(name.clone()), Cell::Word(word.clone())].into_iter().chain(numbers).collect(),
                );
            }
        }
        let columns = ["label", "word", "texts", "share with label", "PMI", "z"];
        Table {
            title: "words that go with a label in the data".into(),
            columns: columns.map(str::to_owned).to_vec(),
            rows,
            notes: vec![self.significance()],
            ..Table::default()
        }
    }

    /// How many words go with a label more often than chance allows for so many words.
    fn significance(&self) -> String {
        let bonds = self
            .words
            .values()
            .flat_map(|counts| (0..self.labels.len()).map(|label| self.plain(counts, label)));
        let tests = (self.words.len() * self.labels.len()).max(1) as f64;
        let sure =
            |bond: &Bond| bond.z > 0.0 && 0.5 * libm::erfc(bond.z / std::f64::consts::SQRT_2) < LEVEL / tests;
        format!(
            "{} texts, {} words; {} pairs of word and label are more frequent than chance (z, one-sided, {LEVEL} over all of them)",
            self.texts.iter().sum::<usize>(),
            self.words.len(),
            bonds.filter(sure).count()
        )
    }
}

/// The words of an example, each once and in lower case; what has no letter or digit is none.
fn words_of(example: &Example, field: Option<usize>) -> BTreeSet<String> {
    let of_field =
        |span: Option<Span>| field.is_none_or(|field| span.is_some_and(|span| span.field == field));
    let own = Encoded::of_words(example).tokens.into_iter().filter(|token| of_field(token.span));
    let words = own.map(|token| token.piece.to_lowercase());
    words.filter(|word| word.chars().any(char::is_alphanumeric)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn association(texts: &[(&str, usize)]) -> Association {
        let examples: Vec<(Example, usize)> =
            texts.iter().map(|&(text, label)| (Example::text(text), label)).collect();
        let labels = ["no".to_owned(), "yes".to_owned()];
        Association::count(&labels, examples.iter().map(|(example, label)| (example, *label)), None)
    }

    #[test]
    fn counts_by_hand() {
        // 400 texts, half of each label; "good" in 100 of yes and in none of no, "a" in all, twice in each.
        let texts: Vec<(&str, usize)> =
            (0..400).map(|i| (if i % 4 == 1 { "A good , a" } else { "a a ." }, i % 2)).collect();
        let association = association(&texts);
        assert_eq!(association.len(), 2);
        let bond = association.bond("Good", 1).unwrap();
        assert_eq!((bond.texts, bond.share, bond.rank, bond.above), (100, 1.0, 1, 0.5));
        // 0.5 / √(0.25 / 100)
        assert!((bond.z - 10.0).abs() < 1e-12);
        // Smoothed: good 100 and 200, a 300 and 300; of 900 in all, 500 are yes. ln 200·900 / (300·500)
        assert!((bond.pmi - 1.2f64.ln()).abs() < 1e-12);
        assert!((association.bond("good", 0).unwrap().z + 10.0).abs() < 1e-12);
        assert!((association.bond("a", 1).unwrap().pmi - 0.9f64.ln()).abs() < 1e-12);
        assert_eq!(association.bond("film", 1), None);
        let table = association.table(1);
        assert_eq!(table.rows[1][1], Cell::Word("good".into()));
        assert!(table.notes[0].starts_with("400 texts, 2 words; 1 pairs"), "{}", table.notes[0]);
    }

    #[test]
    fn a_field_can_be_read_alone() {
        let example = Example::pair("a man", "nobody sleeps");
        let labels = ["no".to_owned(), "yes".to_owned()];
        let count = |field| Association::count(&labels, [(&example, 0)], field).len();
        assert_eq!((count(None), count(Some(0)), count(Some(1)), count(Some(2))), (4, 2, 2, 0));
    }

    #[test]
    fn one_label_alone_says_nothing() {
        let bond = association(&[("good film", 1), ("good", 1)]).bond("good", 1).unwrap();
        assert_eq!((bond.share, bond.z), (1.0, 0.0));
        assert!(association(&[]).is_empty());
    }
}
