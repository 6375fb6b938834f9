//! Which dependency relations a head follows, against the best fixed offset. K. Clark and others, *What does BERT look at?*,
//! 2019. There, heads and offsets were chosen and measured on the same sentences; here odd sentences choose and even ones
//! measure.

use super::conllu::TreeSentence;
use crate::Stream;
use crate::statistics::interval::{Interval, bootstrap};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Rarer relations are left out.
pub const LEAST_CASES: usize = 50;
/// The farthest fixed offset.
const FARTHEST: isize = 5;
/// What stands for all relations together.
pub const ALL: &str = "all";

/// How a head is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadDirection {
    /// The word that a word looks at most is its head.
    FromDependent,
    /// The word that looks at a word most is its head.
    FromHead,
}

impl HeadDirection {
    /// What reports call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::FromDependent => "dep→head",
            Self::FromHead => "head→dep",
        }
    }
}

/// The weights between words: columns of a word's tokens summed, rows averaged. A map \[T, T\] becomes a list a word.
pub fn word_weights(map: &[f32], tokens: usize, words: &[Vec<usize>]) -> Vec<Vec<f64>> {
    let weight = |from: &Vec<usize>, to: &Vec<usize>| {
        let sum: f64 =
            from.iter().flat_map(|&i| to.iter().map(move |&j| f64::from(map[i * tokens + j]))).sum();
        sum / from.len().max(1) as f64
    };
    words.iter().map(|from| words.iter().map(|to| weight(from, to)).collect()).collect()
}

/// The head of a word by a head's weights, itself aside; of equal ones the first. None of a single word.
pub fn predicted(weights: &[Vec<f64>], word: usize, direction: HeadDirection) -> Option<usize> {
    let weight = |other: usize| match direction {
        HeadDirection::FromDependent => weights[word][other],
        HeadDirection::FromHead => weights[other][word],
    };
    let others = (0..weights.len()).filter(|&other| other != word);
    others.reduce(|best, other| if weight(other) > weight(best) { other } else { best })
}

/// How many cases of a relation a sentence has, and how many of them each candidate gets right.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct SentenceCases {
    total: u16,
    /// Two a head (from the dependent, from the head), then one an offset.
    right: Vec<u16>,
}

/// Relations counted over sentences.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RelationCount {
    heads: usize,
    sentences: Vec<BTreeMap<String, SentenceCases>>,
}

/// The best head of a relation beside the best offset.
#[derive(Debug, Clone, PartialEq)]
pub struct RelationHead {
    /// The relation, or all.
    pub relation: String,
    /// The number of the head in all layers.
    pub head: usize,
    /// How it is read.
    pub direction: HeadDirection,
    /// Its accuracy on even sentences.
    pub accuracy: Interval,
    /// The best offset: the head is so many words further.
    pub offset: isize,
    /// Its accuracy on the same.
    pub offset_accuracy: Interval,
    /// The accuracy of the head minus that of the offset.
    pub difference: Interval,
    /// How many cases even sentences have.
    pub cases: usize,
}

impl RelationHead {
    /// Whether the head is better than any rule of place.
    pub fn beats(&self) -> bool {
        self.difference.lower > 0.0
    }
}

fn offsets() -> impl Iterator<Item = isize> {
    (-FARTHEST..=FARTHEST).filter(|&k| k != 0)
}

impl RelationCount {
    /// Of so many heads in all layers.
    pub fn new(heads: usize) -> Self {
        Self { heads, sentences: Vec::new() }
    }

