//! How many different scores there are. Scores that are all the same say nothing.

use super::Level;
use super::check::{Check, Judged, Ruling, no_sets};
use super::zero::are_zero;
use crate::statistics::{compare, with_ties};

/// Scores that rank anything are of at least two kinds.
const FEWEST: usize = 2;

pub(super) const CHECK: Check = Check {
    name: "distinct_scores",
    level: Level::Default,
    sets: no_sets,
    // One score has nothing to differ from, and scores that are no scores are told so.
    measure: |look, _| match look.values.len() {
        0 | 1 => Ok(Ruling::default()),
        _ if are_zero(look)? => Ok(Ruling::default()),
        _ => Ok(judged(&look.values).into()),
    },
};

fn judged(values: &[f64]) -> Judged {
    let mut kinds = with_ties(values);
    kinds.sort_by(compare);
    kinds.dedup();
    let equal = kinds.len() < FEWEST;
    let failure = equal.then(|| format!("all {} scores are {}: they rank nothing", values.len(), values[0]));
    Judged::new(kinds.len() as f64, FEWEST as f64, failure)
}
