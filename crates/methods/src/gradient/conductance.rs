//! ∫₀¹ ∂F/∂y · dy/dα dα at a site y while the *input* goes from the baseline to the text: the flow of integrated gradients
//! through y. K. Dhamdhere, M. Sundararajan, Q. Yan, *How important is a neuron?*, 2019.
//!
//! Through one neuron y_i: (x − x′) ⊙ ∫ ∂F/∂y_i · ∂y_i/∂x dα, a score for the input.

use super::path::{Path, found, mean, minus, times, weighted};
use crate::quadrature::Rule;
use crate::registry::{Axiom, Info, Meaning, Method, Needs, New, params};
use crate::{Baseline, Explained, Job, Reduce, Settings};
use exegete_core::{Array, Error, Pass, Plan, Readout, Result, Row, Rules, Seed, Site, Target};
use std::collections::BTreeMap;
use std::str::FromStr;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "conductance",
    summary: "how much of the difference to a baseline flows through each unit of a site, or through one neuron",
    page: include_str!("conductance.md"),
    axioms: &[Axiom::Completeness, Axiom::Dummy],
    signed: true,
    meaning: Meaning::TimesDifference,
    needs: Needs::Inside,
    new: New::Scores(|settings| Ok(Box::new(Conductance::new(settings)?))),
};

struct Conductance {
    how: How,
    steps: usize,
    through: Option<Neuron>,
}

/// How dy/dα is had.
#[derive(Debug, Clone, Copy, PartialEq)]
enum How {
    /// Exactly, at the points of a rule.
    Exact(Rule),
    /// As the difference of y between neighbouring points of n + 1, with the gradient at the earlier one.
    Difference(Rule),
}

/// One neuron of a site, written `SITE[i]` or `SITE[pos,i]`.
#[derive(Debug, Clone, PartialEq)]
struct Neuron {
    text: String,
    site: Site,
    at: Vec<Option<usize>>,
}

impl FromStr for Neuron {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let target: Target = format!("unit:{text}").parse()?;
        match target.unit() {
            Some((site, at)) => Ok(Self { text: text.to_owned(), site, at: at.to_vec() }),
            None => Err(Error::Request(format!("'{text}' is no neuron; write SITE[i] or SITE[pos,i]"))),
        }
    }
}

impl Neuron {
    /// The cotangent with everything but this neuron set to zero. An index alone means that unit of every token.
    fn only(&self, cotangent: &Array) -> Result<Array> {
        let axes = cotangent.shape.len();
        let mut at = vec![None; axes.saturating_sub(self.at.len())];
        at.extend(self.at.iter().copied());
        let outside = || Error::Request(format!("through={}: outside {:?}", self.text, cotangent.shape));
        if at.len() != axes {
            return Err(outside());
        }
        let inside = |(index, &len): (&Option<usize>, &usize)| index.is_none_or(|index| index < len);
        if !at.iter().zip(&cotangent.shape).all(inside) {
            return Err(outside());
        }
        let mut only = cotangent.clone();
        for (i, value) in only.data.iter_mut().enumerate() {
            let mut rest = i;
            for (&len, index) in cotangent.shape.iter().zip(&at).rev() {
                if index.is_some_and(|index| index != rest % len) {
                    *value = 0.0;
                }
                rest /= len;
            }
        }
        Ok(only)
    }
}

impl Conductance {
    fn new(settings: &mut Settings) -> Result<Self> {
        let rule = settings.take("rule", Rule::GaussLegendre)?;
        let difference = settings.choice("derivative", &[("exact", false), ("difference", true)])?;
        let how = if difference { How::Difference(rule) } else { How::Exact(rule) };
        let through = settings.optional("through")?;
        if difference && through.is_some() {
            return Err(Error::Request(
                "through= has its derivative from the gradient; leave derivative out".into(),
            ));
        }
        Ok(Self { how, steps: settings.count("steps")?.unwrap_or(32), through })
    }

    fn rule(&self) -> Rule {
        let (How::Exact(rule) | How::Difference(rule)) = self.how;
        rule
    }

    /// Σ weight · ∂F/∂y · dy/dα.
    fn exact(&self, job: &Job<'_>, path: &Path) -> Result<Array> {
        let (alphas, weights): (Vec<f64>, Vec<f64>) = self.rule().points(self.steps).into_iter().unzip();
        let rows = path.rows(alphas);
        let gradients = job.slopes(&rows, job.site)?;
        let directions = vec![path.delta.clone(); rows.len()];
        let moves = job.driver.jvp(job.open()?, &rows, job.words()?, &directions, &[job.site])?;
        let moves = found(moves.into_iter().next())?;
        let flows: Vec<Array> = gradients.into_iter().zip(&moves).map(|(g, y)| times(g, y)).collect();
        weighted(&flows, &weights)
    }

