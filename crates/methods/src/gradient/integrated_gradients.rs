//! (x − x′) ⊙ ∫₀¹ ∂F/∂x (x′ + α(x − x′)) dα. M. Sundararajan, A. Taly, Q. Yan, *Axiomatic attribution for deep
//! networks*, 2017. The path lies in the activations of the job's site; `sequential.rs` has one a token.

use super::integral::{Effort, Growing, Integral, largest_change, share};
use super::path::{Line, Path, along, found, mean, times};
use super::sequential;
use crate::parameter::{POSITIVE, Parameter, Takes, name_of, names};
use crate::quadrature::{LejaQuadrature, QuadratureRule};
use crate::registry::{Axiom, Info, Meaning, Method, Needs, New, params};
use crate::{Arguments, Baseline, Question, RawAttribution, Reduce};
use exegete_core::report::Completeness;
use exegete_core::{Array, Error, Result, Site, SiteInfo};
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
        Parameter::choice(
            "path",
            &names(&WAYS),
            "one way for all tokens together, or one a token with all others as the text has them",
        ),
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

/// Which way leads from a baseline to the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// One straight line for all tokens at once.
    Straight,
    /// One a token, with all others as the text has them.
    Sequential,
}

const WAYS: [(&str, Way); 2] = [("straight", Way::Straight), ("sequential", Way::Sequential)];

struct IntegratedGradients {
    effort: Effort,
    way: Way,
}

impl IntegratedGradients {
    fn new(arguments: &mut Arguments) -> Result<Self> {
        let way = arguments.choice("path", &WAYS)?;
        let (steps, tolerance) = (arguments.optional_count("steps")?, arguments.number("tolerance")?);
        let effort = match (steps, arguments.optional_choice("rule", &QuadratureRule::NAMES)?) {
            (Some(_), _) if arguments.is_given("tolerance") => {
                return Err(Error::Request(
                    "steps fixes the count and tolerance leaves it open; give one".into(),
                ));
            }
            (Some(steps), rule) => Effort::Fixed(rule.unwrap_or(QuadratureRule::GaussLegendre), steps),
            (None, Some(rule)) => {
                return Err(Error::Request(format!("rule={rule} needs a count, such as steps=50")));
            }
            (None, None) => Effort::Tolerance(tolerance),
        };
        Ok(Self { effort, way })
    }

    /// What the way from each baseline brings.
    fn integrals(&self, job: &Question<'_>) -> Result<Vec<Integral>> {
        match (self.way, self.effort) {
            (Way::Sequential, effort) => sequential::integrals(job, effort),
            (Way::Straight, Effort::Fixed(rule, count)) => {
                Path::all(job, job.site)?.iter().map(|path| fixed(job, path, rule, count)).collect()
            }
            (Way::Straight, Effort::Tolerance(tolerance)) => {
                let info = job.info(job.site)?;
                Line::all(job, job.site)?.iter().map(|line| adaptive(job, info, line, tolerance)).collect()
            }
        }
    }
}

/// Integrated gradients of what lies at one site, from zero there.
pub(crate) fn from_nothing(job: &Question<'_>, site: Site, tolerance: f64) -> Result<RawAttribution> {
    let integral = adaptive(job, job.info(site)?, &Line::from_zero(job, site), tolerance)?;
    let mut explained = RawAttribution::new(integral.scores, Reduce::Sum)
        .claiming(integral.difference)
        .with("points", integral.points)
        .note(integral.note);
    if let Some(change) = integral.change {
        explained = explained.with("token_change", change);
    }
    Ok(explained)
}

fn fixed(job: &Question<'_>, path: &Path, rule: QuadratureRule, points: usize) -> Result<Integral> {
    let gradient = along(job, path, &rule.points(points), |rows| job.slopes(rows, job.site))?;
    let scores = times(gradient, &path.delta);
    Ok(Integral { scores, difference: path.difference, points, change: None, note: None })
}

/// More and more points until neither the sum nor any token moves any more: a gap alone can close by cancellation.
fn adaptive(job: &Question<'_>, info: &SiteInfo, line: &Line, tolerance: f64) -> Result<Integral> {
    let mut growing = Growing::new();
    let first = line.points(job, growing.next())?;
    let delta = found(first.delta)?;
    let at = |alpha: f64| found(growing.next().iter().position(|&a| a == alpha)).map(|i| first.values[i]);
    let difference = at(1.0)? - at(0.0)?;
    let products = |gradients: Vec<Array>| gradients.into_iter().map(|g| times(g, &delta));
    growing.add(products(first.gradients), |values| tokens(job, info, values));
    loop {
        let [scores, before] = growing.levels()?;
        let (now, before) = (tokens(job, info, &scores), tokens(job, info, &before));
        let gap = Completeness::new(now.iter().copied(), difference).gap;
        let largest = now.iter().fold(0.0, |top: f64, v| top.max(v.abs()));
        let change = share(largest_change(&now, &before), largest);
        let reached = gap <= tolerance && change <= tolerance;
        if reached || !growing.grow(job.driver.memory_bytes / 2) {
            let points = growing.points();
            let note = (!reached).then(|| {
                format!(
                    "the tolerance was not reached with {points} points{}; the largest change of a token was {:.1} %",
                    growing.end(),
                    100.0 * change
                )
            });
            return Ok(Integral { scores, difference, points, change: Some(change), note });
        }
        let more = line.points(job, growing.next())?.gradients;
        growing.add(products(more), |values| tokens(job, info, values));
    }
}

fn tokens(job: &Question<'_>, info: &SiteInfo, values: &Array) -> Vec<f64> {
    let sums = Reduce::Sum.tokens(info, job.encoded(), values);
    sums.unwrap_or_else(|| values.data.iter().map(|&v| f64::from(v)).collect())
}

impl Method for IntegratedGradients {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        let mut params = match self.effort {
            Effort::Tolerance(tolerance) => params([("tolerance", tolerance.into())]),
            Effort::Fixed(rule, count) => {
                params([("rule", rule.to_string().into()), ("steps", count.into())])
            }
        };
        // Without another word integrated gradients are those of the straight way.
        if self.way != Way::Straight {
            params.insert("path".into(), name_of(&WAYS, &self.way).into());
        }
        params
    }

    fn baselines(&self) -> &'static [Baseline] {
        &[Baseline::Zero]
    }

    fn most_rows(&self, tokens: usize) -> Option<usize> {
        match (self.way, self.effort) {
            (Way::Straight, Effort::Tolerance(_)) => None,
            (Way::Straight, Effort::Fixed(_, count)) => Some(count + 2),
            (Way::Sequential, Effort::Tolerance(_)) => Some(tokens.saturating_mul(LejaQuadrature::MOST) + 1),
            (Way::Sequential, Effort::Fixed(_, count)) => Some(tokens.saturating_mul(count + 1) + 1),
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
            notes.extend(integral.note);
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
