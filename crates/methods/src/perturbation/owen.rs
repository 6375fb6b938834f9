//! Owen values: at every pair of groups each half gets the mean of what it adds without and with the other, and within a
//! half the same again, in both of these contexts. G. Owen, *Values of games with a priori unions*, 1977.
//!
//! ```text
//! low   F of the context                      what half a adds:  without b  F(a) − low,  with b  high − F(b)
//! high  F of the context with the group       what half b adds:  without a  F(b) − low,  with a  high − F(a)
//! ```

use super::game::Table;
use super::tree::Tree;
use exegete_core::Result;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// A group in its two contexts: without and with the other half. The group of all has one.
struct Branch {
    node: usize,
    /// The branch and the side that was split into this and its other half, and the node of that half.
    above: Option<(usize, usize, usize)>,
    sides: Vec<Side>,
    /// The side that is looked into first.
    lead: usize,
    /// The share of all that rests on it.
    weight: f64,
}

/// A group in one context.
struct Side {
    low: f64,
    high: f64,
    /// The branches of its halves, once it is looked into.
    split: Option<[usize; 2]>,
}

impl Side {
    fn new(low: f64, high: f64) -> Self {
        Self { low, high, split: None }
    }

    fn gain(&self) -> f64 {
        self.high - self.low
    }
}

/// Which side is looked into next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Every side on its own, the largest gain by its weight first.
    Sides,
    /// One context of a group first, drawn at random. What it shows serves for the other, until that is looked into too
    /// because the two differ.
    Leads,
}

/// A search down a tree.
pub(super) struct TreeSearch<'t> {
    tree: &'t Tree,
    branches: Vec<Branch>,
    order: Order,
    random: ChaCha8Rng,
}

/// The shares of a group's players, in their order.
#[derive(Clone, Default)]
pub(super) struct Estimate {
    pub(super) values: Vec<f64>,
    pub(super) errors: Vec<f64>,
    /// Whose share is an even part of a group's, in every context that was looked into.
    pub(super) even: Vec<bool>,
}

impl<'t> TreeSearch<'t> {
    pub(super) fn new(tree: &'t Tree, table: &Table<'_>, order: Order, random: ChaCha8Rng) -> Self {
        let all = |node| Branch {
            node,
            above: None,
            sides: vec![Side::new(table.none, table.all)],
            lead: 0,
            weight: 1.0,
        };
        Self { tree, branches: tree.root().map(all).into_iter().collect(), order, random }
    }

    /// The sides that can be looked into, each with how much it matters, the most first.
    pub(super) fn waiting(&self) -> Vec<(usize, usize, f64)> {
        let largest = self.branches.iter().flat_map(|branch| &branch.sides);
        let largest = largest.fold(0.0, |top: f64, side| top.max(side.gain().abs()));
        let mut waiting = Vec::new();
        for (b, branch) in self.branches.iter().enumerate() {
            if self.tree.node(branch.node).halves.is_none() {
                continue;
            }
            for (k, side) in branch.sides.iter().enumerate().filter(|(_, side)| side.split.is_none()) {
                waiting.extend(self.matters(branch, k, side, largest).map(|by| (b, k, by)));
            }
        }
        waiting.sort_by(|a, b| b.2.total_cmp(&a.2));
        waiting
    }

    fn matters(&self, branch: &Branch, k: usize, side: &Side, largest: f64) -> Option<f64> {
        let sides = branch.sides.len() as f64;
        if self.order == Order::Sides {
            return Some(side.gain().abs() * branch.weight / sides);
        }
        let gains = branch.sides.iter().map(|side| side.gain().abs());
        if k == branch.lead {
            // Words that cancel each other give a group no gain: large groups are looked into all the same.
            let share = self.size(branch.node) as f64 / self.tree.players() as f64;
            return Some(branch.weight * gains.sum::<f64>() / sides + largest * share);
        }
        let lead = &branch.sides[branch.lead];
        lead.split.is_some().then(|| 0.5 * branch.weight * (side.gain() - lead.gain()).abs())
    }

    fn size(&self, node: usize) -> usize {
        self.tree.node(node).players.len()
    }

    /// Looks into sides, two sets for each.
    pub(super) fn look(&mut self, table: &mut Table<'_>, at: &[(usize, usize, f64)]) -> Result<()> {
        let mut sets = Vec::with_capacity(2 * at.len());
        for &(b, k, _) in at {
            let context = self.context(b, k);
            for half in self.tree.node(self.branches[b].node).halves.into_iter().flatten() {
                let mut present = context.clone();
                self.tree.node(half).players.iter().for_each(|&player| present[player] = true);
                sets.push(present);
            }
        }
        let values = table.ask_present(&sets)?;
        for (&(b, k, _), pair) in at.iter().zip(values.chunks_exact(2)) {
            self.split(b, k, pair[0], pair[1]);
        }
        Ok(())
    }

