//! A guess at what the linear picture leaves, so that chance moves only what the guess misses.
//!
//! Near texts get near values: from the rows, the remainder r of any text z is guessed as g(z) = Σ aᵢ ρ^h(z, zᵢ), with h the
//! number of words in which z and row i differ and a = (K + λI)⁻¹ r (kernel ridge regression). How such a g looks to the
//! population of all texts with words hidden is a finite sum, because by symmetry only the number of present words and the
//! overlap matter. So g is fitted to all texts there are, its value at each row (by the rows without that one) is taken
//! off before the fit, and the two are added: a control variate (P. Glasserman, *Monte Carlo methods in financial
//! engineering*, 2003, section 4.1).

use super::cholesky::{Cholesky, dot};
use super::rows::{Linear, Rows};
use super::sample::mass;

/// How fast a guess forgets: ρ = exp(−reach/n).
const REACHES: [f64; 3] = [0.5, 1.5, 4.0];
/// How little it trusts single rows.
const RIDGES: [f64; 3] = [1e-4, 1e-2, 1.0];
/// The most rows to choose among these with, and to guess from.
const TRIAL: usize = 200;
const MOST: usize = 600;

/// g
pub(super) struct Remainder {
    /// ρ⁰, ρ¹ … ρⁿ
    powers: Vec<f64>,
    rows: Vec<usize>,
    factors: Vec<f64>,
    /// g at every row, without the help of that row.
    pub(super) guesses: Vec<f64>,
}

impl Remainder {
    /// The best guess; none where guessing nothing is better.
    pub(super) fn guess(rows: &Rows, remainder: &[f64]) -> Option<Self> {
        let near = Bits::of(rows);
        let trial = spread(rows.len(), TRIAL);
        let error = |left: &dyn Fn(usize) -> f64| {
            trial.iter().enumerate().map(|(i, &row)| rows.weights[row] * left(i).powi(2)).sum::<f64>()
        };
        let (mut least, mut best) = (std::env::var("MARGIN").map_or(1.0,|v|v.parse::<f64>().unwrap())*error(&|i| remainder[trial[i]]), None);
        for reach in REACHES {
            let powers = powers(reach, rows.words);
            for ridge in RIDGES {
                let (_, left) = regress(&near, &powers, &trial, ridge, remainder);
                let error = error(&|i| left[i]);
                if error < least {
                    (least, best) = (error, Some((reach, ridge)));
                }
            }
        }
        let (reach, ridge) = best?;
        let (powers, used) = (powers(reach, rows.words), spread(rows.len(), MOST));
        let (factors, left) = regress(&near, &powers, &used, ridge, remainder);
        let at = |row: usize| used.iter().zip(&factors).map(|(&i, a)| a * powers[near.apart(row, i)]).sum();
        let mut guesses: Vec<f64> = match used.len() == rows.len() {
            true => vec![0.0; rows.len()],
            false => (0..rows.len()).map(at).collect(),
        };
        used.iter().zip(left).for_each(|(&row, left)| guesses[row] = remainder[row] - left);
        Some(Self { powers, rows: used, factors, guesses })
    }

    /// What the linear fit makes of g over all texts, where `samples` rows in all are to weigh as that many of the
    /// original's.
    pub(super) fn projection(&self, rows: &Rows, kept: &[usize], penalty: f64, samples: f64) -> Linear {
        let n = rows.words;
        let sizes: Vec<usize> = self.rows.iter().map(|&row| count(rows.present(row))).collect();
        let mut tables: Vec<Option<Seen>> = vec![None; n + 1];
        let mut sums = vec![0.0; kept.len() + 1];
        let mut whole = 0.0;
        for ((&row, a), &m) in self.rows.iter().zip(&self.factors).zip(&sizes) {
            let seen = *tables[m].get_or_insert_with(|| Seen::of(&self.powers, m, n));
            sums[0] += a * seen.total;
            for (sum, &word) in sums[1..].iter_mut().zip(kept) {
                *sum += a * if rows.present(row)[word] > 0.0 { seen.present } else { seen.hidden };
            }
            whole += a * self.powers[n - m];
        }
        sums.iter_mut().for_each(|sum| *sum = whole + (samples - 1.0) * *sum);
        let solved = population(n, kept.len(), penalty, samples).solve(&sums);
        Linear { kept: kept.to_vec(), intercept: solved[0], coefficients: solved[1..].to_vec() }
    }
}

