//! How far heads are from each other: the mean over rows of the Jensen–Shannon divergence, and a map of all heads by classical
//! scaling. As in K. Clark and others, *What does BERT look at?*, 2019.

use super::TokenPlaces;
use exegete_core::Array;
use serde::{Deserialize, Serialize};

/// Divergences of all pairs of heads, summed over texts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeadDivergence {
    heads: usize,
    /// One a pair a < b, in nats: those of the first head first.
    sums: Vec<f64>,
    texts: usize,
}

impl HeadDivergence {
    /// Of so many heads, before any text.
    pub fn new(heads: usize) -> Self {
        Self { heads, sums: vec![0.0; heads * heads.saturating_sub(1) / 2], texts: 0 }
    }

    /// Adds a text by its maps, one \[N, T, T\] a layer.
    pub fn add(&mut self, maps: &[Array], places: &TokenPlaces) {
        let (tokens, rows) = (places.len(), places.content());
        let heads: Vec<&[f32]> = maps.iter().flat_map(|map| map.data.chunks(tokens * tokens)).collect();
        let share = 1.0 / rows.len().max(1) as f64;
        for &i in &rows {
            let row = |head: usize| &heads[head][i * tokens..][..tokens];
            let entropies: Vec<f64> =
                (0..self.heads).map(|head| entropy(row(head).iter().copied())).collect();
            let mut sums = self.sums.iter_mut();
            for a in 0..self.heads {
                for (b, sum) in (a + 1..self.heads).zip(&mut sums) {
                    let middle = row(a).iter().zip(row(b)).map(|(a, b)| 0.5 * (a + b));
                    // JSD = H(m) − (H(a) + H(b))/2, which rounding can leave below nothing.
                    let jsd = entropy(middle) - 0.5 * (entropies[a] + entropies[b]);
                    *sum += share * jsd.clamp(0.0, f64::INFINITY);
                }
            }
        }
        self.texts += 1;
    }

    /// Adds the texts of another sum over the same heads.
    pub fn join(&mut self, other: &Self) {
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, own)| *sum += own);
        self.texts += other.texts;
    }

    /// The mean over texts for each pair, a list for each head.
    pub fn matrix(&self) -> Vec<Vec<f64>> {
        let mut matrix = vec![vec![0.0; self.heads]; self.heads];
        let pairs = (0..self.heads).flat_map(|a| (a + 1..self.heads).map(move |b| (a, b)));
        for ((a, b), sum) in pairs.zip(&self.sums) {
            let mean = sum / self.texts.max(1) as f64;
            (matrix[a][b], matrix[b][a]) = (mean, mean);
        }
        matrix
    }
}

fn entropy(row: impl Iterator<Item = f32>) -> f64 {
    row.map(f64::from).filter(|&p| p > 0.0 || p.is_nan()).map(|p| -p * p.ln()).sum()
}

/// Classical scaling: points in the plane whose distances are near the given ones. W. Torgerson, *Multidimensional scaling: I*,
/// 1952. The largest coordinate along each axis is positive.
pub fn scaled(distances: &[Vec<f64>]) -> Vec<[f64; 2]> {
    let n = distances.len();
    let squares: Vec<Vec<f64>> = distances.iter().map(|row| row.iter().map(|d| d * d).collect()).collect();
    let means: Vec<f64> = squares.iter().map(|row| row.iter().sum::<f64>() / n as f64).collect();
    let all = means.iter().sum::<f64>() / n as f64;
    let inner = |i: usize, j: usize| -0.5 * (squares[i][j] - means[i] - means[j] + all);
    let mut matrix: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| inner(i, j)).collect()).collect();
    let vectors = eigen(&mut matrix);
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| matrix[b][b].total_cmp(&matrix[a][a]));
    let axis = |k: usize| -> Vec<f64> {
        let Some(&column) = order.get(k) else { return vec![0.0; n] };
        let length = matrix[column][column].max(0.0).sqrt();
        let values: Vec<f64> = vectors.iter().map(|row| length * row[column]).collect();
        let top = values.iter().copied().fold(0.0, |top: f64, x| if x.abs() > top.abs() { x } else { top });
        values.iter().map(|x| x * top.signum()).collect()
    };
    axis(0).into_iter().zip(axis(1)).map(|(x, y)| [x, y]).collect()
}

/// How many rounds of rotations there are at most: five to ten are enough for any symmetric matrix.
const ROUNDS: usize = 50;

/// Jacobi's rotations: a symmetric matrix becomes diagonal, and the columns of what is returned are its eigenvectors.
fn eigen(a: &mut [Vec<f64>]) -> Vec<Vec<f64>> {
    let n = a.len();
    let mut vectors: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for _ in 0..ROUNDS {
        let off: f64 = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i][j] * a[i][j]).sum();
        let size: f64 = (0..n).map(|i| a[i][i] * a[i][i]).sum();
        if off <= 1e-24 * size {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                rotate(a, &mut vectors, p, q);
            }
        }
    }
    vectors
}

/// Makes one entry zero.
fn rotate(a: &mut [Vec<f64>], vectors: &mut [Vec<f64>], p: usize, q: usize) {
    if a[p][q] == 0.0 {
        return;
    }
    let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let c = 1.0 / (t * t + 1.0).sqrt();
    let s = t * c;
    let turn = |row: &mut Vec<f64>| (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
    a.iter_mut().for_each(turn);
    if let Ok([first, second]) = a.get_disjoint_mut([p, q]) {
        let pairs = first.iter_mut().zip(second.iter_mut());
        pairs.for_each(|(x, y)| (*x, *y) = (c * *x - s * *y, s * *x + c * *y));
    }
    vectors.iter_mut().for_each(turn);
}
