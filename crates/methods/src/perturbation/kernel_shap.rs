//! The weighted least squares fit v(S) ≈ v(∅) + Σ_{i∈S} φᵢ with Σφ = v(all) − v(∅), where a set of s players weighs
//! (n−1) / (C(n,s)·s·(n−s)). S. Lundberg, S.-I. Lee, *A unified approach to interpreting model predictions*, 2017. Sets
//! come with their complements, and the errors are those of the fit as a function of its samples: I. Covert, S.-I. Lee,
//! *Improving KernelSHAP: practical Shapley value estimation using linear regression*, 2021.
//!
//! The constraint is solved for the last player, which leaves xᵢ = zᵢ − z_n with z who is there. A set and its complement
//! have opposite x, so that they are one observation: x, and u = ½(v(S) − v(S̄) + D) − z_n·D with D what is shared out.

use super::game::{Game, ShapleyShares, Table};
use super::moments::Moments;
use crate::cholesky::Cholesky;
use crate::cost;
use crate::effort::{BUDGET, SAMPLES, TOLERANCE, imprecision, more};
use crate::evidence::shuffled;
use crate::registry::{Axiom, Info, Meaning, Method, Needs, New};
use crate::{Effort, Parameter, PerturbedPredictions, Question, RawAttribution, Stream};
use exegete_core::{Error, Result, dot};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "kernel_shap",
    summary: "Shapley values by a weighted linear fit to random sets of units, with error bars",
    prose: include_str!("kernel_shap.md"),
    parameters: &[
        TOLERANCE,
        BUDGET,
        Parameter { help: "exactly so many sets instead, beside the full and the empty one", ..SAMPLES },
    ],
    axioms: &[Axiom::Completeness, Axiom::Sensitivity, Axiom::ImplementationInvariance],
    signed: true,
    meaning: Meaning::Other,
    needs: Needs::Predictions,
    new: New::Scores(|arguments| Ok(Box::new(KernelShap(Effort::new(arguments)?)))),
};

/// Sets that are asked for before the errors are first looked at.
const FIRST: usize = 128;
/// Where there are no more sets than these, all of them are asked for at once: those of eight units.
const FEW: usize = 254;
/// Sets for each player, at least.
const EACH: usize = 4;

struct KernelShap(Effort);

impl Method for KernelShap {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        self.0.params()
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        let shares =
            shares(&mut PerturbedPredictions::new(job), &self.0, &mut job.random(Stream::KernelShap))?;
        let note = shares.doubt(&self.0);
        Ok(shares.explained(job).note(note))
    }

    fn own_site(&self) -> bool {
        true
    }

    fn most_rows(&self, units: usize) -> Option<usize> {
        Some(self.0.samples.map_or(self.0.budget, |sets| sets + 2).min(cost::all_sets(units)))
    }
}

/// Sets and their complements, until the errors are small enough.
pub fn shares(game: &mut dyn Game, effort: &Effort, random: &mut ChaCha8Rng) -> Result<ShapleyShares> {
    let n = game.players();
    let most = effort.samples.unwrap_or(effort.budget.saturating_sub(2));
    // Fewer would fit their own noise.
    let least = all_sets(n).min((EACH * n) as f64);
    if n > 1 && (most as f64) < least {
        return Err(Error::Request(format!(
            "kernel_shap: {n} units need at least {least} sets beside the full and the empty one, and {most} are allowed; more \
             of them, coarser units or partition_shap would work"
        )));
    }
    let mut table = Table::new(game)?;
    if n < 2 {
        let values = vec![table.all - table.none; n];
        return Ok(ShapleyShares::certain(values, &table));
    }
    let few = if all_sets(n) <= FEW as f64 { FEW } else { FIRST };
    let first = effort.samples.unwrap_or(few.max(EACH * n)).min(most);
    let mut planned = first;
    let mut drawn = Vec::new();
    loop {
        let layers = Layers::new(n, planned);
        drawn.retain(|z: &Vec<bool>| layers.is_sampled(z));
        while drawn.len() < layers.to_draw {
            drawn.push(layers.draw(random));
        }
        let (values, errors) = fitted(&mut table, &layers, &drawn)?;
        // Sets that are drawn again cost nothing, but do not go on for ever.
        if planned >= most || effort.samples.is_none() && effort.met(&values, &errors) {
            return Ok(ShapleyShares::sampled(values, errors, planned.min(layers.samples()), &table));
        }
        planned = more(planned, imprecision(&values, &errors), effort.tolerance).min(most);
    }
}

