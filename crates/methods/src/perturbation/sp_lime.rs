//! A few texts that show most of what a model goes by: with W the LIME weights of texts × words and I_j = √Σᵢ|Wᵢⱼ|, the greedy
//! maximum of Σ_j 1[some chosen i has Wᵢⱼ ≠ 0] · I_j. M. T. Ribeiro, S. Singh, C. Guestrin, *"Why should I trust you?"
//! Explaining the predictions of any classifier*, 2016, section 4.

use super::lime::{self, Choose, KEPT, Lime};
use crate::answer::attribution;
use crate::evidence::{Evidence, Level};
use crate::parameter::{Parameter, Takes, names};
use crate::registry::{CorpusMethod, Info, Meaning, Method, Needs, New, Unread};
use crate::{Arguments, ConfiguredMethod, Corpus, Kind, Normalise, Question, RawScores, SurveySize};
use exegete_core::report::{Cell, Item, Table};
use exegete_core::{Error, Example, Result};
use std::collections::{BTreeMap, HashMap};

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "sp_lime",
    summary: "a few texts of a corpus whose LIME weights cover the words that matter most",
    prose: include_str!("sp_lime.md"),
    parameters: &[
        Parameter::count("texts", 1..=100_000, Some(5), "how many texts are chosen at most"),
        lime::PARAMETERS[0],
        lime::PARAMETERS[1],
        lime::PARAMETERS[2],
        lime::PARAMETERS[3],
        Parameter {
            takes: Takes::Choice { of: &names(&Choose::NAMES), default: Some("auto") },
            help: "how the words of each fit are chosen; `none` keeps them all",
            ..lime::PARAMETERS[4]
        },
        Parameter::count("keep", 1..=100_000, Some(KEPT), "the most words that each text keeps"),
        lime::PARAMETERS[6],
    ],
    axioms: &[],
    signed: true,
    meaning: Meaning::Other,
    needs: Needs::Predictions,
    new: New::Surveys(|arguments| Ok(Box::new(SpLime::new(arguments)?))),
};

/// Words that the table of words shows.
const WORDS: usize = 30;

struct SpLime {
    texts: usize,
    /// Whether every place of a word shows the weight of them all.
    shared: bool,
    chosen: ConfiguredMethod,
}

impl SpLime {
    fn new(arguments: &mut Arguments) -> Result<Self> {
        let texts = arguments.count("texts")?;
        // With a weight for every word each text would cover all of its words, whatever they weigh.
        let method = Lime::new(arguments)?;
        let shared = method.shares_weights();
        let (kind, normalise) = (Kind::Scores(Box::new(method)), Normalise::None);
        Ok(Self {
            texts,
            shared,
            chosen: ConfiguredMethod { info: &lime::INFO, kind, reduce: None, normalise, set: Vec::new() },
        })
    }

    /// The weight of each word of a text in lower case, over all its places and all targets.
    fn words(&self, jobs: &[Question<'_>]) -> Result<BTreeMap<String, f64>> {
        let mut words = BTreeMap::new();
        for job in jobs {
            let RawScores::Units(values) = self.chosen.explain(job)?.scores else { continue };
            let mut spelled = BTreeMap::new();
            for (unit, value) in job.units.iter().zip(values).filter(|(_, value)| *value != 0.0) {
                let sum: &mut f64 = spelled.entry(text_of(job, unit.span)).or_default();
                *sum = if self.shared { value } else { *sum + value };
            }
            for (word, value) in spelled {
                *words.entry(word.to_lowercase()).or_default() += value;
            }
        }
        Ok(words)
    }

    fn attributions(&self, jobs: &[Question<'_>], level: Level) -> Result<Vec<Item>> {
        jobs.iter().map(|job| attribution(job, &self.chosen, &mut Evidence::new(job), level)).collect()
    }
}

/// What a span says.
fn text_of(job: &Question<'_>, span: exegete_core::Span) -> String {
    let field = job.encoded().fields.get(span.field);
    field.and_then(|field| field.text.get(span.start..span.end)).unwrap_or_default().to_owned()
}

impl CorpusMethod for SpLime {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        let mut params = self.chosen.params();
        params.insert("texts".into(), self.texts.into());
        params
    }

    fn most_rows(&self, size: &SurveySize) -> Option<usize> {
        let rows = self.chosen.most_rows(size.units)?;
        Some(rows.saturating_mul(size.targets).saturating_mul(size.texts))
    }

    fn survey(&self, corpus: &Corpus<'_>) -> Result<Vec<Item>> {
        let Corpus { model, driver, examples, request, .. } = *corpus;
        let ask = |example: &Example| Question::all(model, driver, example, request);
        let mut matrix = Matrix::default();
        for text in corpus.pass(examples)? {
            matrix.push(&self.words(&ask(&text?.1)?)?);
        }
        if matrix.rows.is_empty() {
            return Err(Error::Request("sp_lime: there are no texts to choose from".into()));
        }
        let importance = importance(&matrix.rows, matrix.words.len());
        let picks = pick(&matrix.rows, &importance, self.texts);
        let picked = corpus.fetch(examples, &picks.iter().map(|pick| pick.text).collect::<Vec<_>>())?;
        let mut items = vec![
            Item::Table(texts_table(&picks, &picked, self.texts, matrix.rows.len())),
            Item::Table(words_table(&matrix, &importance)),
        ];
        for example in &picked {
            items.extend(self.attributions(&ask(example)?, request.check)?);
        }
        Ok(items)
    }

    fn unread(&self) -> &'static [Unread] {
        &[Unread::HeldOut, Unread::Labels]
    }
}

