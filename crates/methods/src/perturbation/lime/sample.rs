//! Which sets of words are hidden.
//!
//! The original draws how many words are hidden evenly from 1 to n, then the words, and counts each row by its nearness to
//! the whole text. The sum over rows estimates a sum over *layers*, all sets with k words present, each with the mass
//! w(k)/n. The same sum is estimated with less chance where rows are spread over layers by their masses, no set comes
//! twice, and a layer with few sets is taken whole.

use crate::perturbed::Set;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use std::collections::HashSet;

/// How sets are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sampling {
    /// By layers of the number of hidden words.
    Layers,
    /// As the original: independently, so that sets repeat.
    Package,
}

/// Fewer rows than this say too little about how much the rows of a layer differ; layers are joined until they have them.
const FEW: usize = 4;

/// w: the weight of a row with so many of the words present, √exp(−(100·d)²/25²) with d = 1 − √(present/words), its cosine
/// distance to the whole text.
pub(super) fn nearness(present: usize, words: usize) -> f64 {
    let distance = 1.0 - (present as f64 / words as f64).sqrt();
    (-(100.0 * distance).powi(2) / 25.0f64.powi(2)).exp().sqrt()
}

/// The mass of the sets with so many words present.
pub(super) fn mass(present: usize, words: usize) -> f64 {
    nearness(present, words) / words as f64
}

/// Sets that were drawn, the empty one (the whole text) first.
pub(super) struct Sample {
    words: usize,
    sampling: Sampling,
    random: ChaCha8Rng,
    /// Where counting starts, so that rounded shares are right on average.
    offset: f64,
    sets: Vec<Set>,
    /// By the number of words present.
    layers: Vec<Layer>,
}

#[derive(Default)]
struct Layer {
    drawn: HashSet<Set>,
    is_complete: bool,
}

/// Rows that chance treats alike.
pub(super) struct Stratum {
    pub(super) rows: Vec<usize>,
    /// How many of the sets they stand for they are.
    pub(super) share: f64,
}

impl Sample {
    /// The whole text alone.
    pub(super) fn new(words: usize, sampling: Sampling, mut random: ChaCha8Rng) -> Self {
        let offset = random.random();
        let layers = (0..words).map(|_| Layer::default()).collect();
        Self { words, sampling, random, offset, sets: vec![Set::new()], layers }
    }

    pub(super) fn words(&self) -> usize {
        self.words
    }

    /// Every set, in the order of being drawn.
    pub(super) fn sets(&self) -> &[Set] {
        &self.sets
    }

    /// Whether there is nothing left to draw.
    pub(super) fn is_complete(&self) -> bool {
        self.sampling == Sampling::Layers && self.layers.iter().all(|layer| layer.is_complete)
    }

    /// Draws more, up to about `total` rows in all.
    pub(super) fn grow(&mut self, total: usize) {
        match self.sampling {
            Sampling::Package => {
                while self.sets.len() < total {
                    let hidden = self.random.random_range(1..=self.words);
                    let set = self.draw(hidden);
                    self.sets.push(set);
                }
            }
            Sampling::Layers => self.grow_layers(total as f64 - 1.0),
        }
    }

    fn grow_layers(&mut self, total: f64) {
        let open = self.complete(total);
        let (left, masses) = self.left(&open, total);
        let (mut before, mut sum) = (0.0, self.offset);
        for &k in &open {
            sum += left * mass(k, self.words) / masses;
            let goal = (f64::floor(sum) - before).min(self.count(k)) as usize;
            before = f64::floor(sum);
            while self.layers[k].drawn.len() < goal && (self.sets.len() as f64) <= total {
                let set = self.draw(self.words - k);
                self.take(k, set);
            }
        }
    }

    /// Takes the layers whole of which at least half would be drawn; the others, nearest to the whole text first. Those
    /// never go without rows.
    fn complete(&mut self, total: f64) -> Vec<usize> {
        loop {
            let open: Vec<usize> = (0..self.words).rev().filter(|&k| !self.layers[k].is_complete).collect();
            let (left, masses) = self.left(&open, total);
            let sets: f64 = open.iter().map(|&k| self.count(k)).sum();
            let half = |k: usize| 2.0 * left * mass(k, self.words) / masses;
            let room = |k: usize| left - (sets - self.count(k)).min(FEW as f64);
            let small =
                open.iter().copied().filter(|&k| self.count(k) <= half(k).min(room(k)) || sets <= left);
            let Some(k) = small.min_by(|&a, &b| self.count(a).total_cmp(&self.count(b))) else {
                return open;
            };
            subsets(self.words, self.words - k).into_iter().for_each(|set| self.take(k, set));
            self.layers[k].is_complete = true;
        }
    }