/// All sets but the empty and the full one.
fn all_sets(n: usize) -> f64 {
    2f64.powi(i32::try_from(n).unwrap_or(i32::MAX)) - 2.0
}

/// Which sizes of sets are all asked for, and which are drawn.
struct Layers {
    players: usize,
    /// Sizes up to this, and the complements, are all asked for.
    whole: usize,
    /// The weight of each size with its complement, from 1 to n/2.
    weights: Vec<f64>,
    /// Pairs to be drawn from the sizes in between.
    to_draw: usize,
    /// Sets in the sizes that are all asked for.
    asked: usize,
}

impl Layers {
    /// From outside in, as long as drawing by weight would ask for every set of a size at least once.
    fn new(n: usize, sets: usize) -> Self {
        let weight = |s: usize| {
            let both = if 2 * s == n { 1.0 } else { 2.0 };
            both * (n - 1) as f64 / (s * (n - s)) as f64
        };
        let weights: Vec<f64> = (1..=n / 2).map(weight).collect();
        let (mut whole, mut left, mut count) = (0, sets as f64, 1.0);
        for s in 1..=n / 2 {
            count *= (n + 1 - s) as f64 / s as f64;
            let sets = if 2 * s == n { count } else { 2.0 * count };
            let share = weights[s - 1] / weights[s - 1..].iter().sum::<f64>();
            if left * share < sets * (1.0 - 1e-8) {
                break;
            }
            (whole, left) = (s, left - sets);
        }
        let to_draw = if whole == n / 2 { 0 } else { (left / 2.0) as usize };
        Self { players: n, whole, weights, to_draw, asked: sets - left as usize }
    }

    /// How many sets are run in all.
    fn samples(&self) -> usize {
        self.asked + 2 * self.to_draw
    }

    fn is_sampled(&self, z: &[bool]) -> bool {
        z.iter().filter(|&&there| there).count() > self.whole
    }

    /// One of each pair of the sizes that are all asked for, with its weight.
    fn enumerated(&self) -> Vec<(Vec<bool>, f64)> {
        let n = self.players;
        let mut found = Vec::new();
        for s in 1..=self.whole {
            let half = 2 * s == n;
            let mut sets = combinations(n, s);
            // A half and its complement are of the same size: the first player tells them apart.
            sets.retain(|z| !half || z[0]);
            let weight = self.weights[s - 1] / sets.len() as f64;
            found.extend(sets.into_iter().map(|z| (z, weight)));
        }
        found
    }

    /// The smaller of a random pair, by weight.
    fn draw(&self, random: &mut ChaCha8Rng) -> Vec<bool> {
        let rest = &self.weights[self.whole..];
        let mut at = random.random::<f64>() * rest.iter().sum::<f64>();
        let found = rest.iter().position(|weight| {
            at -= weight;
            at < 0.0
        });
        let size = self.whole + 1 + found.unwrap_or(rest.len() - 1);
        let mut z = vec![false; self.players];
        shuffled(self.players, random)[..size].iter().for_each(|&player| z[player] = true);
        z
    }
}