/// Weights of words in texts, of which most are zero.
#[derive(Default)]
struct Matrix {
    words: Vec<String>,
    known: HashMap<String, usize>,
    /// For each text, words and their weights.
    rows: Vec<Vec<(usize, f64)>>,
}

impl Matrix {
    fn push(&mut self, words: &BTreeMap<String, f64>) {
        let mut row = Vec::new();
        for (word, weight) in words {
            let next = self.words.len();
            let index = *self.known.entry(word.clone()).or_insert(next);
            if index == next {
                self.words.push(word.clone());
            }
            row.push((index, *weight));
        }
        self.rows.push(row);
    }
}

/// I: the root of the sum of each word's sizes over all texts.
pub fn importance(rows: &[Vec<(usize, f64)>], words: usize) -> Vec<f64> {
    let mut sums = vec![0.0; words];
    rows.iter().flatten().for_each(|&(word, weight)| sums[word] += f64::abs(weight));
    sums.iter().map(|sum| sum.sqrt()).collect()
}

/// A text that was chosen, and what it adds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TextPick {
    /// Which text, by its place in the file from 0.
    pub text: usize,
    /// The share of all importance that it and those before it cover.
    pub coverage: f64,
}

/// At most so many texts, each the one that adds most importance to those before it (the first of equals), until nothing is
/// added. What they cover is at least 1 − 1/e ≈ 63 % of the most that as many texts can cover (G. Nemhauser and others, 1978).
pub fn pick(rows: &[Vec<(usize, f64)>], importance: &[f64], most: usize) -> Vec<TextPick> {
    let total: f64 = importance.iter().sum();
    let (mut covered, mut sum, mut picks) = (vec![false; importance.len()], 0.0, Vec::new());
    while picks.len() < most {
        let adds = |row: &Vec<(usize, f64)>| {
            let new = row.iter().filter(|(word, weight)| *weight != 0.0 && !covered[*word]);
            new.map(|(word, _)| importance[*word]).sum::<f64>()
        };
        let mut best = (0.0, 0);
        for (text, row) in rows.iter().enumerate() {
            let added = adds(row);
            if added > best.0 {
                best = (added, text);
            }
        }
        if best.0 == 0.0 {
            break;
        }
        rows[best.1].iter().filter(|(_, weight)| *weight != 0.0).for_each(|(word, _)| covered[*word] = true);
        sum += best.0;
        picks.push(TextPick { text: best.1, coverage: sum / total });
    }
    picks
}

fn texts_table(picks: &[TextPick], picked: &[Example], asked: usize, texts: usize) -> Table {
    let row = |(pick, example): (&TextPick, &Example)| {
        let fields: Vec<&str> = example.fields.iter().map(|field| field.text.as_str()).collect();
        vec![
            Cell::Number((pick.text + 1) as f64),
            Cell::Number(pick.coverage),
            Cell::Word(fields.join(" / ")),
        ]
    };
    let short = (picks.len() < asked.min(texts))
        .then(|| format!("{} texts cover every word that any of the {texts} has a weight for", picks.len()));
    Table {
        title: format!("sp_lime: texts that show most of what the model goes by, of {texts}"),
        columns: vec!["line".into(), "coverage so far".into(), "text".into()],
        rows: picks.iter().zip(picked).map(row).collect(),
        notes: short.into_iter().collect(),
        ..Table::default()
    }
}

