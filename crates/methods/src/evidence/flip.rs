//! The smallest top-ranked set whose removal changes the decision, beside random sets of the same size.

use super::check::{Check, Judged, Look, Ruling};
use super::pool::Pool;
use super::ranking::Rankings;
use super::sentence::quote;
use super::{Level, erasure};
use crate::{Outcome, PerturbedPredictions, Set};
use exegete_core::Result;
use exegete_core::report::number::percent;
use exegete_core::report::{Checks, Flip};
use std::collections::BTreeSet;

/// Prefixes up to this long are all tried; after it their length grows by half each time.
const EACH: usize = 16;
/// Prefixes are run together up to these lengths, while none changes the decision: it mostly changes early.
const STAGES: [usize; 3] = [4, 8, EACH];

/// It fails nothing: a decision that stays may be a sure one.
pub(super) const CHECK: Check = Check { name: "flip", level: Level::Default, sets, measure };

/// The first sets to try; longer ones are run only where none of these changes the decision.
fn sets(look: &Look<'_, '_>) -> Vec<Set> {
    let lengths = lengths(look.rankings.own.len());
    let short = stages(&lengths).next().filter(|_| look.masked.could_decide());
    short.map_or(Vec::new(), |short| prefixes(&look.rankings, short))
}

fn measure(look: &mut Look<'_, '_>, checks: &mut Checks) -> Result<Ruling> {
    let pool = look.pool()?;
    let found = smallest(look.masked, &look.rankings, &pool)?;
    // A flip that takes most of the text says little about its words.
    let most = look.rankings.own.len().div_ceil(2);
    let telling = |flip: &&Flip| (1..=most).contains(&flip.units.len());
    let sentence = found.as_ref().filter(telling).map(|flip| flipped(look, flip));
    let size = |flip: &Flip| Some(flip.units.len() as f64).filter(|size| *size > 0.0);
    let judged = found.as_ref().map(|flip| Judged::shown(size(flip)));
    checks.flip = found;
    Ok(Ruling { judged, sentence })
}

fn flipped(look: &Look<'_, '_>, flip: &Flip) -> String {
    // Answers and words are pieces of text; classes and tags are names.
    let quoted = look.job.card().task.answers_in_text();
    let named = |label: &str| if quoted { quote(label) } else { label.to_owned() };
    let (before, after) = (&flip.before, &flip.after);
    let turns =
        format!("turns {} ({:.2}) into {} ({:.2})", named(&before.0), before.1, named(&after.0), after.1);
    let (verb, kind, listed) = (look.verb(), look.job.kind, look.quoted(&flip.units));
    let cases = format!("in {} of cases", percent(flip.random_share, 0));
    match flip.units.len() {
        1 if look.job.units.len() == 1 => format!("{verb} {listed}, the only {kind}, {turns}."),
        1 => format!("{verb} {listed} alone {turns}; a random {kind} does so {cases}."),
        count => {
            let nouns = look.noun(count);
            format!(
                "{verb} the {count} top {nouns} ({listed}) {turns}; {count} random {nouns} do so {cases}."
            )
        }
    }
}

/// None where the model decides nothing, or where the target does not speak for what it decides: hiding what speaks for
/// another class cannot be expected to change the decision.
fn smallest(masked: &mut PerturbedPredictions<'_>, rankings: &Rankings, pool: &Pool) -> Result<Option<Flip>> {
    let whole = masked.whole()?;
    if !masked.speaks_for_decision()? {
        return Ok(None);
    }
    let lengths = lengths(rankings.own.len());
    let (mut length, mut after) = (None, whole.clone());
    for stage in stages(&lengths) {
        (length, after) = first(masked, &whole, rankings, stage)?;
        if length.is_some() {
            break;
        }
    }
    let named = |outcome: &Outcome| {
        outcome.decision.as_ref().map_or((String::new(), 0.0), |d| (d.label.clone(), d.prob))
    };
    let mut flip = Flip {
        units: length.map_or(Vec::new(), |length| rankings.own[..length].to_vec()),
        tried: length.or(lengths.last().copied()).unwrap_or(0),
        before: named(&whole),
        after: named(&after),
        random_share: 0.0,
        random_sets: 0,
    };
    if let Some(length) = length {
        let mut own = rankings.own[..length].to_vec();
        own.sort_unstable();
        let others: Vec<&Outcome> =
            pool.nearest(length).filter(|(set, _)| *set != own).map(|(_, outcome)| outcome).collect();
        let flips = others.iter().filter(|outcome| !outcome.decides_as(&whole)).count();
        flip.random_sets = others.len();
        flip.random_share = flips as f64 / others.len().max(1) as f64;
    }
    Ok(Some(flip))
}

/// The first of these prefixes that changes the decision, with what comes of it; else none, and what comes of the last.
fn first(
    masked: &mut PerturbedPredictions<'_>,
    whole: &Outcome,
    rankings: &Rankings,
    lengths: &[usize],
) -> Result<(Option<usize>, Outcome)> {
    let outcomes = masked.outcomes(&prefixes(rankings, lengths))?;
    let changed = outcomes.iter().position(|outcome| !outcome.decides_as(whole));
    let at = changed.or(outcomes.len().checked_sub(1));
    let after = at.map_or_else(|| whole.clone(), |at| outcomes[at].clone());
    Ok((changed.map(|at| lengths[at]), after))
}

fn prefixes(rankings: &Rankings, lengths: &[usize]) -> Vec<Set> {
    lengths.iter().map(|&length| rankings.own[..length].to_vec()).collect()
}

/// Lengths, shortest first, as they are tried together.
fn stages(lengths: &[usize]) -> impl Iterator<Item = &[usize]> {
    let stage = |length: usize| STAGES.partition_point(|&end| end < length);
    lengths.chunk_by(move |&a, &b| stage(a) == stage(b))
}

/// The lengths of the prefixes to try. Hiding everything says nothing about an order, so that is only tried where there
/// is one unit. Those of the erasure's bins cost nothing more.
fn lengths(units: usize) -> Vec<usize> {
    let last = units.saturating_sub(1).max(1).min(units);
    let mut lengths: BTreeSet<usize> = (1..=EACH.min(last)).collect();
    let mut length = EACH;
    while length < last {
        length = (length + length / 2).min(last);
        lengths.insert(length);
    }
    lengths.extend(erasure::sizes(units).into_iter().filter(|&size| size <= last));
    lengths.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_grow_and_never_hide_everything() {
        assert_eq!(lengths(1), [1]);
        assert_eq!(lengths(2), [1]);
        assert_eq!(lengths(5), [1, 2, 3, 4]);
        let many = lengths(200);
        assert_eq!(many[..16], (1..=16).collect::<Vec<_>>());
        assert_eq!(many[16..], [20, 24, 36, 40, 54, 81, 100, 121, 181, 199]);
    }

    #[test]
    fn every_prefix_is_tried_once_short_ones_first() {
        let check = |units: usize, expected: &[&[usize]]| {
            let lengths = lengths(units);
            assert_eq!(stages(&lengths).collect::<Vec<_>>(), expected, "{units} units");
        };
        check(1, &[&[1]]);
        check(5, &[&[1, 2, 3, 4]]);
        check(7, &[&[1, 2, 3, 4], &[5, 6]]);
        let (third, last) = ([9, 10, 11, 12, 13, 14, 15, 16], [24]);
        check(25, &[&[1, 2, 3, 4], &[5, 6, 7, 8], &third, &last]);
    }
}
