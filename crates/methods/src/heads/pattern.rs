//! Where a head looks: its pattern, how far and how broadly. The classes are those of O. Kovaleva and others, *Revealing the
//! dark secrets of BERT*, 2019; the limits are near those of K. Clark and others, *What does BERT look at?*, 2019, who call a
//! head broad from 3.8 nats of ln 128 on.

use super::TokenPlaces;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Texts with fewer words say little of where a head looks.
pub const LEAST_WORDS: usize = 5;
/// A head is diagonal from this mean weight on one neighbour on.
const DIAGONAL: f64 = 0.5;
/// A head is vertical from this mean weight on markers, or on full stops and commas, on.
const VERTICAL: f64 = 0.6;
/// For both together: the least of each, and of their sum.
const BOTH: (f64, f64) = (0.25, 0.7);
/// A head keeps to its text of a pair from this share and this relative entropy on.
const BLOCK: (f64, f64) = (0.8, 0.7);
/// A head is broad from this relative entropy on.
const BROAD: f64 = 0.78;
/// The neighbours: before, itself, after.
const NEIGHBOURS: [(isize, &str); 3] = [(-1, "previous"), (0, "self"), (1, "next")];

/// What one map shows: means over the rows of the text's own tokens.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HeadHabits {
    /// On the token before, itself and the token after.
    pub neighbours: [f64; 3],
    /// On each kind of marker.
    pub markers: BTreeMap<String, f64>,
    /// On full stops and commas.
    pub marks: f64,
    /// The mean entropy of a row, in nats.
    pub entropy: f64,
    /// Entropy as a share of the largest that there can be.
    pub relative_entropy: f64,
    /// Σ α·|i − j| over the text's own columns.
    pub far: f64,
    /// Σ α over these.
    pub content: f64,
    /// Of a pair: the share of content weight within the own text, and the relative entropy there.
    pub own: Option<(f64, f64)>,
    /// How many texts were summed up.
    pub texts: usize,
}

/// The class of a head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadPattern {
    /// The name of the pattern, in snake case.
    pub class: &'static str,
    /// Which neighbour, or that it is broad.
    pub detail: Option<&'static str>,
    /// The token that is looked at, where it is one.
    pub token: Option<String>,
}

impl HeadHabits {
    /// What a map \[T, T\] of one text shows.
    pub fn of(map: &[f32], places: &TokenPlaces) -> Self {
        let (tokens, rows) = (places.len(), places.content());
        let mut found = Self { texts: 1, ..Self::default() };
        let share = 1.0 / rows.len().max(1) as f64;
        let pair = rows.iter().any(|&i| places.field[i] != places.field[rows[0]]);
        let mut own = (0.0, 0.0);
        for &i in &rows {
            let row: Vec<f64> = map[i * tokens..][..tokens].iter().map(|&x| f64::from(x)).collect();
            found.add_row(i, &row, places, share);
            if pair {
                let (within, relative) = within(i, &row, places);
                own = (own.0 + share * within, own.1 + share * relative);
            }
        }
        found.own = pair.then_some(own);
        found
    }

    fn add_row(&mut self, i: usize, row: &[f64], places: &TokenPlaces, share: f64) {
        for (sum, (k, _)) in self.neighbours.iter_mut().zip(NEIGHBOURS) {
            let at = i.checked_add_signed(k).and_then(|j| row.get(j));
            *sum += share * at.copied().unwrap_or(0.0);
        }
        for (j, &weight) in row.iter().enumerate() {
            if places.special[j] {
                *self.markers.entry(places.pieces[j].clone()).or_default() += share * weight;
                continue;
            }
            self.marks += if places.is_mark(j) { share * weight } else { 0.0 };
            self.far += weight * i.abs_diff(j) as f64;
            self.content += weight;
        }
        let entropy = entropy(row.iter().copied());
        self.entropy += share * entropy;
        self.relative_entropy += share * relative(entropy, row.len());
    }

    /// Adds what another text shows.
    pub fn add(&mut self, other: &Self) {
        let sums = self.neighbours.iter_mut().zip(other.neighbours);
        sums.for_each(|(sum, own)| *sum += own);
        for (piece, weight) in &other.markers {
            *self.markers.entry(piece.clone()).or_default() += weight;
        }
        self.marks += other.marks;
        self.entropy += other.entropy;
        self.relative_entropy += other.relative_entropy;
        self.far += other.far;
        self.content += other.content;
        self.own = match (self.own, other.own) {
            (Some((share, entropy)), Some((more, also))) => Some((share + more, entropy + also)),
            (own, None) => own,
            (None, own) => own,
        };
        self.texts += other.texts;
    }

    /// A sum over texts as their mean.
    pub fn mean(&self, sum: f64) -> f64 {
        sum / self.texts.max(1) as f64
    }

    /// The mean distance of what is looked at, in tokens.
    pub fn distance(&self) -> Option<f64> {
        (self.content > 0.0).then(|| self.far / self.content)
    }

    /// The mean weight on markers.
    pub fn special(&self) -> f64 {
        self.mean(self.markers.values().sum())
    }

    /// The class of the head, the first that fits.
    pub fn pattern(&self) -> HeadPattern {
        let neighbours = self.neighbours.map(|sum| self.mean(sum));
        let best = (1..3).fold(0, |best, k| if neighbours[k] > neighbours[best] { k } else { best });
        let (o, v, marks) = (neighbours[best], self.special(), self.mean(self.marks));
        let direction = Some(NEIGHBOURS[best].1);
        let marker = || self.markers.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|(piece, _)| piece.clone());
        let named = |class, detail, token| HeadPattern { class, detail, token };
        let both = o >= BOTH.0 && v >= BOTH.0 && o + v >= BOTH.1;
        let own = self
            .own
            .is_some_and(|(share, entropy)| self.mean(share) >= BLOCK.0 && self.mean(entropy) >= BLOCK.1);
        if o >= DIAGONAL {
            named("diagonal", direction, None)
        } else if v >= VERTICAL {
            named("vertical", None, marker())
        } else if marks >= VERTICAL {
            named("vertical", None, Some(". ,".to_owned()))
        } else if both {
            named("vertical+diagonal", direction, marker())
        } else if own {
            named("block", None, None)
        } else {
            let broad = self.mean(self.relative_entropy) >= BROAD;
            named("heterogeneous", broad.then_some("broad"), None)
        }
    }
}

/// −Σ p ln p; NaN where a weight is.
fn entropy(row: impl Iterator<Item = f64>) -> f64 {
    row.filter(|&p| p > 0.0 || p.is_nan()).map(|p| -p * p.ln()).sum()
}

/// Of one choice nothing can be broad.
fn relative(entropy: f64, choices: usize) -> f64 {
    if choices > 1 { entropy / (choices as f64).ln() } else { 0.0 }
}

/// The share of a row's content weight within its own text, and the relative entropy there.
fn within(i: usize, row: &[f64], places: &TokenPlaces) -> (f64, f64) {
    let own: Vec<f64> = places
        .content()
        .into_iter()
        .filter(|&j| places.field[j] == places.field[i])
        .map(|j| row[j])
        .collect();
    let all: f64 = places.content().into_iter().map(|j| row[j]).sum();
    let sum: f64 = own.iter().sum();
    if sum <= 0.0 {
        return (0.0, 0.0);
    }
    (sum / all, relative(entropy(own.iter().map(|p| p / sum)), own.len()))
}
