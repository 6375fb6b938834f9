//! Agreement with leaving out one unit at a time.

use super::Level;
use super::check::{Check, Judged, Look, Ruling};
use super::ranking::Rankings;
use crate::statistics::{kendall_above, with_ties};
use crate::{PerturbedPredictions, Set};
use exegete_core::Result;
use exegete_core::report::{Checks, RankAgreement};

/// The level at which a τ above zero is called significant.
pub(crate) const SIGNIFICANCE: f64 = 0.05;

/// The most units that are all left out in turn.
const ALL: usize = 50;
/// How many are, of a longer text: fewer, because its other rows cannot be shared with other checks.
const SOME: usize = 36;

pub(super) const CHECK: Check = Check {
    name: "leave_one_out",
    level: Level::Default,
    sets: |look| sets(&measured(&look.rankings)),
    measure,
};

fn measure(look: &mut Look<'_, '_>, checks: &mut Checks) -> Result<Ruling> {
    let measured = measured(&look.rankings);
    let found = weighed(look.masked, &look.values, look.explained.signed(), measured)?;
    let judged = Judged::shown(found.tau);
    checks.leave_one_out = Some(found);
    Ok(judged.into())
}

/// Which units are left out in turn: all, or some that are evenly spread over the ranks.
pub(super) fn measured(rankings: &Rankings) -> Vec<usize> {
    let order = &rankings.own;
    if order.len() <= ALL {
        return (0..order.len()).collect();
    }
    let rank = |i: usize| (i * (order.len() - 1) + (SOME - 1) / 2) / (SOME - 1);
    let mut units: Vec<usize> = (0..SOME).map(|i| order[rank(i)]).collect();
    units.sort_unstable();
    units
}

/// One set a unit.
pub(super) fn sets(measured: &[usize]) -> Vec<Set> {
    measured.iter().map(|&unit| vec![unit]).collect()
}

/// Kendall's τ between scores and drops of F, and the chance of one at least as large; scores without a sign are compared with the sizes of the drops.
fn weighed(
    masked: &mut PerturbedPredictions<'_>,
    values: &[f64],
    signed: bool,
    measured: Vec<usize>,
) -> Result<RankAgreement> {
    let whole = masked.whole()?.value;
    let outcomes = masked.outcomes(&sets(&measured))?;
    let drops: Vec<f64> = outcomes.iter().map(|outcome| whole - outcome.value).collect();
    let by = |v: f64| if signed { v } else { v.abs() };
    let scores: Vec<f64> = measured.iter().map(|&unit| by(values[unit])).collect();
    let sizes: Vec<f64> = drops.iter().copied().map(by).collect();
    let found = kendall_above(&with_ties(&scores), &with_ties(&sizes));
    let (tau, p_value) = found.unzip();
    Ok(RankAgreement { tau, p_value, units: measured.len(), drops, measured })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rankings(count: usize) -> Rankings {
        Rankings { own: (0..count).rev().collect(), reversed: Vec::new(), random: Vec::new() }
    }

    #[test]
    fn long_texts_are_measured_at_evenly_spread_ranks() {
        assert_eq!(measured(&rankings(3)), [0, 1, 2]);
        assert_eq!(measured(&rankings(50)).len(), 50);
        let some = measured(&rankings(200));
        assert_eq!((some.len(), some[0], some[SOME - 1]), (SOME, 0, 199));
        let steps: Vec<usize> = some.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(steps.iter().all(|step| (5..=7).contains(step)), "{steps:?}");
    }
}