    /// Σ ∂F/∂y at one point · (y at the next − y).
    fn difference(&self, job: &Job<'_>, path: &Path) -> Result<Array> {
        let alphas = self.rule().points(self.steps + 1).into_iter().map(|(alpha, _)| alpha);
        let rows = path.rows(alphas);
        let gradients = job.slopes(&rows, job.site)?;
        let found = job.read(&rows, &[job.site], &[])?;
        let values: Vec<Array> = found.into_iter().flat_map(|found| found.values).collect();
        let flow = |(gradient, pair): (Array, &[Array])| times(gradient, &minus(pair[1].clone(), &pair[0]));
        let flows: Vec<Array> = gradients.into_iter().zip(values.windows(2)).map(flow).collect();
        weighted(&flows, &vec![1.0; flows.len()])
    }

    /// (x − x′) ⊙ Σ weight · ∂F/∂y · ∂y/∂x, with ∂F/∂y cut down to one neuron.
    fn through(&self, job: &Job<'_>, path: &Path, neuron: &Neuron) -> Result<Array> {
        let (alphas, weights): (Vec<f64>, Vec<f64>) = self.rule().points(self.steps).into_iter().unzip();
        job.check_path(&[job.site, neuron.site])?;
        let pulled = job.driver.read_all(job.model, &path.rows(alphas), &Through { job, neuron })?;
        Ok(times(weighted(&pulled, &weights)?, &path.delta))
    }
}

/// ∂F/∂y · ∂y/∂x at the job's site, for one neuron y.
struct Through<'t> {
    job: &'t Job<'t>,
    neuron: &'t Neuron,
}

impl Readout for Through<'_> {
    type Value = Array;

    fn plan(&self) -> Plan {
        let sites = self.job.model.open().and_then(|open| self.job.target.site(open.sites()));
        Plan::gradient([self.job.site, self.neuron.site].into_iter().chain(sites).collect::<Vec<_>>())
    }

    fn read(&self, rows: &[Row], pass: &dyn Pass) -> Result<Vec<Array>> {
        let Self { job, neuron } = self;
        let seeds = (0..rows.len()).map(|row| job.target.seeds(job.card(), pass, row));
        let seeds = seeds.collect::<Result<Vec<_>>>()?.concat();
        let slopes = found(pass.backward(&seeds, &[neuron.site], Rules::Gradient)?.into_iter().next())?;
        let seed = |(row, slope): (usize, &Array)| {
            Ok(Seed { row, site: neuron.site, cotangent: neuron.only(slope)? })
        };
        let seeds = slopes.iter().enumerate().map(seed).collect::<Result<Vec<_>>>()?;
        found(pass.backward(&seeds, &[job.site], Rules::Gradient)?.into_iter().next())
    }
}

impl Method for Conductance {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        let derivative = if matches!(self.how, How::Exact(_)) { "exact" } else { "difference" };
        let mut all = params([
            ("rule", self.rule().to_string().into()),
            ("steps", self.steps.into()),
            ("derivative", derivative.into()),
        ]);
        if let Some(neuron) = &self.through {
            all.insert("through".into(), neuron.text.clone().into());
        }
        all
    }

    fn baselines(&self) -> &'static [Baseline] {
        &[Baseline::Zero]
    }

    fn explain(&self, job: &Job<'_>) -> Result<Explained> {
        let sites = job.open()?.sites();
        let before = |neuron: &&Neuron| sites.order(neuron.site) <= sites.order(job.site);
        if let Some(neuron) = self.through.as_ref().filter(before) {
            return Err(Error::Request(format!(
                "conductance through {} is a score for what comes before it; choose a site before {}",
                neuron.text, neuron.site
            )));
        }
        let words = job.words()?;
        if self.through.is_some() && job.site != words {
            return Err(Error::Request(format!("conductance through a neuron is a score for {words}")));
        }
        let paths = Path::all(job, words)?;
        let share = 1.0 / paths.len() as f64;
        let (mut flows, mut difference) = (Vec::new(), 0.0);
        for path in &paths {
            flows.push(match (&self.through, self.how) {
                (Some(neuron), _) => self.through(job, path, neuron)?,
                (None, How::Exact(_)) => self.exact(job, path)?,
                (None, How::Difference(_)) => self.difference(job, path)?,
            });
            difference += share * path.difference;
        }
        let mut explained = Explained::new(mean(&flows)?, Reduce::Sum);
        // What flows through one neuron is not all that a change does.
        explained.meaning = self.through.as_ref().map(|_| Meaning::Other);
        // What flows through one neuron is a part of the difference that nobody knows beforehand.
        let all = self.through.is_none() && job.carries_all(job.site);
        Ok(if all { explained.claiming(difference) } else { explained })
    }
}