    /// Adds a sentence by the weights between its words, one matrix a head.
    pub fn add(&mut self, sentence: &TreeSentence, weights: &[Vec<Vec<f64>>]) {
        let words = sentence.heads.len();
        let mut found: BTreeMap<String, SentenceCases> = BTreeMap::new();
        for (word, (&head, relation)) in sentence.heads.iter().zip(&sentence.relations).enumerate() {
            if head == 0 || relation == "punct" || relation == "root" || words < 2 {
                continue;
            }
            let by_head = weights.iter().flat_map(|weights| {
                [HeadDirection::FromDependent, HeadDirection::FromHead]
                    .map(|direction| predicted(weights, word, direction) == Some(head - 1))
            });
            let by_place = offsets().map(|k| word.checked_add_signed(k) == Some(head - 1));
            let right: Vec<bool> = by_head.chain(by_place).collect();
            for name in [relation, ALL] {
                let cases = found.entry(name.to_owned()).or_default();
                cases.total += 1;
                cases.right.resize(right.len(), 0);
                cases.right.iter_mut().zip(&right).for_each(|(sum, &right)| *sum += u16::from(right));
            }
        }
        self.sentences.push(found);
    }

    /// Adds the sentences of another count of the same heads behind its own.
    pub fn join(&mut self, other: Self) {
        self.sentences.extend(other.sentences);
    }

    /// How many sentences were counted.
    pub fn sentences(&self) -> usize {
        self.sentences.len()
    }

    /// The best head of each frequent relation, most frequent first; all together last.
    pub fn best(&self, seed: u64) -> Vec<RelationHead> {
        let mut totals: BTreeMap<&str, usize> = BTreeMap::new();
        for (name, cases) in self.sentences.iter().flatten() {
            *totals.entry(name).or_default() += usize::from(cases.total);
        }
        let mut names: Vec<(&str, usize)> =
            totals.into_iter().filter(|&(_, total)| total >= LEAST_CASES).collect();
        names.sort_by_key(|&(name, total)| (name == ALL, std::cmp::Reverse(total)));
        let found = names.iter().enumerate().map(|(place, (name, _))| self.best_of(name, seed, place as u64));
        found.flatten().collect()
    }

    fn best_of(&self, name: &str, seed: u64, place: u64) -> Option<RelationHead> {
        let cases = |odd: usize| -> Vec<&SentenceCases> {
            let own = self.sentences.iter().skip(odd).step_by(2);
            own.filter_map(|found| found.get(name)).collect()
        };
        // The first sentence is an odd one.
        let (chosen_on, measured_on) = (cases(0), cases(1));
        let right = |at: usize| chosen_on.iter().map(|cases| usize::from(cases.right[at])).sum::<usize>();
        let best = |mut range: std::ops::Range<usize>| {
            let first = range.next()?;
            Some(range.fold(first, |best, at| if right(at) > right(best) { at } else { best }))
        };
        if chosen_on.is_empty() || measured_on.is_empty() {
            return None;
        }
        let (head, offset) = (best(0..2 * self.heads)?, best(2 * self.heads..chosen_on[0].right.len())?);
        let sample: Vec<f64> = (0..measured_on.len()).map(|i| i as f64).collect();
        let share = |drawn: &[f64], of: &dyn Fn(&SentenceCases) -> f64| {
            let own = || drawn.iter().map(|&i| measured_on[i as usize]);
            own().map(of).sum::<f64>() / own().map(|cases| f64::from(cases.total)).sum::<f64>()
        };
        let interval = |of: &dyn Fn(&SentenceCases) -> f64| {
            let random = &mut Stream::HeadResamples.random(seed, place);
            bootstrap(&sample, |drawn| share(drawn, of), random)
        };
        let hits = |at: usize| move |cases: &SentenceCases| f64::from(cases.right[at]);
        let direction = [HeadDirection::FromDependent, HeadDirection::FromHead][head % 2];
        Some(RelationHead {
            relation: name.to_owned(),
            head: head / 2,
            direction,
            accuracy: interval(&hits(head))?,
            offset: offsets().nth(offset - 2 * self.heads)?,
            offset_accuracy: interval(&hits(offset))?,
            difference: interval(&|cases| hits(head)(cases) - hits(offset)(cases))?,
            cases: measured_on.iter().map(|cases| usize::from(cases.total)).sum(),
        })
    }
}