    /// How many of the rows are left for these layers, and their mass.
    fn left(&self, open: &[usize], total: f64) -> (f64, f64) {
        let done = (0..self.words).filter(|k| !open.contains(k)).map(|k| self.count(k));
        let masses = open.iter().map(|&k| mass(k, self.words));
        ((total - done.sum::<f64>()).max(0.0), masses.sum())
    }

    fn take(&mut self, present: usize, set: Set) {
        if self.layers[present].drawn.insert(set.clone()) {
            self.sets.push(set);
        }
    }

    /// How many sets a layer has.
    fn count(&self, present: usize) -> f64 {
        (0..present).map(|i| (self.words - i) as f64 / (i + 1) as f64).product::<f64>().round()
    }

    /// So many different words, in order.
    fn draw(&mut self, hidden: usize) -> Set {
        let mut words: Vec<usize> = (0..self.words).collect();
        for i in 0..hidden {
            let other = self.random.random_range(i..self.words);
            words.swap(i, other);
        }
        words.truncate(hidden);
        words.sort_unstable();
        words
    }

    /// The weight of each row where `samples` rows in all are to weigh as that many of the original's.
    pub(super) fn weights(&self, samples: f64) -> (Vec<f64>, Vec<Stratum>) {
        let mut weights = vec![1.0; self.sets.len()];
        let mut strata = vec![Stratum { rows: vec![0], share: 1.0 }];
        if self.sampling == Sampling::Package {
            let rows: Vec<usize> = (1..self.sets.len()).collect();
            for &row in &rows {
                let near = nearness(self.words - self.sets[row].len(), self.words);
                weights[row] = near * (samples - 1.0) / rows.len() as f64;
            }
            strata.push(Stratum { rows, share: 0.0 });
            return (weights, strata);
        }
        for Group { layers, rows } in self.groups() {
            let masses: f64 = layers.iter().map(|&k| mass(k, self.words)).sum();
            rows.iter().for_each(|&row| weights[row] = (samples - 1.0) * masses / rows.len() as f64);
            let sets: f64 = layers.iter().map(|&k| self.count(k)).sum();
            strata.push(Stratum { share: rows.len() as f64 / sets, rows });
        }
        (weights, strata)
    }

    /// Layers with their rows; open neighbours are joined where they have few.
    fn groups(&self) -> Vec<Group> {
        let mut rows = vec![Vec::new(); self.words];
        for (row, set) in self.sets.iter().enumerate().skip(1) {
            rows[self.words - set.len()].push(row);
        }
        let (mut whole, mut open): (Vec<Group>, Vec<Group>) = (Vec::new(), Vec::new());
        for (k, rows) in rows.into_iter().enumerate().rev() {
            let layer = Group { layers: vec![k], rows };
            match open.last_mut() {
                _ if self.layers[k].is_complete => whole.push(layer),
                Some(last) if last.rows.len() < FEW => last.join(layer),
                _ => open.push(layer),
            }
        }
        if let [.., before, last] = &mut open[..]
            && last.rows.len() < FEW
        {
            before.join(std::mem::take(last));
            open.pop();
        }
        whole.append(&mut open);
        whole
    }
}

#[derive(Default)]
struct Group {
    layers: Vec<usize>,
    rows: Vec<usize>,
}

impl Group {
    fn join(&mut self, mut other: Self) {
        self.layers.append(&mut other.layers);
        self.rows.append(&mut other.rows);
    }
}

/// All sets of so many of the words.
fn subsets(words: usize, size: usize) -> Vec<Set> {
    let mut all = vec![Set::new()];
    for _ in 0..size {
        let longer = |set: &Set| {
            let from = set.last().map_or(0, |last| last + 1);
            let with = |word| set.iter().copied().chain([word]).collect::<Set>();
            (from..words).map(with).collect::<Vec<Set>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}
