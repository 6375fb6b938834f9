//! Scores that are all the same say nothing. It has no number of its own, only a failure.

use super::Level;
use super::check::{Check, no_sets};

pub(super) const CHECK: Check =
    Check { level: Level::Default, sets: no_sets, measure: |look, _| Ok(failure(look.scored.values).into()) };

fn failure(values: &[f64]) -> Option<String> {
    let equal = values.len() > 1 && values.windows(2).all(|pair| pair[0] == pair[1]);
    equal.then(|| format!("all {} scores are {}: they rank nothing", values.len(), values[0]))
}
