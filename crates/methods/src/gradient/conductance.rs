//! ∫₀¹ ∂F/∂y · dy/dα dα at a site y while the *input* goes from the baseline to the text: the flow of integrated gradients
//! through y. K. Dhamdhere, M. Sundararajan, Q. Yan, *How important is a neuron?*, 2019.
//!
//! Through one neuron y_i: (x − x′) ⊙ ∫ ∂F/∂y_i · ∂y_i/∂x dα, a score for the input.

use super::path::{Path, Sum, along, found, mean, times, together};
use crate::parameter::{name_of, names};
use crate::quadrature::QuadratureRule;
use crate::registry::{Axiom, Info, Meaning, Method, Needs, New, params};
use crate::{Arguments, Baseline, Parameter, Question, RawAttribution, Reduce};
use exegete_core::{Array, Error, Pass, Plan, Readout, Record, Result, Row, Rules, Seed, Site, Target};
use std::collections::BTreeMap;
use std::str::FromStr;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "conductance",
    summary: "how much of the difference to a baseline flows through each unit of a site, or through one neuron",
    prose: include_str!("conductance.md"),
    parameters: &[
        QuadratureRule::PARAMETERS[0],
        QuadratureRule::PARAMETERS[1],
        Parameter::choice("derivative", &names(&DERIVATIVES), "how dy/dα is had; not with `through`"),
        Parameter::text(
            "through",
            "layer.1.out[3]",
            None,
            "only what flows through unit i of a site, SITE[i], or of one token, SITE[pos,i]; through all without it",
        ),
    ],
    axioms: &[Axiom::Completeness, Axiom::Dummy],
    signed: true,
    meaning: Meaning::TimesDifference,
    needs: Needs::Inside,
    new: New::Scores(|arguments| Ok(Box::new(Conductance::new(arguments)?))),
};

/// Whether the derivative is a difference.
const DERIVATIVES: [(&str, bool); 2] = [("exact", false), ("difference", true)];

struct Conductance {
    rule: QuadratureRule,
    /// Whether dy/dα is the difference of y between neighbouring points of n + 1, with the gradient at the earlier one;
    /// else it is exact.
    difference: bool,
    steps: usize,
    through: Option<Neuron>,
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
    fn new(arguments: &mut Arguments) -> Result<Self> {
        let rule = arguments.choice("rule", &QuadratureRule::NAMES)?;
        let difference = arguments.choice("derivative", &DERIVATIVES)?;
        let through = arguments.text("through")?;
        if difference && through.is_some() {
            return Err(Error::Request(
                "through= has its derivative from the gradient; leave derivative out".into(),
            ));
        }
        Ok(Self { rule, difference, steps: arguments.count("steps")?, through })
    }

    /// Σ weight · ∂F/∂y · dy/dα.
    fn exact(&self, job: &Question<'_>, path: &Path) -> Result<Array> {
        let moving = Moving { words: job.words()?, delta: &path.delta, site: job.site };
        along(job, path, &self.rule.points(self.steps), |rows| {
            let gradients = job.slopes(rows, job.site)?;
            let moves = job.driver.read_all(job.model, rows, &moving)?;
            Ok(gradients.into_iter().zip(&moves).map(|(g, y)| times(g, y)).collect())
        })
    }

    /// Σ ∂F/∂y at one point · (y at the next − y).
    fn difference(&self, job: &Question<'_>, path: &Path) -> Result<Array> {
        let points = self.rule.points(self.steps + 1);
        let (mut sum, mut before): (Sum, Option<(Array, Array)>) = (Sum::default(), None);
        for points in points.chunks(together(job, &path.delta)) {
            let rows = path.rows(points.iter().map(|(alpha, _)| *alpha));
            let gradients = job.slopes(&rows, job.site)?;
            let values = job.read(&rows, &[job.site], &[])?.into_iter().flat_map(|found| found.values);
            for (gradient, value) in gradients.into_iter().zip(values) {
                if let Some((slope, earlier)) = before.replace((gradient, value.clone())) {
                    sum.add(&times(slope, &value.plus(&earlier, -1.0)), 1.0);
                }
            }
        }
        sum.array()
    }

    /// (x − x′) ⊙ Σ weight · ∂F/∂y · ∂y/∂x, with ∂F/∂y cut down to one neuron.
    fn through(&self, job: &Question<'_>, path: &Path, neuron: &Neuron) -> Result<Array> {
        job.check_path(&[job.site, neuron.site])?;
        let readout = Through { job, neuron };
        let points = self.rule.points(self.steps);
        let pulled = along(job, path, &points, |rows| job.driver.read_all(job.model, rows, &readout))?;
        Ok(times(pulled, &path.delta))
    }
}

/// dy/dα at a site y while the words go along the path.
struct Moving<'m> {
    words: Site,
    delta: &'m Array,
    site: Site,
}

impl Readout for Moving<'_> {
    type Value = Array;

    fn plan(&self) -> Plan {
        Plan::keep([self.site])
    }

    fn along(&self) -> Option<(Site, &Array)> {
        Some((self.words, self.delta))
    }

    fn read(&self, rows: &[Row], pass: &dyn Pass) -> Result<Vec<Array>> {
        (0..rows.len()).map(|row| pass.value(self.site, row)).collect()
    }
}

/// ∂F/∂y · ∂y/∂x at the job's site, for one neuron y.
struct Through<'t> {
    job: &'t Question<'t>,
    neuron: &'t Neuron,
}

impl Readout for Through<'_> {
    type Value = Array;

    fn plan(&self) -> Plan {
        self.job.plan(&[self.job.site, self.neuron.site], Record::Gradient)
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
        let derivative = name_of(&DERIVATIVES, &self.difference);
        let mut all = params([
            ("rule", self.rule.to_string().into()),
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

    fn most_rows(&self, _units: usize) -> Option<usize> {
        Some(self.steps + 2)
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
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
            flows.push(match &self.through {
                Some(neuron) => self.through(job, path, neuron)?,
                None if self.difference => self.difference(job, path)?,
                None => self.exact(job, path)?,
            });
            difference += share * path.difference;
        }
        let mut explained = RawAttribution::new(mean(&flows)?, Reduce::Sum);
        // What flows through one neuron is not all that a change does.
        explained.meaning = self.through.as_ref().map(|_| Meaning::Other);
        // What flows through one neuron is a part of the difference that nobody knows beforehand.
        let all = self.through.is_none() && job.carries_all(job.site);
        Ok(if all { explained.claiming(difference) } else { explained })
    }
}
