//! Rank correlations with ties, and intervals.

pub mod interval;

use std::cmp::Ordering;

/// Kendall's τ_b and the two-sided p-value of it where there is no relation.
///
/// M. G. Kendall, *The treatment of ties in ranking problems*, 1945. The p-value is exact up to [`EXACT`] pairs without
/// ties, else by the normal approximation with the variance corrected for ties, as `scipy.stats.kendalltau` has it. None
/// where one side is all ties.
pub fn kendall(x: &[f64], y: &[f64]) -> Option<(f64, f64)> {
    let Counted { tau, balance, ties } = Counted::of(x, y)?;
    let n = x.len();
    let p = match &ties {
        None => exact_p(n, |found| found.abs() >= balance.abs()),
        Some((ties_x, ties_y)) => normal_p(n as f64, balance as f64, ties_x, ties_y),
    };
    Some((tau, p))
}

/// Pairs in the same and in the other order.
struct Counted {
    tau: f64,
    /// Concordant pairs minus discordant ones.
    balance: i64,
    /// The ties of either side, where p is not counted out.
    ties: Option<(Ties, Ties)>,
}

impl Counted {
    fn of(x: &[f64], y: &[f64]) -> Option<Self> {
        debug_assert_eq!(x.len(), y.len());
        let n = x.len();
        let (mut balance, mut pairs) = (0i64, 0i64);
        for i in 0..n {
            for j in 0..i {
                let sign = |values: &[f64]| compare(&values[i], &values[j]) as i64;
                balance += sign(x) * sign(y);
                pairs += 1;
            }
        }
        let (ties_x, ties_y) = (Ties::of(x), Ties::of(y));
        let untied = ((pairs as f64 - ties_x.pairs) * (pairs as f64 - ties_y.pairs)).sqrt();
        let exact = n <= EXACT && ties_x.pairs == 0.0 && ties_y.pairs == 0.0;
        let ties = (!exact).then_some((ties_x, ties_y));
        (untied > 0.0).then(|| Self { tau: balance as f64 / untied, balance, ties })
    }
}

/// Kendall's τ_b and the chance of one at least as large where there is no relation, as [`kendall`] has it.
pub fn kendall_above(x: &[f64], y: &[f64]) -> Option<(f64, f64)> {
    let Counted { tau, balance, ties } = Counted::of(x, y)?;
    let n = x.len();
    let p = match &ties {
        None => exact_p(n, |found| found >= balance),
        Some((ties_x, ties_y)) => 0.5 * libm::erfc(normal_z(n as f64, balance as f64, ties_x, ties_y)),
    };
    Some((tau, p))
}

/// The most pairs whose p-value is counted out.
pub const EXACT: usize = 33;

/// Spearman's ρ: Pearson's correlation of ranks, ties at their mean rank. None where one side is all ties.
pub fn spearman(x: &[f64], y: &[f64]) -> Option<f64> {
    debug_assert_eq!(x.len(), y.len());
    let (x, y) = (ranks(x), ranks(y));
    // Mean ranks always have this mean.
    let mean = 0.5 * (x.len() as f64 + 1.0);
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
    let size = (product(&x, &x) * product(&y, &y)).sqrt();
    (size > 0.0).then(|| product(&x, &y) / size)
}

/// Values that differ by less than rounding does are equal: a millionth of the largest.
pub(crate) fn with_ties(values: &[f64]) -> Vec<f64> {
    let largest = values.iter().fold(0.0, |top: f64, v| top.max(v.abs()));
    if !(largest > 0.0 && largest.is_finite()) {
        return values.to_vec();
    }
    values.iter().map(|v| (v / largest * 1e6).round()).collect()
}

/// The total order, but with both zeros alike: a score of −0 is no lower than one of 0.
pub(crate) fn compare(a: &f64, b: &f64) -> Ordering {
    (a + 0.0).total_cmp(&(b + 0.0))
}

