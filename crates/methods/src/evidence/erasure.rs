//! Comprehensiveness and sufficiency. J. DeYoung and others, *ERASER: a benchmark to evaluate rationalized NLP models*,
//! 2020: with r_b the top b % of the units, comp = mean over b of F(x) − F(x without r_b), suff = mean over b of F(x) −
//! F(r_b alone), for b = 1, 5, 10, 20, 50.

use super::ranking::Rankings;
use crate::{Masked, Set};
use exegete_core::Result;
use exegete_core::report::{Drop, Erasure};

const BINS: [f64; 5] = [0.01, 0.05, 0.1, 0.2, 0.5];

/// How many of `units` units are in each bin: at least one, and always rounded up.
pub(super) fn sizes(units: usize) -> [usize; 5] {
    // The products are not exact: 20 % of 35 units is 7, not 8.
    BINS.map(|share| (share * units as f64 - 1e-9).ceil().max(1.0) as usize)
}

/// Which part of a ranking is hidden.
#[derive(Clone, Copy)]
enum Hide {
    Top,
    Rest,
}

/// Everything that [`measure`] will ask for.
pub(super) fn sets(rankings: &Rankings) -> Vec<Set> {
    let all = [&rankings.own, &rankings.reversed].into_iter().chain(&rankings.random);
    all.flat_map(|order| [Hide::Top, Hide::Rest].into_iter().flat_map(|hide| hidden(order, hide))).collect()
}

/// Comprehensiveness and sufficiency.
pub(super) fn measure(masked: &mut Masked<'_>, rankings: &Rankings) -> Result<(Erasure, Erasure)> {
    Ok((erasure(masked, rankings, Hide::Top)?, erasure(masked, rankings, Hide::Rest)?))
}

fn erasure(masked: &mut Masked<'_>, rankings: &Rankings, hide: Hide) -> Result<Erasure> {
    let (whole, before) = (masked.whole()?.value, masked.whole()?.kept);
    let after = masked.outcomes(&hidden(&rankings.own, hide))?;
    let ratios: Option<Vec<f64>> = after.iter().map(|outcome| Some((outcome.kept? / before?).ln())).collect();
    let log_odds = ratios.map(|ratios| ratios.iter().sum::<f64>() / ratios.len() as f64);
    let mut drop = |order: &Vec<usize>| -> Result<Drop> {
        let outcomes = masked.outcomes(&hidden(order, hide))?;
        Ok(Drop::new(outcomes.iter().map(|outcome| whole - outcome.value).collect()))
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
