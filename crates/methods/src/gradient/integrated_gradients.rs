//! (x − x′) ⊙ ∫₀¹ ∂F/∂x (x′ + α(x − x′)) dα. M. Sundararajan, A. Taly, Q. Yan, *Axiomatic attribution for deep
//! networks*, 2017. The path lies in the activations of the job's site.

use super::path::{Line, Path, along, found, mean, times, weighted};
use crate::parameter::{POSITIVE, Parameter, Takes, names};
use crate::quadrature::{LejaQuadrature, QuadratureRule};
use crate::registry::{Axiom, Info, Meaning, Method, Needs, New, params};
use crate::{Arguments, Baseline, Question, RawAttribution, Reduce};
use exegete_core::report::Completeness;
use exegete_core::{Array, Error, Result, SiteInfo};
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "integrated_gradients",
    summary: "each word's share of the difference to a baseline, by the gradient along the way from it",
    prose: include_str!("integrated_gradients.md"),
    parameters: &[
        Parameter::number(
            "tolerance",
            POSITIVE,
            Some(0.01),
            "of the gap to the claimed sum and of the change of any token, at which no point is added",
        ),
        Parameter::count(
            "steps",
            1..=QuadratureRule::MOST,
            None,
            "exactly so many points, not with `tolerance`; without it the tolerance says how many",
        ),
        Parameter {
            name: "rule",
            takes: Takes::Choice { of: &names(&QuadratureRule::NAMES), default: None },
            help: "how the points of `steps` lie, and only with it; `gauss_legendre` unless said",
        },
    ],
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
    new: New::Scores(|arguments| Ok(Box::new(IntegratedGradients::new(arguments)?))),
};

/// How the integral is computed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Points {
    /// More and more until the result is good to a tolerance.
    Tolerance(f64),
    /// As many as asked.
    Fixed(QuadratureRule, usize),
}

struct IntegratedGradients {
    points: Points,
}

impl IntegratedGradients {
    fn new(arguments: &mut Arguments) -> Result<Self> {
        let (steps, tolerance) = (arguments.optional_count("steps")?, arguments.number("tolerance")?);
        let points = match (steps, arguments.optional_choice("rule", &QuadratureRule::NAMES)?) {
            (Some(_), _) if arguments.is_given("tolerance") => {
                return Err(Error::Request(
                    "steps fixes the count and tolerance leaves it open; give one".into(),
                ));
            }
            (Some(steps), rule) => Points::Fixed(rule.unwrap_or(QuadratureRule::GaussLegendre), steps),
            (None, Some(rule)) => {
                return Err(Error::Request(format!("rule={rule} needs a count, such as steps=50")));
            }
            (None, None) => Points::Tolerance(tolerance),
        };
        Ok(Self { points })
    }

    /// What each path brings.
    fn integrals(&self, job: &Question<'_>) -> Result<Vec<Integral>> {
        match self.points {
            Points::Fixed(rule, count) => {
                Path::all(job, job.site)?.iter().map(|path| fixed(job, path, rule, count)).collect()
            }
            Points::Tolerance(tolerance) => {
                let info = job.info(job.site)?;
                Line::all(job, job.site)?.iter().map(|line| adaptive(job, info, line, tolerance)).collect()
            }
        }
    }
}

/// Two levels of refinement differ by one point in so many.
const LEVEL: usize = 10;

struct Integral {
    scores: Array,
    /// F at the end minus F at the start.
    difference: f64,
    points: usize,
    /// The largest change of any token in the last refinement, relative to the largest token.
    change: Option<f64>,
    reached: bool,
}

fn fixed(job: &Question<'_>, path: &Path, rule: QuadratureRule, points: usize) -> Result<Integral> {
    let gradient = along(job, path, &rule.points(points), |rows| job.slopes(rows, job.site))?;
    let scores = times(gradient, &path.delta);
    Ok(Integral { scores, difference: path.difference, points, change: None, reached: true })
}

/// More and more points until neither the sum nor any token moves any more: a gap alone can close by cancellation.
fn adaptive(job: &Question<'_>, info: &SiteInfo, line: &Line, tolerance: f64) -> Result<Integral> {
    let mut ladder = LejaQuadrature::new();
    let first = line.points(job, ladder.alphas())?;
    let delta = found(first.delta)?;
    let at = |alpha: f64| found(ladder.alphas().iter().position(|&a| a == alpha)).map(|i| first.values[i]);
    let difference = at(1.0)? - at(0.0)?;
    let products = |gradients: Vec<Array>| gradients.into_iter().map(|g| times(g, &delta));
    let mut all: Vec<Array> = products(first.gradients).collect();
    let sums: Vec<Vec<f64>> = all.iter().map(|values| tokens(info, values)).collect();
    ladder.centre_on(|a, b| largest_change(&sums[a], &sums[b]));
    loop {
        let scores = weighted(&all, &ladder.weights())?;
        let now = tokens(info, &scores);
        let gap = Completeness::new(now.iter().copied(), difference).gap;
        let largest = now.iter().fold(0.0, |top: f64, v| top.max(v.abs()));
        let earlier = all.len() - all.len().div_ceil(LEVEL);
        let before = tokens(info, &weighted(&all[..earlier], &ladder.weights_of(earlier))?);
        let moved = largest_change(&now, &before);
        let change = if moved == 0.0 { 0.0 } else { moved / largest };
        let reached = gap <= tolerance && change <= tolerance;
        let room = 2 * all.len() * delta.len() * size_of::<f32>() <= job.driver.memory_bytes / 2;
        let more = if reached || !room { Vec::new() } else { ladder.grow() };
        if more.is_empty() {
            let points = all.len();
            return Ok(Integral { scores, difference, points, change: Some(change), reached });
        }
        all.extend(products(line.points(job, &more)?.gradients));
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

    fn most_rows(&self, _units: usize) -> Option<usize> {
        match self.points {
            Points::Tolerance(_) => None,
            Points::Fixed(_, count) => Some(count + 2),
        }
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        let integrals = self.integrals(job)?;
        let share = 1.0 / integrals.len() as f64;
        let (mut scores, mut difference, mut points) = (Vec::new(), 0.0, 0);
        let (mut change, mut notes): (Option<f64>, _) = (None, Vec::new());
        for integral in integrals {
            points += integral.points;
            difference += share * integral.difference;
            change = integral.change.map(|own| change.map_or(own, |before| before.max(own)));
            if !integral.reached {
                let why =
                    if integral.points < LejaQuadrature::MOST { ", all that the memory holds" } else { "" };
                notes.push(format!(
                    "the tolerance was not reached with {} points{why}; the largest change of a token was {:.1} %",
                    integral.points,
                    100.0 * integral.change.unwrap_or(0.0)
                ));
            }
            scores.push(integral.scores);
        }
        let mut explained =
            RawAttribution::new(mean(&scores)?, Reduce::Sum).claiming(difference).with("points", points);
        if let Some(change) = change {
            explained = explained.with("token_change", change);
        }
        explained.notes = notes;
        Ok(explained)
    }
}
