//! A guess at F for any text with words hidden, so that chance moves only what the guess misses.
//!
//! Near texts have near values: g(z) = Σ aᵢ k(z, zᵢ) over the rows, with k(z, z′) = ρ^h + τ(1 + z·z′), where h is the number of
//! words in which z and z′ differ (the second part is for what is linear) and a = (K + λI)⁻¹ F, kernel ridge regression.
//! What the linear fit makes of such a g over *all* texts with words hidden is a finite sum, because by symmetry only the
//! numbers of present words and their overlap matter. So that is computed, the rows are fitted to what g misses, and the two
//! are added: a control variate (P. Glasserman, *Monte Carlo methods in financial engineering*, 2003, section 4.1). The fit
//! to all texts stays what is estimated, however bad the guess.

use super::rows::{Linear, Rows};
use super::sample::{Stratum, mass};
use crate::cholesky::Cholesky;
use exegete_core::dot;

/// How fast a guess forgets: ρ = exp(−reach/n). The last leaves only what is linear.
const REACHES: [f64; 4] = [0.5, 1.5, 4.0, f64::INFINITY];
/// λ: how little it trusts single rows.
const RIDGES: [f64; 2] = [1e-4, 1e-2];
/// τ: how much more may be linear than not.
const LINEAR: f64 = 100.0;
/// What g misses at one row and at its neighbours is alike, and rows are counted as if it were not. Standard errors are longer
/// by this, with which they hold as often as they say: the coverage test.
const DOUBT: f64 = 1.12;
/// The most rows to choose among these with, and to guess from.
const TRIAL: usize = 160;
const MOST: usize = 600;

/// A guess g at F for rows that were not drawn, by a kernel over what was.
pub(super) struct ControlVariate {
    /// ρ⁰, ρ¹ … ρⁿ
    powers: Vec<f64>,
    rows: Vec<usize>,
    factors: Vec<f64>,
    /// By how much the standard errors must be longer.
    pub(super) doubt: f64,
    /// F − g at every row.
    pub(super) left: Vec<f64>,
    /// The same with g by the other rows: as it would be at a row that was not drawn.
    pub(super) missed: Vec<f64>,
}

impl ControlVariate {
    /// The guess that would have been best for each row by the others.
    pub(super) fn of(rows: &Rows) -> Self {
        let (near, trial) = (Near::of(rows), spread(rows.len(), TRIAL));
        let (mut least, mut best) = (f64::INFINITY, (REACHES[0], RIDGES[0]));
        for reach in REACHES {
            for ridge in RIDGES {
                let (_, left) = regress(&near, &powers(reach, rows.words), &trial, ridge, &rows.values);
                let error = trial.iter().zip(&left).map(|(&row, left)| rows.weights[row] * left * left).sum();
                if error < least {
                    (least, best) = (error, (reach, ridge));
                }
            }
        }
        let (powers, used) = (powers(best.0, rows.words), spread(rows.len(), MOST));
        let (factors, missing) = regress(&near, &powers, &used, best.1, &rows.values);
        let at = |row| used.iter().zip(&factors).map(|(&i, a)| a * near.kernel(&powers, row, i)).sum::<f64>();
        let mut left: Vec<f64> = match used.len() == rows.len() {
            true => vec![0.0; rows.len()],
            false => (0..rows.len()).map(|row| rows.values[row] - at(row)).collect(),
        };
        let mut missed = left.clone();
        for ((&row, a), miss) in used.iter().zip(&factors).zip(missing) {
            (left[row], missed[row]) = (best.1 * a, miss);
        }
        // A guess that is only linear knows no neighbours.
        let doubt = if powers[1] > 0.0 { DOUBT } else { 1.0 };
        Self { powers, rows: used, factors, doubt, left, missed }
    }

    /// What g misses at the texts that each row stands for: itself, and in the place of those that were not drawn.
    pub(super) fn standing(&self, strata: &[Stratum]) -> Vec<f64> {
        let mut standing = self.left.clone();
        for Stratum { rows, share } in strata {
            rows.iter().for_each(|&row| standing[row] += (1.0 - share) * (self.missed[row] - self.left[row]));
        }
        standing
    }

