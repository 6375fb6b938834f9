//! Games in closed form.

use exegete_core::Result;
use exegete_methods::perturbation::Game;
use exegete_methods::{Effort, Set};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::HashSet;

/// F of who is there.
pub(crate) struct Closed<F> {
    pub(crate) players: usize,
    pub(crate) value: F,
    /// Sets asked for, and in how many calls.
    pub(crate) asked: usize,
    pub(crate) calls: usize,
    /// The same, each counted once.
    pub(crate) different: HashSet<Set>,
}

impl<F: Fn(&[bool]) -> f64> Closed<F> {
    pub(crate) fn new(players: usize, value: F) -> Self {
        Self { players, value, asked: 0, calls: 0, different: HashSet::new() }
    }
}

impl<F: Fn(&[bool]) -> f64> Game for Closed<F> {
    fn players(&self) -> usize {
        self.players
    }

    fn values(&mut self, hidden: &[Set]) -> Result<Vec<f64>> {
        self.asked += hidden.len();
        self.calls += 1;
        self.different.extend(hidden.iter().cloned());
        let value = |set: &Set| {
            assert!(set.is_sorted_by(|a, b| a < b), "{set:?} is not in order");
            let mut there = vec![true; self.players];
            set.iter().for_each(|&player| there[player] = false);
            (self.value)(&there)
        };
        Ok(hidden.iter().map(value).collect())
    }
}

/// Σ over sets of a coefficient where all of the set are there.
#[derive(Clone)]
pub(crate) struct Polynomial(pub(crate) Vec<(Vec<usize>, f64)>);

impl Polynomial {
    pub(crate) fn at(&self, there: &[bool]) -> f64 {
        let terms = self.0.iter().filter(|(players, _)| players.iter().all(|&player| there[player]));
        terms.map(|(_, coefficient)| coefficient).sum()
    }

    /// A coefficient of up to `size` for every set of up to `order` players.
    pub(crate) fn random(players: usize, order: u32, size: f64, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let sets = (1usize..1 << players).filter(|bits| bits.count_ones() <= order);
        let term = |bits: usize| {
            let set: Vec<usize> = (0..players).filter(|i| bits >> i & 1 == 1).collect();
            let size = if set.len() == 1 { 1.0 } else { size };
            (set, size * (2.0 * random.random::<f64>() - 1.0))
        };
        Self(sets.map(term).collect())
    }
}

/// 1 where those there have more than half of all votes.
pub(crate) fn majority(votes: &[u32]) -> impl Fn(&[bool]) -> f64 + use<> {
    let votes = votes.to_vec();
    let total: u32 = votes.iter().sum();
    move |there| {
        let cast: u32 = votes.iter().zip(there).filter(|(_, there)| **there).map(|(votes, _)| votes).sum();
        f64::from(u8::from(2 * cast > total))
    }
}

/// Pairs of gloves: the first `left` players have a left one, the others a right one.
pub(crate) fn gloves(left: usize) -> impl Fn(&[bool]) -> f64 {
    move |there| {
        let count = |hands: &[bool]| hands.iter().filter(|&&there| there).count();
        count(&there[..left]).min(count(&there[left..])) as f64
    }
}

pub(crate) fn random(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// A fixed number of samples.
pub(crate) fn fixed(samples: usize) -> Effort {
    Effort { samples: Some(samples), ..adaptive(0.05, 2000) }
}

/// As many as a tolerance needs within a budget.
pub(crate) fn adaptive(tolerance: f64, budget: usize) -> Effort {
    Effort { samples: None, tolerance, budget }
}
