//! The lasso's coefficients where they change course, from no word to least squares. B. Efron and others, *Least angle
//! regression*, 2004, section 3.1.
//!
//! Between two such places the correlations c of the active words with what is left are equal in size and shrink together:
//! the coefficients move along d = G⁻¹ sign(c) of the active block G. A word joins where its correlation has reached that
//! size, and leaves where its coefficient has come to zero.

use crate::cholesky::Cholesky;
use exegete_core::dot;

/// The most places on a path.
const MOST: usize = 500;

/// The coefficients at every such place, the first all zero, for a matrix of products [n, n] and the products with the
/// values. It ends where the correlation per sample is below a float's precision.
pub(super) fn lasso_path(gram: &[f64], cross: &[f64], samples: f64) -> Vec<Vec<f64>> {
    let mut walk =
        Walk { gram, n: cross.len(), active: Vec::new(), barred: vec![false; cross.len()], left: None };
    let mut path = vec![vec![0.0; cross.len()]];
    while path.len() <= MOST {
        let here = &path[path.len() - 1];
        let correlation = |j: usize| cross[j] - dot(&gram[j * walk.n..(j + 1) * walk.n], here);
        let correlations: Vec<f64> = (0..walk.n).map(correlation).collect();
        match walk.step(here, &correlations, f64::from(f32::EPSILON) * samples) {
            Some(next) => path.push(next),
            None => break,
        }
    }
    path
}

struct Walk<'a> {
    gram: &'a [f64],
    n: usize,
    /// Words with a coefficient, and the sign of their correlation.
    active: Vec<(usize, f64)>,
    /// Words that the active ones make up: they never join.
    barred: Vec<bool>,
    /// The word that left in the last step. Its correlation is still the common one: it can join again on the other side
    /// only.
    left: Option<usize>,
}

impl Walk<'_> {
    /// The next place; none at the end.
    fn step(&mut self, here: &[f64], correlations: &[f64], floor: f64) -> Option<Vec<f64>> {
        if self.left.is_none() {
            self.join(correlations, floor)?;
        }
        let common = self.active.first().map(|&(j, _)| correlations[j].abs())?;
        let direction = self.direction();
        let mut next = here.to_vec();
        let (reach, leaves) = self.reach(here, correlations, common, &direction);
        for (&(j, _), d) in self.active.iter().zip(&direction) {
            next[j] += reach * d;
        }
        self.left = leaves.map(|place| self.active.remove(place).0);
        if let Some(word) = self.left {
            next[word] = 0.0;
        }
        Some(next)
    }

    /// The word of the largest correlation becomes active; none where none is left that matters.
    fn join(&mut self, correlations: &[f64], floor: f64) -> Option<()> {
        loop {
            let free = (0..self.n).filter(|&j| self.is_free(j));
            let best = free
                .max_by(|&a, &b| correlations[a].abs().total_cmp(&correlations[b].abs()).then(b.cmp(&a)))?;
            if correlations[best].abs() <= floor {
                return None;
            }
            self.active.push((best, correlations[best].signum()));
            if self.is_independent() {
                return Some(());
            }
            self.active.pop();
            self.barred[best] = true;
        }
    }

    fn is_free(&self, j: usize) -> bool {
        !self.barred[j] && self.active.iter().all(|&(active, _)| active != j)
    }

    /// Whether the last active word adds anything to the others.
    fn is_independent(&self) -> bool {
        self.direction().last().is_some_and(|d| d.is_finite() && *d != 0.0)
    }

    fn direction(&self) -> Vec<f64> {
        let at = |&(i, _): &(usize, f64)| self.active.iter().map(move |&(j, _)| self.gram[i * self.n + j]);
        let block: Vec<f64> = self.active.iter().flat_map(at).collect();
        let signs: Vec<f64> = self.active.iter().map(|&(_, sign)| sign).collect();
        Cholesky::of(block, signs.len()).solve(&signs)
    }

    /// How far the direction holds, and the place among the active words of the one that leaves there.
    fn reach(
        &self,
        here: &[f64],
        correlations: &[f64],
        common: f64,
        direction: &[f64],
    ) -> (f64, Option<usize>) {
        let mut reach = common;
        for j in (0..self.n).filter(|&j| self.is_free(j)) {
            let along: f64 =
                self.active.iter().zip(direction).map(|(&(i, _), d)| self.gram[j * self.n + i] * d).sum();
            let c = correlations[j];
            for (side, far) in [(1.0, (common - c) / (1.0 - along)), (-1.0, (common + c) / (1.0 + along))] {
                let stands_there = self.left == Some(j) && c * side > 0.0;
                if far > 0.0 && far < reach && !stands_there {
                    reach = far;
                }
            }
        }
        let mut leaves = None;
        for (place, (&(j, _), d)) in self.active.iter().zip(direction).enumerate() {
            let far = -here[j] / d;
            if far > 0.0 && far < reach {
                (reach, leaves) = (far, Some(place));
            }
        }
        (reach, leaves)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Independent words join in the order of their size, and the path ends at least squares.
    #[test]
    fn independent_words() {
        let gram = [1.0, 0.0, 0.0, 1.0];
        assert_eq!(lasso_path(&gram, &[3.0, -1.0], 1.0), [vec![0.0, 0.0], vec![2.0, 0.0], vec![3.0, -1.0]]);
        assert_eq!(lasso_path(&gram, &[0.0, 0.0], 1.0), [vec![0.0, 0.0]]);
    }

    /// At a minimum of ½|y − Xβ|² + λ|β|, active correlations are ±λ with the sign of β and the others smaller.
    #[test]
    fn every_place_is_a_minimum() {
        // x₃ is nearly x₁ + x₂, so that it joins first and leaves later.
        let x = [[1.0, 0.1, 1.2], [0.2, 1.0, 1.1], [-1.0, 0.3, -0.8], [0.4, -1.0, -0.7], [0.5, 0.5, 0.7]];
        let y = [2.0, 2.4, -0.9, -1.0, 0.3];
        let product = |i: usize, j: usize| x.iter().map(|row| row[i] * row[j]).sum::<f64>();
        let gram: Vec<f64> = (0..9).map(|k| product(k / 3, k % 3)).collect();
        let cross: Vec<f64> = (0..3).map(|j| x.iter().zip(&y).map(|(row, y)| row[j] * y).sum()).collect();
        let path = lasso_path(&gram, &cross, 1.0);
        let mut left = 0;
        for (before, here) in path.iter().zip(&path[1..]) {
            left += (0..3).filter(|&j| before[j] != 0.0 && here[j] == 0.0).count();
        }
        for here in &path {
            let c: Vec<f64> = (0..3).map(|j| cross[j] - dot(&gram[3 * j..3 * j + 3], here)).collect();
            let lambda = c.iter().fold(0.0, |top: f64, c| top.max(c.abs()));
            for j in (0..3).filter(|&j| here[j] != 0.0) {
                assert!((c[j] - lambda * here[j].signum()).abs() < 1e-9, "{here:?}: {c:?}");
            }
        }
        println!("{path:?}");
        assert!(left > 0, "no word left, so leaving is not tested: {path:?}");
    }
}
