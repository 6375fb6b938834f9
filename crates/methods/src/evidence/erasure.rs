//! Comprehensiveness and sufficiency. J. DeYoung and others, *ERASER: a benchmark to evaluate rationalized NLP models*,
//! 2020: with r_b the top b % of the units, comp = mean over b of F(x) − F(x without r_b), suff = mean over b of F(x) −
//! F(r_b alone), for b = 1, 5, 10, 20, 50.

use super::ranking::Rankings;
use crate::{PerturbedPredictions, Set};
use exegete_core::Result;
use exegete_core::report::{Erasure, UnitDrop};

/// Mean drops of F that are all smaller than this are rounding: there is nothing to rank.
const SMALLEST_DROP: f64 = 1e-6;
const BINS: [f64; 5] = [0.01, 0.05, 0.1, 0.2, 0.5];

/// How many of `units` units are in each bin: at least one, and always rounded up.
pub(super) fn sizes(units: usize) -> [usize; 5] {
    // The products are not exact: 20 % of 35 units is 7, not 8.
    BINS.map(|share| (share * units as f64 - 1e-9).ceil().max(1.0) as usize)
}

/// Which part of a ranking is hidden.
#[derive(Clone, Copy)]
pub(super) enum Hide {
    Top,
    Rest,
}

/// Everything that [`measured`] will ask for.
pub(super) fn sets(rankings: &Rankings, hide: Hide) -> Vec<Set> {
    let all = [&rankings.own, &rankings.reversed].into_iter().chain(&rankings.random);
    all.flat_map(|order| hidden(order, hide)).collect()
}

/// What hiding each bin does.
pub(super) fn measured(
    masked: &mut PerturbedPredictions<'_>,
    rankings: &Rankings,
    hide: Hide,
) -> Result<Erasure> {
    let (whole, before) = (masked.whole()?.value, masked.whole()?.kept);
    let after = masked.outcomes(&hidden(&rankings.own, hide))?;
    let ratios: Option<Vec<f64>> = after.iter().map(|outcome| Some((outcome.kept? / before?).ln())).collect();
    let log_odds = ratios.map(|ratios| ratios.iter().sum::<f64>() / ratios.len() as f64);
    let mut drop = |order: &Vec<usize>| -> Result<UnitDrop> {
        let outcomes = masked.outcomes(&hidden(order, hide))?;
        Ok(UnitDrop::new(outcomes.iter().map(|outcome| whole - outcome.value).collect()))
    };
    Ok(Erasure {
        bins: BINS.to_vec(),
        own: drop(&rankings.own)?,
        reversed: drop(&rankings.reversed)?,
        random: rankings.random.iter().map(drop).collect::<Result<_>>()?,
        log_odds: log_odds.filter(|ratio| ratio.is_finite()),
    })
}

/// What is hidden in each bin.
fn hidden(order: &[usize], hide: Hide) -> Vec<Set> {
    let part = |size: usize| match hide {
        Hide::Top => order[..size].to_vec(),
        Hide::Rest => order[size..].to_vec(),
    };
    sizes(order.len()).map(part).to_vec()
}

/// Three digits behind the point, or two that count where those would be zeros.
pub(super) fn figure(value: f64) -> String {
    if value == 0.0 || value.abs() >= 0.001 { format!("{value:.3}") } else { format!("{value:.1e}") }
}

/// The mean drops of an erasure.
#[derive(Clone, Copy)]
pub(super) struct Compared {
    pub(super) own: f64,
    pub(super) reversed: f64,
    pub(super) random: f64,
}

impl Compared {
    /// None where no order differs from another: one unit, or a model that nothing moves.
    pub(super) fn of(erasure: &Erasure) -> Option<Self> {
        let (own, reversed) = (erasure.own.mean, erasure.reversed.mean);
        let others = || erasure.random.iter().map(|drop| drop.mean).chain([reversed]);
        let apart = others().any(|other| (other - own).abs() > SMALLEST_DROP);
        let random = erasure.random.iter().map(|drop| drop.mean).sum::<f64>();
        let random = random / erasure.random.len().max(1) as f64;
        apart.then_some(Self { own, reversed, random })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_round_up_and_hold_at_least_one() {
        assert_eq!(sizes(1), [1, 1, 1, 1, 1]);
        assert_eq!(sizes(5), [1, 1, 1, 1, 3]);
        assert_eq!(sizes(35), [1, 2, 4, 7, 18]);
        assert_eq!(sizes(200), [2, 10, 20, 40, 100]);
    }
}
