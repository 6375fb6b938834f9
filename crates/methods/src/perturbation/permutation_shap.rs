//! The mean gain of a player over random orders in which players come in. J. Castro, D. Gómez, J. Tejada, *Polynomial
//! calculation of the Shapley value based on sampling*, 2009. Each order is also run backward, and the two are one sample:
//! what pairs of players do together cancels exactly. R. Mitchell and others, *Sampling permutations for Shapley value
//! estimation*, 2022.

use super::exact_shap;
use super::game::{Game, ShapleyShares, Table};
use super::moments::Moments;
use crate::cost::all_sets;
use crate::effort::{BUDGET, SAMPLES, TOLERANCE, imprecision, more};
use crate::evidence::shuffled;
use crate::registry::{Axiom, Info, Meaning, Method, Needs, New};
use crate::{Effort, Parameter, PerturbedPredictions, Question, RawAttribution, Stream};
use exegete_core::{Error, Result};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "permutation_shap",
    summary: "Shapley values by random orders of the units, with error bars",
    prose: include_str!("permutation_shap.md"),
    parameters: &[
        TOLERANCE,
        BUDGET,
        Parameter { help: "exactly so many orders with their reverses instead", ..SAMPLES },
    ],
    axioms: &[Axiom::Completeness, Axiom::Sensitivity, Axiom::Dummy, Axiom::ImplementationInvariance],
    signed: true,
    meaning: Meaning::Other,
    needs: Needs::Predictions,
    new: New::Scores(|arguments| Ok(Box::new(PermutationShap(Effort::new(arguments)?)))),
};

/// Samples before the errors are first looked at: fewer would stop by luck too often.
const FIRST: usize = 10;
/// The orders of so few players are not drawn: all their sets together are fewer than those of ten orders.
const FEW: usize = 6;
/// So many orders are run together; between them the work can be stopped.
const TOGETHER: usize = 1000;

struct PermutationShap(Effort);

impl Method for PermutationShap {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        self.0.params()
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        let shares =
            shares(&mut PerturbedPredictions::new(job), &self.0, &mut job.random(Stream::PermutationShap))?;
        let note = shares.doubt(&self.0);
        Ok(shares.explained(job).note(note))
    }

    fn own_site(&self) -> bool {
        true
    }

    fn most_rows(&self, units: usize) -> Option<usize> {
        Some(self.0.rows(2 * units.saturating_sub(1)).min(all_sets(units)))
    }

    /// Each unit gains something in each order and its reverse, also where every set is known already.
    fn steps_beside_rows(&self, units: usize) -> usize {
        self.0.samples.map_or(0, |samples| samples.saturating_mul(2 * units))
    }
}

/// Orders and their reverses, until the errors are small enough; all orders of a few players, by their sets, where no number
/// of samples was asked for.
pub fn shares(game: &mut dyn Game, effort: &Effort, random: &mut ChaCha8Rng) -> Result<ShapleyShares> {
    let n = game.players();
    if effort.samples.is_none() && (1..=FEW).contains(&n) && all_sets(n) <= effort.budget {
        return exact_shap::shares(game, n);
    }
    // An order and its reverse ask for n − 1 sets each, beside the two ends.
    let cost = 2 * n.saturating_sub(1).max(1);
    let most = effort.budget.saturating_sub(2) / cost;
    if effort.samples.is_none() && most < 2 {
        return Err(Error::Request(format!(
            "permutation_shap: {n} units need a budget of at least {}, and it is {}; a larger budget, coarser \
             units or partition_shap would work",
            2 * cost + 2,
            effort.budget
        )));
    }
    let mut table = Table::new(game)?;
    let goal = effort.samples.unwrap_or(most);
    let (mut moments, mut planned) = (Moments::default(), effort.samples.unwrap_or(FIRST));
    loop {
        while moments.count < planned.min(goal) {
            let count = TOGETHER.min(planned.min(goal) - moments.count);
            let orders: Vec<Vec<usize>> = (0..count).map(|_| shuffled(n, random)).collect();
            for sample in samples(&mut table, &orders)? {
                moments.add(&sample);
            }
        }
        let errors = moments.errors();
        if moments.count >= goal || effort.met(&moments.means, &errors) {
            return Ok(ShapleyShares::sampled(moments.means, errors, moments.count, &table));
        }
        planned = more(moments.count, imprecision(&moments.means, &errors), effort.tolerance);
    }
}

/// The mean gains over each order and its reverse.
fn samples(table: &mut Table<'_>, orders: &[Vec<usize>]) -> Result<Vec<Vec<f64>>> {
    let both = orders.iter().flat_map(|order| {
        let reverse = order.iter().rev().copied().collect();
        [order.clone(), reverse]
    });
    let both: Vec<Vec<usize>> = both.collect();
    let n = table.players();
    let still_hidden = |order: &Vec<usize>| {
        let after = |there: usize| {
            let mut hidden = order[there..].to_vec();
            hidden.sort_unstable();
            hidden
        };
        (1..n).map(after).collect::<Vec<_>>()
    };
    let values = table.ask(both.iter().flat_map(still_hidden).collect())?;
    let (none, all) = (table.none, table.all);
    let mut found = vec![vec![0.0; n]; orders.len()];
    for (i, order) in both.iter().enumerate() {
        let inner = n.saturating_sub(1);
        let mut before = none;
        for (&player, &value) in order.iter().zip(values[i * inner..(i + 1) * inner].iter().chain([&all])) {
            found[i / 2][player] += 0.5 * (value - before);
            before = value;
        }
    }
    Ok(found)
}
