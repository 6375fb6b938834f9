//! Owen values over the words, phrases, sentences and fields of a text, as far as a budget goes. S. Lundberg and others
//! compute them best first as `shap.PartitionExplainer`, whose order and counting `samples=` follows.

use super::effort::Effort;
use super::game::{Game, Shares, Table};
use super::owen::{Estimate, Order, Search};
use super::tree::Tree;
use exegete_core::{Error, Result};
use rand_chacha::ChaCha8Rng;

/// The most rows where the user does not say.
pub const BUDGET: usize = 500;
/// Groups that are looked into together where the count is fixed: as many as the other library has.
const FIXED: usize = 5;
/// Groups that are looked into together at most, and by how much they may matter less than the first of them.
const TOGETHER: usize = 16;
const LESS: f64 = 0.25;

/// Owen values, and how many players share evenly in a group that was not looked into.
pub fn shares(
    game: &mut dyn Game,
    tree: &Tree,
    effort: &Effort,
    random: &ChaCha8Rng,
) -> Result<(Shares, usize)> {
    if tree.players() != game.players() {
        let (players, leaves) = (game.players(), tree.players());
        return Err(Error::Request(format!("partition_shap: a tree of {leaves} for {players} units")));
    }
    let mut table = Table::new(game)?;
    let estimate = match effort.samples {
        Some(samples) => best_first(&mut table, tree, samples, random)?,
        None if tree.cost() <= effort.budget as f64 => all(&mut table, tree, random)?,
        None => thrifty(&mut table, tree, effort.budget, random)?,
    };
    let Estimate { values, errors, even } = estimate;
    let (evenly, rows) = (even.iter().filter(|even| **even).count(), table.rows());
    Ok((Shares::sampled(values, errors, rows, &table, effort), evenly))
}

/// The whole tree, level by level.
fn all(table: &mut Table<'_>, tree: &Tree, random: &ChaCha8Rng) -> Result<Estimate> {
    let mut search = Search::new(tree, table, Order::Sides, random.clone());
    loop {
        let waiting = search.waiting();
        if waiting.is_empty() {
            return Ok(search.estimate());
        }
        search.look(table, &waiting)?;
    }
}

/// Both contexts of every group, the largest gain first, a few at a time.
fn best_first(table: &mut Table<'_>, tree: &Tree, rows: usize, random: &ChaCha8Rng) -> Result<Estimate> {
    let mut search = Search::new(tree, table, Order::Sides, random.clone());
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
fn thrifty(table: &mut Table<'_>, tree: &Tree, budget: usize, random: &ChaCha8Rng) -> Result<Estimate> {
    let mut search = Search::new(tree, table, Order::Leads, random.clone());
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
