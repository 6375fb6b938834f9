//! Whether there are any scores at all: what is rounding beside F is nothing.

use super::Level;
use super::check::{Check, Judged, Look};
use crate::Set;
use crate::rounding::{self, ALL_ZERO, largest};
use exegete_core::Result;

pub(super) const CHECK: Check = Check {
    name: "zero_scores",
    level: Level::Default,
    sets: |look| everything(look).into_iter().collect(),
    measure: |look, _| {
        let (largest, floor) = (largest(&look.values), floor(look)?);
        let failure = (largest <= floor).then(|| ALL_ZERO.to_owned());
        Ok(Judged::new(largest, floor, failure).into())
    },
};

/// Whether all scores are rounding.
pub(super) fn are_zero(look: &mut Look<'_, '_>) -> Result<bool> {
    Ok(largest(&look.values) <= floor(look)?)
}

/// What rounding is beside F of the whole text and of one with everything hidden.
fn floor(look: &mut Look<'_, '_>) -> Result<f64> {
    let hidden = look.masked.outcomes(everything(look).as_slice())?;
    let (whole, hidden) = (look.masked.whole()?.explained, hidden.first().map_or(0.0, |o| o.explained));
    Ok(rounding::floor([whole, hidden]))
}

/// The set of all units, where a text without them can be read.
fn everything(look: &Look<'_, '_>) -> Option<Set> {
    Some((0..look.values.len()).collect()).filter(|all| look.masked.can_hide(all))
}