/// All sets of s out of n players.
fn combinations(n: usize, s: usize) -> Vec<Vec<bool>> {
    let mut found = Vec::new();
    let mut chosen: Vec<usize> = (0..s).collect();
    loop {
        let mut z = vec![false; n];
        chosen.iter().for_each(|&player| z[player] = true);
        found.push(z);
        // The last one that can still move moves, and those behind it follow.
        let Some(i) = (0..s).rev().find(|&i| chosen[i] < n - s + i) else { return found };
        chosen[i] += 1;
        (i + 1..s).for_each(|k| chosen[k] = chosen[k - 1] + 1);
    }
}

/// A set with its complement, as one observation.
struct Observation {
    x: Vec<f64>,
    u: f64,
    weight: f64,
}

/// The fit and the standard errors of what it gives.
fn fitted(table: &mut Table<'_>, layers: &Layers, drawn: &[Vec<bool>]) -> Result<(Vec<f64>, Vec<f64>)> {
    let mut sets = layers.enumerated();
    let sure = sets.len();
    let rest: f64 = layers.weights[layers.whole..].iter().sum();
    sets.extend(drawn.iter().map(|z| (z.clone(), rest / drawn.len() as f64)));
    let observations = observe(table, sets)?;
    let n = layers.players;
    let (matrix, right) = normal_equations(&observations, n - 1);
    let inverse = Cholesky::of(matrix, n - 1).inverse().ok_or_else(|| {
        Error::Request(format!(
            "kernel_shap: {} sets do not tell {n} units apart; allow more of them",
            layers.samples()
        ))
    })?;
    let free = times(&inverse, &right);
    let values = with_last(&free, table.all - table.none);
    // A fit moves with each of its samples by M⁻¹·x·residual. The residual of a sample that pulls the fit toward itself
    // is larger than it looks, which dividing by 1 − leverage undoes.
    let mut moves = Moments::default();
    for Observation { x, u, weight } in &observations[sure..] {
        let direction = times(&inverse, x);
        let leverage = weight * dot(x, &direction);
        let residual = (u - dot(x, &free)) / (1.0 - leverage).max(0.1);
        let by: Vec<f64> = direction.iter().map(|d| rest * residual * d).collect();
        moves.add(&with_last(&by, 0.0));
    }
    let errors = if drawn.is_empty() { vec![0.0; n] } else { moves.errors() };
    Ok((values, errors))
}

fn observe(table: &mut Table<'_>, sets: Vec<(Vec<bool>, f64)>) -> Result<Vec<Observation>> {
    let both = sets.iter().flat_map(|(z, _)| [z.clone(), z.iter().map(|there| !there).collect()]);
    let values = table.ask_present(&both.collect::<Vec<_>>())?;
    let difference = table.all - table.none;
    let observation = |((z, weight), pair): (&(Vec<bool>, f64), &[f64])| {
        let number = |there: &bool| f64::from(u8::from(*there));
        let last = z.last().map_or(0.0, number);
        let x = z[..z.len() - 1].iter().map(|there| number(there) - last).collect();
        let u = 0.5 * (pair[0] - pair[1] + difference) - last * difference;
        Observation { x, u, weight: *weight }
    };
    Ok(sets.iter().zip(values.chunks_exact(2)).map(observation).collect())
}

/// Σ w·x·xᵀ and Σ w·x·u.
fn normal_equations(observations: &[Observation], width: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut matrix, mut right) = (vec![0.0; width * width], vec![0.0; width]);
    for Observation { x, u, weight } in observations {
        for (i, row) in matrix.chunks_exact_mut(width).enumerate() {
            if x[i] != 0.0 {
                row.iter_mut().zip(x).for_each(|(m, other)| *m += weight * x[i] * other);
            }
            right[i] += weight * x[i] * u;
        }
    }
    (matrix, right)
}

/// The last player takes what the others leave of a total.
fn with_last(free: &[f64], total: f64) -> Vec<f64> {
    let last = total - free.iter().sum::<f64>();
    free.iter().copied().chain([last]).collect()
}

fn times(matrix: &[f64], vector: &[f64]) -> Vec<f64> {
    matrix.chunks_exact(vector.len()).map(|row| dot(row, vector)).collect()
}