    /// What the linear fit makes of g over all texts, where `samples` rows in all are to weigh as that many of the
    /// original's.
    pub(super) fn projection(&self, rows: &Rows, kept: &[usize], penalty: f64, samples: f64) -> Linear {
        let (n, all) = (rows.words, Population::of(rows.words, samples));
        // The linear part: τ Σ aᵢ (1 + z·zᵢ).
        let (mut slopes, mut level) = (vec![0.0; n], 0.0);
        let mut tables: Vec<Option<Seen>> = vec![None; n + 1];
        let (mut sums, mut whole) = (vec![0.0; kept.len() + 1], 0.0);
        for (&row, a) in self.rows.iter().zip(&self.factors) {
            let present = rows.present(row);
            let m = dot(present, present) as usize;
            let seen = *tables[m].get_or_insert_with(|| Seen::of(&self.powers, m, n));
            sums[0] += a * seen.total;
            for (sum, &word) in sums[1..].iter_mut().zip(kept) {
                *sum += a * if present[word] > 0.0 { seen.present } else { seen.hidden };
            }
            whole += a * self.powers[n - m];
            level += LINEAR * a;
            slopes.iter_mut().zip(present).for_each(|(slope, x)| *slope += LINEAR * a * x);
        }
        let slope: f64 = slopes.iter().sum();
        sums.iter_mut().for_each(|sum| *sum = whole + (samples - 1.0) * *sum);
        sums[0] += all.total * level + all.single * slope;
        for (sum, &word) in sums[1..].iter_mut().zip(kept) {
            *sum += all.single * (level + slopes[word]) + all.both * (slope - slopes[word]);
        }
        let solved = all.equations(kept.len(), penalty).solve(&sums);
        Linear { kept: kept.to_vec(), intercept: solved[0], coefficients: solved[1..].to_vec() }
    }
}

/// Sums over all texts by their weights: of one, of a word's presence, of the presence of two.
struct Population {
    total: f64,
    single: f64,
    both: f64,
}

impl Population {
    fn of(n: usize, samples: f64) -> Self {
        let (mut total, mut single, mut both) = (0.0, 0.0, 0.0);
        for k in 0..n {
            let (mass, share) = (mass(k, n), k as f64 / n as f64);
            total += mass;
            single += mass * share;
            both += mass * share * (k.max(1) - 1) as f64 / (n.max(2) - 1) as f64;
        }
        let scaled = |sum: f64| 1.0 + (samples - 1.0) * sum;
        Self { total: scaled(total), single: scaled(single), both: scaled(both) }
    }

    /// The normal equations for so many of the words, the intercept first.
    fn equations(&self, kept: usize, penalty: f64) -> Cholesky {
        let entry = |i: usize, j: usize| match (i, j) {
            (0, 0) => self.total,
            (0, _) | (_, 0) => self.single,
            _ if i == j => self.single + penalty,
            _ => self.both,
        };
        let size = kept + 1;
        Cholesky::of((0..size * size).map(|at| entry(at / size, at % size)).collect(), size)
    }
}

/// Sums over all texts with words hidden, by their masses, of ρ^h to one text with m words present: of itself, and times
/// the presence of a word that this text has, or has not.
#[derive(Clone, Copy)]
struct Seen {
    total: f64,
    present: f64,
    hidden: f64,
}

impl Seen {
    fn of(powers: &[f64], m: usize, n: usize) -> Self {
        let mut seen = Self { total: 0.0, present: 0.0, hidden: 0.0 };
        for k in 0..n {
            let first = (k + m).saturating_sub(n);
            // The share of the sets of k words that have c in common with the m: C(m, c) C(n − m, k − c) / C(n, k).
            let mut share = (ways(m, first) + ways(n - m, k - first) - ways(n, k)).exp();
            for c in first..=k.min(m) {
                let part = mass(k, n) * share * powers[k + m - 2 * c];
                seen.total += part;
                seen.present += part * c as f64 / m.max(1) as f64;
                seen.hidden += part * (k - c) as f64 / (n - m).max(1) as f64;
                share *= ((m - c) * (k - c)) as f64 / ((c + 1) * (n + c + 1 - m - k)) as f64;
            }
        }
        seen
    }
}

/// The logarithm of the number of ways to choose k of n, ln C(n, k).
fn ways(n: usize, k: usize) -> f64 {
    let log = |n: usize| libm::lgamma(n as f64 + 1.0);
    log(n) - log(k) - log(n - k)
}

fn powers(reach: f64, n: usize) -> Vec<f64> {
    let power = |h: usize| if h == 0 { 1.0 } else { (-reach * h as f64 / n as f64).exp() };
    (0..=n).map(power).collect()
}

