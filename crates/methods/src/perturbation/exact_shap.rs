//! φᵢ = Σ_S |S|!(n−|S|−1)!/n! · [v(S ∪ i) − v(S)] over all sets S without i. L. S. Shapley, *A value for n-person games*,
//! 1953. v(S) is F with only S there.

use super::game::{Game, ShapleyShares, Table};
use crate::cost::all_sets;
use crate::registry::{Axiom, Info, Meaning, Method, Needs, New, params};
use crate::{Arguments, Parameter, PerturbedPredictions, Question, RawAttribution, Set};
use exegete_core::{Error, Result};
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "exact_shap",
    summary: "Shapley values of a short text's units, from every set of them",
    prose: include_str!("exact_shap.md"),
    parameters: &[Parameter::count(
        "most",
        1..=LIMIT,
        Some(MOST),
        "the most units; above, it refuses and says what would work",
    )],
    axioms: &[
        Axiom::Completeness,
        Axiom::Sensitivity,
        Axiom::Dummy,
        Axiom::Symmetry,
        Axiom::Linearity,
        Axiom::ImplementationInvariance,
    ],
    signed: true,
    meaning: Meaning::Other,
    needs: Needs::Predictions,
    new: New::Scores(|arguments| Ok(Box::new(ExactShap::new(arguments)?))),
};

/// The most players whose sets are all asked for, where the user does not say.
pub const MOST: usize = 12;
/// The most that the user may ask for: 65,536 sets.
pub const LIMIT: usize = 16;

struct ExactShap {
    most: usize,
}

impl ExactShap {
    fn new(arguments: &mut Arguments) -> Result<Self> {
        Ok(Self { most: arguments.count("most")? })
    }
}

impl Method for ExactShap {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        params([("most", self.most.into())])
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        Ok(shares(&mut PerturbedPredictions::new(job), self.most)?.explained(job))
    }

    fn own_site(&self) -> bool {
        true
    }

    fn most_rows(&self, units: usize) -> Option<usize> {
        (units <= self.most).then(|| all_sets(units))
    }
}

/// Every set; refused above `most` players.
pub fn shares(game: &mut dyn Game, most: usize) -> Result<ShapleyShares> {
    let n = game.players();
    if n > most.min(LIMIT) {
        let more = if n <= LIMIT { format!("most={n}, ") } else { String::new() };
        return Err(Error::Request(format!(
            "exact_shap: {n} units have 2^{n} sets, and {} units are the most; {more}coarser units, \
             permutation_shap, kernel_shap or partition_shap would work",
            most.min(LIMIT)
        )));
    }
    let mut table = Table::new(game)?;
    let hidden = |bits: usize| (0..n).filter(|i| bits >> i & 1 == 1).collect::<Set>();
    // Indexed by the bits of who is hidden.
    let values = table.ask((0..1usize << n).map(hidden).collect())?;
    let weights = weights(n);
    let share = |i: usize| {
        let others = (0..1usize << n).filter(|bits| bits >> i & 1 == 1);
        let gain = |bits: usize| {
            let there = n - bits.count_ones() as usize;
            weights[there] * (values[bits & !(1 << i)] - values[bits])
        };
        others.map(gain).sum()
    };
    Ok(ShapleyShares::certain((0..n).map(share).collect(), &table))
}

/// s!(n−s−1)!/n! for s = 0 … n−1: one over n times the number of sets of s among n − 1.
fn weights(n: usize) -> Vec<f64> {
    let mut sets = 1.0;
    let weight = |s: usize| {
        let weight = 1.0 / (n as f64 * sets);
        sets *= (n - 1 - s) as f64 / (s + 1) as f64;
        weight
    };
    (0..n).map(weight).collect()
}
