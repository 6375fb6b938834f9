//! Owen values over the words, phrases, sentences and fields of a text, as far as a budget goes. S. Lundberg and others
//! compute them best first as `shap.PartitionExplainer`, whose order and counting `samples=` follows.

use super::game::{Game, ShapleyShares, Table};
use super::owen::{Estimate, Order, TreeSearch};
use super::tree::Tree;
use crate::cost::all_sets;
use crate::effort::{MOST_ROWS, SAMPLES};
use crate::registry::{Axiom, Info, Meaning, Method, Needs, New, params};
use crate::{Arguments, Parameter, PerturbedPredictions, Question, RawAttribution, Stream};
use exegete_core::{Error, Result};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "partition_shap",
    summary: "Shapley values down the tree of fields, sentences, phrases and words, for texts of any length",
    prose: include_str!("partition_shap.md"),
    parameters: &[
        Parameter::count("budget", 1..=MOST_ROWS, Some(BUDGET), "the most rows of the model"),
        Parameter {
            help: "so many rows in SHAP's own order and counting instead, for the same numbers; not with `budget`",
            ..SAMPLES
        },
    ],
    axioms: &[Axiom::Completeness, Axiom::Sensitivity, Axiom::ImplementationInvariance],
    signed: true,
    meaning: Meaning::Other,
    needs: Needs::Predictions,
    new: New::Scores(|arguments| Ok(Box::new(PartitionShap(SetCount::new(arguments)?)))),
};

/// The most rows where the user does not say.
pub const BUDGET: usize = 500;
/// Groups that are looked into together where the count is fixed: as many as the other library has.
const FIXED: usize = 5;
/// Groups that are looked into together at most, and by how much they may matter less than the first of them.
const TOGETHER: usize = 16;
const LESS: f64 = 0.25;

/// How many sets are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetCount {
    /// At most these, spent as well as we know how.
    Budget(usize),
    /// These, in the order of the other library.
    Fixed(usize),
}

impl SetCount {
    fn new(arguments: &mut Arguments) -> Result<Self> {
        match (arguments.optional_count("samples")?, arguments.count("budget")?) {
            (Some(_), _) if arguments.is_given("budget") => {
                Err(Error::Request("a fixed number of samples has no budget: give one".into()))
            }
            (Some(samples), _) => Ok(Self::Fixed(samples)),
            (None, budget) => Ok(Self::Budget(budget)),
        }
    }
}

struct PartitionShap(SetCount);

impl Method for PartitionShap {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        match self.0 {
            SetCount::Budget(budget) => params([("budget", budget.into())]),
            SetCount::Fixed(samples) => params([("samples", samples.into())]),
        }
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        let tree = Tree::of_text(job);
        let (shares, evenly) =
            shares(&mut PerturbedPredictions::new(job), &tree, self.0, job.random(Stream::PartitionShap))?;
        let note = |key: &str| {
            format!(
                "{evenly} of {} units share evenly in groups that {} rows were too few to look into; all would take \
                 {:.0}: raise {key}",
                tree.players(),
                shares.rows,
                tree.cost()
            )
        };
        let key = if matches!(self.0, SetCount::Budget(_)) { "budget" } else { "samples" };
        let note = (evenly > 0).then(|| note(key));
        Ok(shares.explained(job).note(note))
    }

    fn own_site(&self) -> bool {
        true
    }

    fn most_rows(&self, units: usize) -> Option<usize> {
        let (SetCount::Budget(rows) | SetCount::Fixed(rows)) = self.0;
        Some(rows.min(all_sets(units)))
    }
}

/// Owen values, and how many players share evenly in a group that was not looked into.
pub fn shares(
    game: &mut dyn Game,
    tree: &Tree,
    rows: SetCount,
    random: ChaCha8Rng,
) -> Result<(ShapleyShares, usize)> {
    if tree.players() != game.players() {
        let (players, leaves) = (game.players(), tree.players());
        return Err(Error::Request(format!("partition_shap: a tree of {leaves} for {players} units")));
    }
    let mut table = Table::new(game)?;
    let Estimate { values, errors, even } = match rows {
        SetCount::Fixed(samples) => best_first(&mut table, tree, samples, random)?,
        SetCount::Budget(budget) if tree.cost() <= budget as f64 => all(&mut table, tree, random)?,
        SetCount::Budget(budget) => thrifty(&mut table, tree, budget, random)?,
    };
    let evenly = even.iter().filter(|even| **even).count();
    Ok((ShapleyShares::sampled(values, errors, table.rows(), &table), evenly))
}

/// The whole tree, level by level.
fn all(table: &mut Table<'_>, tree: &Tree, random: ChaCha8Rng) -> Result<Estimate> {
    let mut search = TreeSearch::new(tree, table, Order::Sides, random);
    loop {
        let waiting = search.waiting();
        if waiting.is_empty() {
            return Ok(search.estimate());
        }
        search.look(table, &waiting)?;
    }
}

/// Both contexts of every group, the largest gain first, a few at a time.
fn best_first(table: &mut Table<'_>, tree: &Tree, rows: usize, random: ChaCha8Rng) -> Result<Estimate> {
    let mut search = TreeSearch::new(tree, table, Order::Sides, random);
    let mut left = rows.saturating_sub(2);
    loop {
        let mut waiting = search.waiting();
        waiting.truncate(FIXED.min(left.div_ceil(2)));
        if waiting.is_empty() {
            return Ok(search.estimate());
        }
        search.look(table, &waiting)?;
        left = left.saturating_sub(2 * waiting.len());
    }
}

/// One context of every group first, until the budget ends. The errors say how evenly words share, not how surely, so that
/// no tolerance stops this.
fn thrifty(table: &mut Table<'_>, tree: &Tree, budget: usize, random: ChaCha8Rng) -> Result<Estimate> {
    let mut search = TreeSearch::new(tree, table, Order::Leads, random);
    loop {
        let mut waiting = search.waiting();
        let least = waiting.first().map_or(0.0, |first| LESS * first.2);
        waiting.truncate(TOGETHER.min(budget.saturating_sub(table.rows()) / 2));
        waiting.retain(|side| side.2 >= least);
        if waiting.is_empty() {
            return Ok(search.estimate());
        }
        search.look(table, &waiting)?;
    }
}