/// The normal equations of all texts for so many of the n words, the intercept first.
fn population(n: usize, kept: usize, penalty: f64, samples: f64) -> Cholesky {
    let (mut total, mut single, mut both) = (0.0, 0.0, 0.0);
    for k in 0..n {
        let (mass, share) = (mass(k, n), k as f64 / n as f64);
        total += mass;
        single += mass * share;
        both += mass * share * (k.max(1) - 1) as f64 / (n.max(2) - 1) as f64;
    }
    let entry = |i: usize, j: usize| match (i, j) {
        (0, 0) => 1.0 + (samples - 1.0) * total,
        (0, _) | (_, 0) => 1.0 + (samples - 1.0) * single,
        _ if i == j => 1.0 + (samples - 1.0) * single + penalty,
        _ => 1.0 + (samples - 1.0) * both,
    };
    let size = kept + 1;
    Cholesky::of((0..size * size).map(|at| entry(at / size, at % size)).collect(), size)
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

/// ln C(n, k)
fn ways(n: usize, k: usize) -> f64 {
    let log = |n: usize| libm::lgamma(n as f64 + 1.0);
    log(n) - log(k) - log(n - k)
}

fn powers(reach: f64, n: usize) -> Vec<f64> {
    (0..=n).map(|h| (-reach * h as f64 / n as f64).exp()).collect()
}

/// Up to `most` of so many rows, evenly.
fn spread(rows: usize, most: usize) -> Vec<usize> {
    let taken = rows.min(most);
    (0..taken).map(|i| i * rows / taken).collect()
}

/// The factors a, and what the guess for each row by the others leaves: aᵢ / (K + λI)⁻¹ᵢᵢ.
fn regress(
    near: &Bits,
    powers: &[f64],
    used: &[usize],
    ridge: f64,
    remainder: &[f64],
) -> (Vec<f64>, Vec<f64>) {
    let size = used.len();
    let mut kernel = vec![0.0; size * size];
    for i in 0..size {
        for j in 0..i {
            kernel[i * size + j] = powers[near.apart(used[i], used[j])];
        }
        kernel[i * size + i] = 1.0 + ridge;
    }
    let solver = Cholesky::of(kernel, size);
    let values: Vec<f64> = used.iter().map(|&row| remainder[row]).collect();
    let factors = solver.solve(&values);
    let left = factors.iter().zip(solver.inverse_diagonal()).map(|(a, d)| a / d).collect();
    (factors, left)
}

/// Which words are present, a bit each.
struct Bits {
    blocks: usize,
    bits: Vec<u64>,
}

impl Bits {
    fn of(rows: &Rows) -> Self {
        let blocks = rows.words.div_ceil(64);
        let block = |words: &[f64]| {
            words.iter().enumerate().fold(0, |bits, (i, &x)| bits | (u64::from(x > 0.0) << i))
        };
        let row = |row: usize| rows.present(row).chunks(64).map(block);
        Self { blocks, bits: (0..rows.len()).flat_map(row).collect() }
    }

    /// In how many words two rows differ.
    fn apart(&self, a: usize, b: usize) -> usize {
        let row = |row: usize| &self.bits[row * self.blocks..(row + 1) * self.blocks];
        row(a).iter().zip(row(b)).map(|(a, b)| (a ^ b).count_ones() as usize).sum()
    }
}

fn count(present: &[f64]) -> usize {
    dot(present, present) as usize
}