    /// Who is there beside the group.
    fn context(&self, mut b: usize, mut k: usize) -> Vec<bool> {
        let mut present = vec![false; self.tree.players()];
        while let Some((above, side, other)) = self.branches[b].above {
            if k == 1 {
                self.tree.node(other).players.iter().for_each(|&player| present[player] = true);
            }
            (b, k) = (above, side);
        }
        present
    }

    /// Books F with only the first half and with only the second beside the context.
    fn split(&mut self, b: usize, k: usize, first: f64, second: f64) {
        let branch = &self.branches[b];
        let Some([left, right]) = self.tree.node(branch.node).halves else { return };
        let Side { low, high, .. } = branch.sides[k];
        let whole = self.order == Order::Leads && k == branch.lead;
        let weight = if whole { branch.weight } else { branch.weight / branch.sides.len() as f64 };
        let at = self.branches.len();
        for (node, other, alone, others) in [(left, right, first, second), (right, left, second, first)] {
            let sides = vec![Side::new(low, alone), Side::new(others, high)];
            let lead = self.random.random_range(0..2);
            self.branches.push(Branch { node, above: Some((b, k, other)), sides, lead, weight });
        }
        self.branches[b].sides[k].split = Some([at, at + 1]);
    }

    /// What all players get, by their numbers.
    pub(super) fn estimate(&self) -> Estimate {
        let Some(root) = self.tree.root() else { return Estimate::default() };
        let found = self.of_branch(0, None);
        let mut sorted = found.clone();
        for (i, &player) in self.tree.node(root).players.iter().enumerate() {
            sorted.values[player] = found.values[i];
            sorted.errors[player] = found.errors[i];
            sorted.even[player] = found.even[i];
        }
        sorted
    }

    fn of_branch(&self, b: usize, like: Option<&Estimate>) -> Estimate {
        let branch = &self.branches[b];
        if branch.sides.len() == 1 {
            return self.of_side(b, 0, like);
        }
        let (lead, other) = match self.order {
            Order::Sides => (self.of_side(b, 0, None), self.of_side(b, 1, None)),
            Order::Leads => {
                let lead = self.of_side(b, branch.lead, like);
                let other = self.of_side(b, 1 - branch.lead, Some(&lead));
                (lead, other)
            }
        };
        lead.mean(&other)
    }

    /// A side that was not looked into is like another context of the same group, but for an even part of the
    /// difference; without such a context it is split evenly.
    fn of_side(&self, b: usize, k: usize, like: Option<&Estimate>) -> Estimate {
        let (branch, side) = (&self.branches[b], &self.branches[b].sides[k]);
        if let Some([left, right]) = side.split {
            let cut = self.size(self.branches[left].node);
            let (first, second) = like.map(|like| like.cut(cut)).unzip();
            return self.of_branch(left, first.as_ref()).with(self.of_branch(right, second.as_ref()));
        }
        let size = self.size(branch.node);
        match like {
            Some(like) => like.moved(side.gain() - like.values.iter().sum::<f64>()),
            None => Estimate { even: vec![size > 1; size], ..Estimate::nothing(size).moved(side.gain()) },
        }
    }
}

impl Estimate {
    fn nothing(size: usize) -> Self {
        Self { values: vec![0.0; size], errors: vec![0.0; size], even: vec![false; size] }
    }

    /// The same with a total shared out evenly. The error of that is as if any one player were due all of it: the root
    /// of the mean square distance between (total, 0, 0 …) and an even split.
    fn moved(&self, total: f64) -> Self {
        let m = self.values.len() as f64;
        let error = total.abs() * (m - 1.0).sqrt() / m;
        Self {
            values: self.values.iter().map(|value| value + total / m).collect(),
            errors: self.errors.iter().map(|own| own.hypot(error)).collect(),
            even: self.even.clone(),
        }
    }

    /// Halfway between two, whose errors may have the same cause.
    fn mean(&self, other: &Self) -> Self {
        let half = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| 0.5 * (a + b)).collect();
        Self {
            values: half(&self.values, &other.values),
            errors: half(&self.errors, &other.errors),
            even: self.even.iter().zip(&other.even).map(|(a, b)| *a && *b).collect(),
        }
    }

    fn cut(&self, at: usize) -> (Self, Self) {
        let part = |range: std::ops::Range<usize>| Self {
            values: self.values[range.clone()].to_vec(),
            errors: self.errors[range.clone()].to_vec(),
            even: self.even[range].to_vec(),
        };
        (part(0..at), part(at..self.values.len()))
    }

    fn with(mut self, other: Self) -> Self {
        self.values.extend(other.values);
        self.errors.extend(other.errors);
        self.even.extend(other.even);
        self
    }
}