/// Up to `most` of so many rows, evenly.
fn spread(rows: usize, most: usize) -> Vec<usize> {
    let taken = rows.min(most);
    (0..taken).map(|i| i * rows / taken).collect()
}

/// The factors a, and what the guess for each row by the others leaves: aᵢ / (K + λI)⁻¹ᵢᵢ.
fn regress(near: &Near, powers: &[f64], used: &[usize], ridge: f64, values: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let size = used.len();
    let mut kernel = vec![0.0; size * size];
    for i in 0..size {
        (0..=i).for_each(|j| kernel[i * size + j] = near.kernel(powers, used[i], used[j]));
        kernel[i * size + i] += ridge;
    }
    let solver = Cholesky::of(kernel, size);
    let values: Vec<f64> = used.iter().map(|&row| values[row]).collect();
    let factors = solver.solve(&values);
    let left = factors.iter().zip(solver.inverse_diagonal()).map(|(a, d)| a / d).collect();
    (factors, left)
}

/// Which words are present, a bit each.
struct Near {
    blocks: usize,
    bits: Vec<u64>,
}

impl Near {
    fn of(rows: &Rows) -> Self {
        let block = |words: &[f64]| {
            words.iter().enumerate().fold(0, |bits, (i, &x)| bits | (u64::from(x > 0.0) << i))
        };
        let row = |row: usize| rows.present(row).chunks(64).map(block);
        Self { blocks: rows.words.div_ceil(64), bits: (0..rows.len()).flat_map(row).collect() }
    }

    /// The kernel k between two rows, by how many words they share.
    fn kernel(&self, powers: &[f64], a: usize, b: usize) -> f64 {
        let row = |row: usize| &self.bits[row * self.blocks..(row + 1) * self.blocks];
        let (mut apart, mut shared) = (0, 0);
        for (a, b) in row(a).iter().zip(row(b)) {
            apart += (a ^ b).count_ones();
            shared += (a & b).count_ones();
        }
        powers[apart as usize] + LINEAR * f64::from(1 + shared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// g at all 2⁶ texts, one by one, gives what its projection gives.
    #[test]
    fn the_projection_is_the_fit_to_all_texts() {
        const N: usize = 6;
        let f = |x: &[f64]| x[0] + (2.0 * x[1] - x[2]).tanh() + x[3] * x[4];
        let texts: Vec<Vec<f64>> =
            (0..1usize << N).rev().map(|bits| (0..N).map(|i| (bits >> i & 1) as f64).collect()).collect();
        let rows = |texts: &[Vec<f64>], weight: &dyn Fn(usize) -> f64, f: &dyn Fn(&[f64]) -> f64| Rows {
            words: N,
            present: texts.concat(),
            weights: texts.iter().map(|text| weight(dot(text, text) as usize)).collect(),
            values: texts.iter().map(|text| f(text)).collect(),
        };
        let some: Vec<Vec<f64>> = texts.iter().step_by(3).cloned().collect();
        let drawn = rows(&some, &|_| 1.0, &f);
        let guess = ControlVariate::of(&drawn);
        let g = |z: &[f64]| {
            let apart = |x: &[f64]| x.iter().zip(z).filter(|(a, b)| a != b).count();
            let k = |x: &[f64]| guess.powers[apart(x)] + LINEAR * (1.0 + dot(x, z));
            guess.rows.iter().zip(&guess.factors).map(|(&row, a)| a * k(drawn.present(row))).sum::<f64>()
        };
        let samples = 500.0;
        let sets = |k: usize| ways(N, k).exp();
        let weight = |k: usize| if k == N { 1.0 } else { (samples - 1.0) * mass(k, N) / sets(k) };
        let all = rows(&texts, &weight, &g);
        for kept in [vec![0, 1, 2, 3, 4, 5], vec![4, 1]] {
            let expected = all.moments(&all.values).ridge(&kept, 1.0);
            let found = guess.projection(&drawn, &kept, 1.0, samples);
            assert!((found.intercept - expected.intercept).abs() < 1e-7);
            let (found, expected) = (&found.coefficients, &expected.coefficients);
            exegete_testkit::close("coefficients", found, expected, exegete_testkit::Of::Size(1.0), 1e-7);
        }
        assert!(guess.powers[1] > 0.0, "only the linear part was tested");
    }
}