fn words_table(matrix: &Matrix, importance: &[f64]) -> Table {
    let mut order: Vec<usize> = (0..importance.len()).collect();
    order.sort_by(|&a, &b| importance[b].total_cmp(&importance[a]));
    let (mut sums, mut counts) = (vec![0.0; importance.len()], vec![0.0; importance.len()]);
    for &(word, weight) in matrix.rows.iter().flatten() {
        sums[word] += weight;
        counts[word] += 1.0;
    }
    let row = |&word: &usize| {
        vec![
            Cell::Word(matrix.words[word].clone()),
            Cell::Number(importance[word]),
            Cell::Number(sums[word] / counts[word]),
            Cell::Number(counts[word]),
        ]
    };
    Table {
        title: format!("sp_lime: importance of words, the first {WORDS} of {}", importance.len()),
        columns: vec!["word".into(), "importance".into(), "mean weight".into(), "texts".into()],
        rows: order.iter().take(WORDS).map(row).collect(),
        ..Table::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(picks: &[TextPick]) -> Vec<usize> {
        picks.iter().map(|pick| pick.text).collect()
    }

    /// Five words over four texts, worked by hand: Σ|W| = 4, 9, 1, 1, 4, so I = 2, 3, 1, 1, 2.
    #[test]
    fn by_hand() {
        let rows = [
            vec![(0, 2.0), (1, -4.0)],
            vec![(1, 5.0), (2, 1.0), (3, 0.0)],
            vec![(3, -1.0), (4, 2.0)],
            vec![(0, -2.0), (4, 2.0)],
        ];
        let importance = importance(&rows, 5);
        assert_eq!(importance, [2.0, 3.0, 1.0, 1.0, 2.0]);
        // The first covers 2 + 3; of the rest the third adds 1 + 2, then the second adds 1, and the fourth nothing.
        let picks = pick(&rows, &importance, 9);
        assert_eq!(texts(&picks), [0, 2, 1]);
        assert_eq!(picks.iter().map(|pick| pick.coverage).collect::<Vec<_>>(), [5.0 / 9.0, 8.0 / 9.0, 1.0]);
        assert_eq!(texts(&pick(&rows, &importance, 1)), [0]);
        assert!(pick(&[], &[], 3).is_empty() && pick(&[vec![]], &[], 3).is_empty());
    }

    /// The best pair is the last two texts; greed starts with the first and still covers more than 1 − 1/e of it.
    #[test]
    fn greed_keeps_its_bound() {
        let rows = [
            vec![(0, 1.0), (1, 1.0), (2, 1.0), (3, 1.0)],
            vec![(0, 1.0), (1, 1.0), (4, 1.0)],
            vec![(2, 1.0), (3, 1.0), (5, 1.0)],
        ];
        let importance = importance(&rows, 6);
        let covered = |chosen: &[usize]| {
            let has = |word: usize| chosen.iter().any(|&text| rows[text].iter().any(|(w, _)| *w == word));
            (0..6).filter(|&word| has(word)).map(|word| importance[word]).sum::<f64>()
        };
        let (greedy, best) = (texts(&pick(&rows, &importance, 2)), covered(&[1, 2]));
        assert_eq!(greedy[0], 0);
        assert!(covered(&greedy) < best && covered(&greedy) >= (1.0 - (-1.0f64).exp()) * best);
    }

    #[test]
    fn words_are_one_whatever_their_text() {
        let mut matrix = Matrix::default();
        matrix.push(&BTreeMap::from([("bad".to_owned(), -1.0), ("film".to_owned(), 0.5)]));
        matrix.push(&BTreeMap::from([("bad".to_owned(), -3.0)]));
        assert_eq!(matrix.rows, [vec![(0, -1.0), (1, 0.5)], vec![(0, -3.0)]]);
        assert_eq!(importance(&matrix.rows, 2)[0], 2.0);
    }
}
