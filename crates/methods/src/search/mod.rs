//! Sets of units that hold or change an answer, looked for by hiding.

pub(crate) mod asking;
pub mod flipping_set;
pub mod input_reduction;
#[cfg(test)]
pub(crate) mod planted;
pub(crate) mod sets;
pub(crate) mod wording;

use crate::Set;
use exegete_core::Result;

/// How many of the sets that were found are shown.
const SHOWN: usize = 5;

/// What the model makes of a text with some units hidden.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeenHidden {
    /// Whether the answer stays.
    pub stays: bool,
    /// The probability of the answer for the whole text.
    pub kept: f64,
}

/// Looks at texts with these units hidden, all in one go.
pub type Look<'f> = dyn FnMut(&[Set]) -> Result<Vec<SeenHidden>> + 'f;

/// A set of hidden units, in order, with what the model makes of it.
pub type Hidden = (Set, SeenHidden);

/// Looks, and puts sets and what is seen together.
fn seen(look: &mut Look<'_>, sets: Vec<Set>) -> Result<Vec<Hidden>> {
    let seen = look(&sets)?;
    Ok(sets.into_iter().zip(seen).collect())
}

/// The surest answer first; of equals the earlier set, so that the order never depends on the search.
fn surest_first(sets: &mut [Hidden]) {
    sets.sort_by(|a, b| b.1.kept.total_cmp(&a.1.kept).then_with(|| a.0.cmp(&b.0)));
}

/// The least sure answer first.
fn least_sure_first(sets: &mut [Hidden]) {
    sets.sort_by(|a, b| a.1.kept.total_cmp(&b.1.kept).then_with(|| a.0.cmp(&b.0)));
}
