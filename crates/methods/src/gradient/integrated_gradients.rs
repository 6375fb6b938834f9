//! (x − x′) ⊙ ∫₀¹ ∂F/∂x (x′ + α(x − x′)) dα. M. Sundararajan, A. Taly, Q. Yan, *Axiomatic attribution for deep
//! networks*, 2017. The path lies in the activations of the job's site.

use super::path::{Path, found, mean, times, weighted};
use crate::quadrature::{Ladder, Rule};
use crate::registry::{Axiom, Info, Meaning, Method, Needs, New, params};
use crate::{Baseline, Explained, Job, Reduce, Settings};
use exegete_core::report::Completeness;
use exegete_core::{Array, Error, Result, SiteInfo};
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "integrated_gradients",
    summary: "each word's share of the difference to a baseline, by the gradient along the way from it",
    page: include_str!("integrated_gradients.md"),
    axioms: &[
        Axiom::Completeness,
        Axiom::Sensitivity,
        Axiom::Dummy,
        Axiom::Symmetry,
        Axiom::Linearity,
        Axiom::ImplementationInvariance,
    ],
    signed: true,
    meaning: Meaning::TimesDifference,
    needs: Needs::Inside,
    new: New::Scores(|settings| Ok(Box::new(IntegratedGradients::new(settings)?))),
};

/// How the integral is computed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Points {
    /// More and more until the result is good to a tolerance.
    Tolerance(f64),
    /// As many as asked.
    Fixed(Rule, usize),
}

struct IntegratedGradients {
    points: Points,
}

impl IntegratedGradients {
    fn new(settings: &mut Settings) -> Result<Self> {
        let steps = settings.count("steps")?;
        let rule: Option<Rule> = settings.optional("rule")?;
        let tolerance: Option<f64> = settings.optional("tolerance")?;
        let points = match (steps, rule, tolerance) {
            (Some(_), _, Some(_)) => {
                return Err(Error::Request(
                    "steps fixes the count and tolerance leaves it open; give one".into(),
                ));
            }
            (Some(steps), rule, None) => Points::Fixed(rule.unwrap_or(Rule::GaussLegendre), steps),
            (None, Some(rule), _) => {
                return Err(Error::Request(format!("rule={rule} needs a count, such as steps=50")));
            }
            (None, None, tolerance) => match tolerance.unwrap_or(0.01) {
                tolerance if tolerance > 0.0 => Points::Tolerance(tolerance),
                tolerance => return Err(Error::Request(format!("tolerance={tolerance}: must be above 0"))),
            },
        };
        Ok(Self { points })
    }

    /// Scores along one path, how many points they took, and whether that was enough.
    fn along(&self, job: &Job<'_>, info: &SiteInfo, path: &Path) -> Result<Integral> {
        let products = |alphas: &[f64]| -> Result<Vec<Array>> {
            let gradients = job.gradients(&path.rows(alphas.iter().copied()), &[job.site])?;
            Ok(found(gradients.into_iter().next())?.into_iter().map(|g| times(g, &path.delta)).collect())
        };
        match self.points {
            Points::Fixed(rule, count) => {
                let (alphas, weights): (Vec<f64>, Vec<f64>) = rule.points(count).into_iter().unzip();
                let scores = weighted(&products(&alphas)?, &weights)?;
                Ok(Integral { scores, points: count, change: None, reached: true })
            }
            Points::Tolerance(tolerance) => adaptive(job, info, path, tolerance, &products),
        }
    }
}

/// Two levels of refinement differ by one point in so many.
const LEVEL: usize = 8;

struct Integral {
    scores: Array,
    points: usize,
    /// The largest change of any token in the last refinement, relative to the largest token.
    change: Option<f64>,
    reached: bool,
}

/// More and more points until neither the sum nor any token moves any more: a gap alone can close by cancellation.
fn adaptive(
    job: &Job<'_>,
    info: &SiteInfo,
    path: &Path,
    tolerance: f64,
    products: &dyn Fn(&[f64]) -> Result<Vec<Array>>,
) -> Result<Integral> {
    let mut ladder = Ladder::new();
    let mut all = products(ladder.alphas())?;
    let sums: Vec<Vec<f64>> = all.iter().map(|values| tokens(info, values)).collect();
    ladder.centre_on(|a, b| largest_change(&sums[a], &sums[b]));
    loop {
        let scores = weighted(&all, &ladder.weights())?;
        let now = tokens(info, &scores);
        let gap = Completeness::new(now.iter().copied(), path.difference).gap;
        let largest = now.iter().fold(0.0, |top: f64, v| top.max(v.abs()));
        let earlier = all.len() - all.len().div_ceil(LEVEL);
        let before = tokens(info, &weighted(&all[..earlier], &ladder.weights_of(earlier))?);
        let moved = largest_change(&now, &before);
        let change = if moved == 0.0 { 0.0 } else { moved / largest };
        let reached = gap <= tolerance && change <= tolerance;
        let room = 2 * all.len() * path.delta.len() * size_of::<f32>() <= job.driver.memory_bytes / 2;
        let more = if reached || !room { Vec::new() } else { ladder.grow() };
        if more.is_empty() {
            return Ok(Integral { scores, points: all.len(), change: Some(change), reached });
        }
        all.extend(products(&more)?);
    }
}

fn largest_change(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |top: f64, (a, b)| top.max((a - b).abs()))
}

fn tokens(info: &SiteInfo, values: &Array) -> Vec<f64> {
    let sums = Reduce::Sum.tokens(info, values);
    sums.unwrap_or_else(|| values.data.iter().map(|&v| f64::from(v)).collect())
}

impl Method for IntegratedGradients {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        match self.points {
            Points::Tolerance(tolerance) => params([("tolerance", tolerance.into())]),
            Points::Fixed(rule, count) => {
                params([("rule", rule.to_string().into()), ("steps", count.into())])
            }
        }
    }

    fn baselines(&self) -> &'static [Baseline] {
        &[Baseline::Zero]
    }

    fn explain(&self, job: &Job<'_>) -> Result<Explained> {
        let (info, paths) = (job.info(job.site)?, Path::all(job, job.site)?);
        let share = 1.0 / paths.len() as f64;
        let (mut scores, mut difference, mut points) = (Vec::new(), 0.0, 0);
        let (mut change, mut notes): (Option<f64>, _) = (None, Vec::new());
        for path in &paths {
            let integral = self.along(job, &info, path)?;
            points += integral.points;
            difference += share * path.difference;
            change = integral.change.map(|own| change.map_or(own, |before| before.max(own)));
            if !integral.reached {
                let why = if integral.points < Ladder::MOST { ", all that the memory holds" } else { "" };
                notes.push(format!(
                    "the tolerance was not reached with {} points{why}; the largest change of a token was {:.1} %",
                    integral.points,
                    100.0 * integral.change.unwrap_or(0.0)
                ));
            }
            scores.push(integral.scores);
        }
        let mut explained =
            Explained::new(mean(&scores)?, Reduce::Sum).claiming(difference).with("points", points);
        if let Some(change) = change {
            explained = explained.with("token_change", change);
        }
        explained.notes = notes;
        Ok(explained)
    }
}
