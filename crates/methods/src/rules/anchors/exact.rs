//! Short texts have few ways to hide units: all of them are looked at, and nothing is an estimate.

use super::draws::{Draw, DrawSource};
use super::grow::{AnchorSearch, AnchorStep, EXAMPLES, Found};
use exegete_core::Result;
use exegete_core::report::Bounded;

/// The most units: 2⁸ = 256 texts cost as much as a search by draws.
const UNITS: usize = 8;

/// Whether all texts can be looked at.
pub(super) fn is_possible(search: &AnchorSearch, source: &DrawSource<'_>) -> bool {
    !source.numbered && source.units <= UNITS && 1 << source.units <= search.budget
}

/// The shortest rule that is precise enough, else the most precise one.
pub(super) fn find(search: &AnchorSearch, source: DrawSource<'_>) -> Result<Found> {
    let DrawSource { units, ask, .. } = source;
    let draws: Vec<Draw> = (0..1 << units).map(|hidden| (members(hidden, units), 0)).collect();
    let stays: Vec<bool> = ask(&draws)?.into_iter().map(|lead| lead > 0.0).collect();
    let precisions = precisions(&stays, units);
    let mut steps: Vec<AnchorStep> = Vec::new();
    for size in 0..=search.most.min(units) {
        let rules = (0..1 << units).filter(|rule: &usize| rule.count_ones() as usize == size);
        let best = rules.reduce(|best, rule| if precisions[rule] > precisions[best] { rule } else { best });
        let rule = best.unwrap_or(0);
        steps.push(AnchorStep { conditions: members(rule, units), precision: certain(precisions[rule]) });
        if precisions[rule] >= search.threshold {
            break;
        }
    }
    // Of equals the last, as `max_by` has it, would be the longer rule.
    let best = steps.iter().rev().max_by(|a, b| a.precision.value.total_cmp(&b.precision.value));
    let AnchorStep { conditions, precision } = best.cloned().unwrap_or_else(|| steps[0].clone());
    let under = |keeps: bool| -> Vec<Draw> {
        let own = draws.iter().zip(&stays).rev().filter(|(draw, stays)| {
            **stays == keeps && conditions.iter().all(|condition| !draw.0.contains(condition))
        });
        own.take(EXAMPLES).map(|(draw, _)| draw.clone()).collect()
    };
    Ok(Found {
        precision,
        met: precision.value >= search.threshold,
        keeps: under(true),
        breaks: under(false),
        random: (!conditions.is_empty()).then(|| certain(mean_of_size(&precisions, conditions.len()))),
        conditions,
        steps,
        exact: true,
        draws: draws.len(),
    })
}

/// For every rule, the share of the texts that keep its units and the answer among those that keep its units.
fn precisions(stays: &[bool], units: usize) -> Vec<f64> {
    let all = stays.len() - 1;
    // A rule applies where what is hidden lies outside it: sums over all subsets of what may be hidden.
    let mut sums: Vec<usize> = stays.iter().map(|&stays| usize::from(stays)).collect();
    for unit in 0..units {
        for hidden in (0..=all).filter(|hidden| hidden >> unit & 1 == 1) {
            sums[hidden] += sums[hidden ^ 1 << unit];
        }
    }
    let share = |rule: usize| sums[all ^ rule] as f64 / (1 << (units - rule.count_ones() as usize)) as f64;
    (0..=all).map(share).collect()
}

fn mean_of_size(precisions: &[f64], size: usize) -> f64 {
    let own = precisions.iter().enumerate().filter(|(rule, _)| rule.count_ones() as usize == size);
    let (sum, count) = own.fold((0.0, 0.0), |(sum, count), (_, precision)| (sum + precision, count + 1.0));
    sum / count
}

fn members(bits: usize, units: usize) -> Vec<usize> {
    (0..units).filter(|unit| bits >> unit & 1 == 1).collect()
}

fn certain(value: f64) -> Bounded {
    Bounded { value, low: value, high: value }
}
