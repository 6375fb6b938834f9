//! Comprehensiveness and sufficiency. J. DeYoung and others, *ERASER: a benchmark to evaluate rationalized NLP models*,
//! 2020: with r_b the top b % of the units, comp = mean over b of F(x) − F(x without r_b), suff = mean over b of F(x) −
//! F(r_b alone), for b = 1, 5, 10, 20, 50.

use super::pool::Pool;
use super::ranking::Rankings;
use crate::{PerturbedPredictions, Set};
use exegete_core::Result;
use exegete_core::report::{Erasure, UnitDrop};

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

/// Everything that [`measured`] will ask for beside what random sets do.
pub(super) fn sets(rankings: &Rankings, hide: Hide) -> Vec<Set> {
    [&rankings.own, &rankings.reversed].into_iter().flat_map(|order| hidden(order, hide)).collect()
}

/// What hiding each bin does, beside random sets of the nearest size.
pub(super) fn measured(
    masked: &mut PerturbedPredictions<'_>,
    rankings: &Rankings,
    pool: &Pool,
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
    let (own, reversed) = (drop(&rankings.own)?, drop(&rankings.reversed)?);
    let random = hidden(&rankings.own, hide).into_iter().map(|set| match set.len() {
        0 => Some(0.0),
        size => pool.mean(size).map(|value| whole - value),
    });
    let random: Option<Vec<f64>> = random.collect();
    Ok(Erasure {
        bins: BINS.to_vec(),
        own,
        reversed,
        random: random.map(UnitDrop::new).into_iter().collect(),
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
