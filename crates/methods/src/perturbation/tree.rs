use crate::Question;
use exegete_core::Units;

/// Players in nested groups of two.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tree {
    nodes: Vec<Node>,
}

/// A player or two groups.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    /// Those of the first group, then those of the second.
    pub(super) players: Vec<usize>,
    /// The two groups that it is made of, by their places; none for a single player.
    pub(super) halves: Option<[usize; 2]>,
}

impl Tree {
    /// The units of a text by its fields, sentences, phrases and words.
    pub fn of_text(job: &Question<'_>) -> Self {
        let levels = [Units::Field, Units::Sentence, Units::Phrase, Units::Word];
        Self::of_levels(job.units.len(), &levels.map(|kind| groups(job, kind)))
    }

    /// A tree over players in order, from levels of groups, the coarsest first: each level gives every player the number
    /// of its group, and neighbours with the same number belong together. Groups of more than two parts are cut where
    /// both sides have about as many players.
    pub fn of_levels(players: usize, levels: &[Vec<usize>]) -> Self {
        let mut tree = Self::default();
        if players > 0 {
            tree.grow((0..players).collect(), levels);
        }
        tree
    }

    /// A tree from pairs of groups to join, as linkage matrices list them: numbers below `players` are players, the next
    /// number is the first pair and so on. The last pair is the root. None where a pair joins what is not there yet.
    pub fn of_pairs(players: usize, pairs: &[[usize; 2]]) -> Option<Self> {
        let mut tree = Self::default();
        (0..players).for_each(|player| _ = tree.leaf(player));
        for &[left, right] in pairs {
            if left.max(right) >= tree.nodes.len() || left == right {
                return None;
            }
            tree.join(left, right);
        }
        (tree.players() == players).then_some(tree)
    }

    /// How many players there are.
    pub fn players(&self) -> usize {
        self.nodes.last().map_or(0, |root| root.players.len())
    }

    /// How many sets the whole tree takes, the two ends included.
    ///
    /// A node under d others has 2^d contexts: each other half on the way down is there or not.
    pub fn cost(&self) -> f64 {
        let mut waiting: Vec<(usize, f64)> = self.root().map(|root| (root, 2.0)).into_iter().collect();
        let mut cost = 2.0;
        while let Some((node, sets)) = waiting.pop() {
            if let Some(halves) = self.nodes[node].halves {
                cost += sets;
                waiting.extend(halves.map(|half| (half, 2.0 * sets)));
            }
        }
        cost
    }

    /// The group of all.
    pub(super) fn root(&self) -> Option<usize> {
        self.nodes.len().checked_sub(1)
    }

    pub(super) fn node(&self, node: usize) -> &Node {
        &self.nodes[node]
    }

    fn leaf(&mut self, player: usize) -> usize {
        self.nodes.push(Node { players: vec![player], halves: None });
        self.nodes.len() - 1
    }

    fn join(&mut self, left: usize, right: usize) -> usize {
        let players = [left, right].map(|half| self.nodes[half].players.as_slice()).concat();
        self.nodes.push(Node { players, halves: Some([left, right]) });
        self.nodes.len() - 1
    }

    /// The node over some players; its own node comes last.
    fn grow(&mut self, players: Vec<usize>, levels: &[Vec<usize>]) -> usize {
        let Some((level, finer)) = levels.split_first() else {
            let leaves: Vec<usize> = players.into_iter().map(|player| self.leaf(player)).collect();
            return self.balanced(&leaves);
        };
        let group = |player: &usize| level.get(*player);
        let runs = players.chunk_by(|a, b| group(a) == group(b)).map(<[usize]>::to_vec);
        let parts: Vec<usize> =
            runs.collect::<Vec<_>>().into_iter().map(|run| self.grow(run, finer)).collect();
        self.balanced(&parts)
    }

    /// Joins neighbours from the middle of their players outward.
    fn balanced(&mut self, parts: &[usize]) -> usize {
        if let [part] = parts {
            return *part;
        }
        let size = |part: &usize| self.nodes[*part].players.len();
        let total: usize = parts.iter().map(size).sum();
        let before = |cut: &usize| parts[..*cut].iter().map(size).sum::<usize>();
        let cut = (1..parts.len()).min_by_key(|cut| (2 * before(cut)).abs_diff(total)).unwrap_or(1);
        let (left, right) = parts.split_at(cut);
        let (left, right) = (self.balanced(left), self.balanced(right));
        self.join(left, right)
    }
}

/// For each unit of a job the number of the larger unit that its first token belongs to.
pub(super) fn groups(job: &Question<'_>, kind: Units) -> Vec<usize> {
    let larger = kind.of(job.encoded());
    let mut home = vec![usize::MAX; job.encoded().len()];
    for (index, unit) in larger.iter().enumerate() {
        unit.tokens.iter().for_each(|&token| home[token] = index);
    }
    let of = |tokens: &[usize]| tokens.first().and_then(|&token| home.get(token)).copied();
    job.units.iter().map(|unit| of(&unit.tokens).unwrap_or(usize::MAX)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree in brackets.
    fn written(tree: &Tree, node: usize) -> String {
        match tree.node(node).halves {
            None => tree.node(node).players[0].to_string(),
            Some([left, right]) => format!("({} {})", written(tree, left), written(tree, right)),
        }
    }

    #[test]
    fn levels_become_pairs() {
        let check = |players, levels: &[Vec<usize>], expected: &str| {
            let tree = Tree::of_levels(players, levels);
            assert_eq!(written(&tree, tree.root().unwrap()), expected);
            assert_eq!(tree.players(), players);
        };
        check(1, &[], "0");
        check(4, &[], "((0 1) (2 3))");
        check(5, &[vec![0, 0, 0, 0, 1]], "(((0 1) (2 3)) 4)");
        check(5, &[vec![7; 5], vec![0, 1, 1, 1, 2]], "(0 ((1 (2 3)) 4))");
        // Numbers that come again further on are other groups.
        check(3, &[vec![0, 1, 0]], "(0 (1 2))");
        assert_eq!(Tree::of_levels(0, &[]), Tree::default());
    }

    #[test]
    fn pairs_are_joined_and_costs_counted() {
        let tree = Tree::of_pairs(4, &[[0, 2], [1, 3], [4, 5]]).unwrap();
        assert_eq!(written(&tree, 6), "((0 2) (1 3))");
        assert_eq!(tree.node(6).players, [0, 2, 1, 3]);
        // The ends, two sets for the root, and two in each of two contexts for each half.
        assert_eq!(tree.cost(), 2.0 + 2.0 + 2.0 * 4.0);
        assert_eq!(Tree::of_pairs(4, &[[0, 1], [4, 9]]), None);
        assert_eq!(Tree::of_pairs(4, &[[0, 1]]), None);
        assert_eq!(Tree::of_levels(1, &[]).cost(), 2.0);
        // 5,000 words take more than anyone pays.
        assert!(Tree::of_levels(5000, &[]).cost() > 1e7);
    }
}