/// Ranks from 1, ties at their mean.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| compare(&values[a], &values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    for group in order.chunk_by(|&a, &b| compare(&values[a], &values[b]).is_eq()) {
        let rank = first as f64 + 0.5 * (group.len() as f64 + 1.0);
        group.iter().for_each(|&i| ranks[i] = rank);
        first += group.len();
    }
    ranks
}

/// Sums over groups of t equal values.
struct Ties {
    /// The pairs within ties: Σ t(t−1)/2.
    pairs: f64,
    /// The triples within ties: Σ t(t−1)(t−2).
    triples: f64,
    /// The ties' part of the variance: Σ t(t−1)(2t+5).
    spread: f64,
}

impl Ties {
    fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(compare);
        let mut ties = Self { pairs: 0.0, triples: 0.0, spread: 0.0 };
        for group in sorted.chunk_by(|a, b| compare(a, b).is_eq()) {
            let t = group.len() as f64;
            ties.pairs += t * (t - 1.0) / 2.0;
            ties.triples += t * (t - 1.0) * (t - 2.0);
            ties.spread += t * (t - 1.0) * (2.0 * t + 5.0);
        }
        ties
    }
}

fn normal_p(n: f64, balance: f64, x: &Ties, y: &Ties) -> f64 {
    libm::erfc(normal_z(n, balance.abs(), x, y)).min(1.0)
}

/// The balance in standard deviations, over √2 as erfc takes it.
fn normal_z(n: f64, balance: f64, x: &Ties, y: &Ties) -> f64 {
    let m = n * (n - 1.0);
    let mut variance = (m * (2.0 * n + 5.0) - x.spread - y.spread) / 18.0 + 2.0 * x.pairs * y.pairs / m;
    if n > 2.0 {
        variance += x.triples * y.triples / (9.0 * m * (n - 2.0));
    }
    if variance <= 0.0 { 0.0 } else { balance / variance.sqrt() / std::f64::consts::SQRT_2 }
}

