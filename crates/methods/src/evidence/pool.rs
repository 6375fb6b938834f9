//! What random sets of units do: the shared sets and the units that are left out in turn, which are run anyway.

use crate::{Outcome, PerturbedPredictions, Set};
use exegete_core::Result;

/// Sets that depend on no scores, each with what hiding it gives.
pub(super) struct Pool {
    single: Vec<(Set, Outcome)>,
    larger: Vec<(Set, Outcome)>,
}

impl Pool {
    /// Of sets of one unit and larger ones.
    pub(super) fn of(masked: &mut PerturbedPredictions<'_>, single: &[Set], larger: &[Set]) -> Result<Self> {
        let mut read = |sets: &[Set]| -> Result<Vec<(Set, Outcome)>> {
            Ok(sets.iter().cloned().zip(masked.outcomes(sets)?).collect())
        };
        Ok(Self { single: read(single)?, larger: read(larger)? })
    }

    /// Those whose size is nearest to this one; single units where that is one, or where there is nothing larger.
    pub(super) fn nearest(&self, size: usize) -> impl Iterator<Item = &(Set, Outcome)> {
        let sets = if size <= 1 || self.larger.is_empty() { &self.single } else { &self.larger };
        let least = sets.iter().map(|(set, _)| set.len().abs_diff(size)).min();
        sets.iter().filter(move |(set, _)| Some(set.len().abs_diff(size)) == least)
    }

    /// The mean of F over these; none where there are none.
    pub(super) fn mean(&self, size: usize) -> Option<f64> {
        let (sum, count) = self
            .nearest(size)
            .fold((0.0, 0.0), |(sum, count), (_, outcome)| (sum + outcome.value, count + 1.0));
        (count > 0.0).then(|| sum / count)
    }
}