/// The share of all n! orders whose balance of concordant and discordant pairs counts.
///
/// Orders of i values with k discordant pairs: the i-th value stands before 0, 1 … i−1 of the others.
fn exact_p(n: usize, counts: impl Fn(i64) -> bool) -> f64 {
    let pairs = (n * (n - 1) / 2) as i64;
    let mut shares = vec![1.0];
    for i in 2..=n {
        let mut next = vec![0.0; i * (i - 1) / 2 + 1];
        for (k, share) in shares.iter().enumerate() {
            next[k..k + i].iter_mut().for_each(|slot| *slot += share / i as f64);
        }
        shares = next;
    }
    let far = |k: usize| counts(pairs - 2 * k as i64);
    shares.iter().enumerate().filter(|(k, _)| far(*k)).map(|(_, share)| share).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-6, "{a} is not {b}");
    }

    #[test]
    fn kendall_without_ties_is_counted_out() {
        // Of 4! = 24 orders, one has no discordant pair and one has all six; three have one and three have five.
        let (tau, p) = kendall(&[1.0, 2.0, 3.0, 4.0], &[1.0, 2.0, 3.0, 4.0]).unwrap();
        near(tau, 1.0);
        near(p, 2.0 / 24.0);
        let (tau, p) = kendall(&[1.0, 2.0, 3.0, 4.0], &[2.0, 1.0, 3.0, 4.0]).unwrap();
        near(tau, 4.0 / 6.0);
        near(p, 8.0 / 24.0);
        let (tau, p) = kendall(&[1.0, 2.0], &[2.0, 1.0]).unwrap();
        near(tau, -1.0);
        near(p, 1.0);
        // Five concordant and five discordant pairs: every order is at least as far from zero.
        let (tau, p) = kendall(&[1.0, 2.0, 3.0, 4.0, 5.0], &[3.0, 5.0, 1.0, 2.0, 4.0]).unwrap();
        near(tau, 0.0);
        near(p, 1.0);
    }

    #[test]
    fn only_agreement_counts_on_one_side() {
        let above = |x: &[f64], y: &[f64]| kendall_above(x, y).unwrap();
        near(above(&[1.0, 2.0, 3.0, 4.0], &[1.0, 2.0, 3.0, 4.0]).1, 1.0 / 24.0);
        near(above(&[1.0, 2.0, 3.0, 4.0], &[2.0, 1.0, 3.0, 4.0]).1, 4.0 / 24.0);
        near(above(&[1.0, 2.0, 3.0, 4.0], &[4.0, 3.0, 2.0, 1.0]).1, 1.0);
        let (tau, p) = above(&[3.0, 1.0, 2.0, 2.0, 0.0], &[0.5, 0.1, 0.1, 0.4, 0.0]);
        near(tau, 8.0 / 9.0);
        let two_sided = kendall(&[3.0, 1.0, 2.0, 2.0, 0.0], &[0.5, 0.1, 0.1, 0.4, 0.0]).unwrap().1;
        near(p, two_sided / 2.0);
        let (tau, p) = above(&[-3.0, -1.0, -2.0, -2.0, 0.0], &[0.5, 0.1, 0.1, 0.4, 0.0]);
        assert!(tau < -0.8 && p > 0.95, "the opposite is no agreement: {tau}, {p}");
    }

    #[test]
    fn kendall_with_ties_as_in_the_handbook_of_scipy() {
        // scipy.stats.kendalltau([12, 2, 1, 12, 2], [1, 4, 7, 1, 0])
        let (tau, p) = kendall(&[12.0, 2.0, 1.0, 12.0, 2.0], &[1.0, 4.0, 7.0, 1.0, 0.0]).unwrap();
        near(tau, -0.471_404_520_791_031_7);
        near(p, 0.282_745_459_932_774_8);
        assert_eq!(kendall(&[0.0, -0.0], &[1.0, 2.0]), None);
        assert_eq!(kendall(&[1.0], &[1.0]), None);
        assert_eq!(kendall(&[], &[]), None);
    }

    #[test]
    fn kendall_as_scipy_has_it() {
        let check = |x: &[f64], y: &[f64], tau: f64, p: f64| {
            let found = kendall(x, y).unwrap();
            near(found.0, tau);
            near(found.1, p);
        };
        check(&[0.4, 0.2, 0.2, 0.1, 0.1], &[5.0, 3.0, 4.0, 1.0, 2.0], 0.8944272, 0.0367139);
        check(&[1.0, 2.0, 3.0, 4.0, 5.0], &[1.0, 3.0, 2.0, 5.0, 4.0], 0.6, 0.2333333);
        check(&[1.0, 2.0, 2.0, 3.0, 4.0, 5.0], &[2.0, 1.0, 3.0, 3.0, 5.0, 4.0], 0.6428571, 0.0798385);
    }

    #[test]
    fn the_normal_approximation_meets_the_exact_count() {
        let x: Vec<f64> = (0..33).map(f64::from).collect();
        let y: Vec<f64> = (0..33).map(|i| f64::from(i * 7 % 33)).collect();
        let (tau, exact) = kendall(&x, &y).unwrap();
        let none = Ties { pairs: 0.0, triples: 0.0, spread: 0.0 };
        let balance = (tau * 528.0).round();
        assert!((exact - normal_p(33.0, balance, &none, &none)).abs() < 0.02);
    }

    #[test]
    fn spearman_by_hand() {
        near(spearman(&[1.0, 2.0, 3.0], &[10.0, 20.0, 15.0]).unwrap(), 0.5);
        near(spearman(&[3.0, 2.0, 1.0], &[1.0, 2.0, 9.0]).unwrap(), -1.0);
        // Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: 4.5 / √(4.5 · 5).
        near(spearman(&[1.0, 2.0, 2.0, 3.0], &[1.0, 2.0, 3.0, 4.0]).unwrap(), 4.5 / 22.5f64.sqrt());
        assert_eq!(spearman(&[1.0, 1.0], &[1.0, 2.0]), None);
        assert_eq!(spearman(&[], &[]), None);
    }

    #[test]
    fn rounding_makes_ties() {
        assert_eq!(with_ties(&[1.0, 1e-9, -1e-9]), [1e6, 0.0, 0.0]);
        assert_eq!(with_ties(&[0.0, 0.0]), [0.0, 0.0]);
    }
}
