//! E[(x − x′) ⊙ ∂F/∂x (x′ + α(x − x′))] over random baselines x′ and points α. G. Erion and others, *Improving performance
//! of deep learning models with axiomatic attribution priors and expected gradients*, 2021.

use super::path::{Path, times};
use crate::effort::{SAMPLES, TOLERANCE};
use crate::registry::{Axiom, Info, Meaning, Method, Needs, New, params};
use crate::{Arguments, Baseline, Parameter, Question, RawAttribution, Reduce, Stream};
use exegete_core::{Array, Error, Result, Row};
use rand::RngExt;
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "gradient_shap",
    summary: "integrated gradients at random points of the way from random baselines, with error bars",
    prose: include_str!("gradient_shap.md"),
    parameters: &[
        Parameter { help: "the largest standard error, as a share of the largest token", ..TOLERANCE },
        Parameter { help: "exactly so many points instead, not with `tolerance`", ..SAMPLES },
    ],
    axioms: &[Axiom::Dummy],
    signed: true,
    meaning: Meaning::TimesDifference,
    needs: Needs::Inside,
    new: New::Scores(|arguments| Ok(Box::new(GradientShap::new(arguments)?))),
};

/// How many points are drawn and run together.
const BATCH: usize = 32;
/// The most points drawn to reach a tolerance.
const MOST: usize = 1024;

struct GradientShap {
    /// As many as asked, or until the largest standard error is this share of the largest token.
    samples: Result<usize, f64>,
}

impl GradientShap {
    fn new(arguments: &mut Arguments) -> Result<Self> {
        let tolerance = arguments.number("tolerance")?;
        let samples = match arguments.optional_count("samples")? {
            Some(samples) if arguments.is_given("tolerance") => {
                return Err(Error::Request(format!("samples={samples} and a tolerance: give one")));
            }
            Some(samples) => Ok(samples),
            None => Err(tolerance),
        };
        Ok(Self { samples })
    }
}

/// Running sums over samples.
struct Sums {
    values: Vec<f64>,
    tokens: Vec<(f64, f64)>,
    count: usize,
}

impl Sums {
    fn errors(&self) -> Vec<f64> {
        let n = self.count as f64;
        let error = |&(sum, squares): &(f64, f64)| {
            let variance = (squares - sum * sum / n).max(0.0) / (n - 1.0).max(1.0);
            (variance / n).sqrt()
        };
        self.tokens.iter().map(error).collect()
    }

    fn precise(&self, tolerance: f64) -> bool {
        let largest =
            self.tokens.iter().fold(0.0, |top: f64, (sum, _)| top.max(sum.abs())) / self.count as f64;
        self.errors().iter().all(|&error| error <= tolerance * largest)
    }
}

/// (x − x′) ⊙ ∂F/∂x at some points of some paths.
fn products(job: &Question<'_>, paths: &[Path], drawn: &[(usize, f64)]) -> Result<Vec<Array>> {
    let rows: Vec<Row> = drawn.iter().map(|&(path, alpha)| paths[path].line.at(alpha)).collect();
    let gradients = job.slopes(&rows, job.site)?;
    let product = |(gradient, &(path, _)): (Array, &(usize, f64))| times(gradient, &paths[path].delta);
    Ok(gradients.into_iter().zip(drawn).map(product).collect())
}

impl Method for GradientShap {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        match self.samples {
            Ok(samples) => params([("samples", samples.into())]),
            Err(tolerance) => params([("tolerance", tolerance.into())]),
        }
    }

    fn baselines(&self) -> &'static [Baseline] {
        &[Baseline::Zero]
    }

    fn most_rows(&self, _units: usize) -> Option<usize> {
        Some(self.samples.unwrap_or(MOST) + 2)
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        let (info, paths) = (job.info(job.site)?, Path::all(job, job.site)?);
        let mut random = job.random(Stream::GradientShap);
        let width = paths.first().map_or(0, |path| path.delta.len());
        let mut sums = Sums { values: vec![0.0; width], tokens: Vec::new(), count: 0 };
        let goal = self.samples.unwrap_or(MOST);
        while sums.count < goal {
            let draw = |_| (random.random_range(0..paths.len()), random.random::<f64>());
            let drawn: Vec<(usize, f64)> = (0..BATCH.min(goal - sums.count)).map(draw).collect();
            for product in products(job, &paths, &drawn)? {
                let tokens = Reduce::Sum.tokens(info, job.encoded(), &product).unwrap_or_default();
                sums.tokens.resize(tokens.len(), (0.0, 0.0));
                sums.tokens.iter_mut().zip(&tokens).for_each(|(s, v)| *s = (s.0 + v, s.1 + v * v));
                sums.values.iter_mut().zip(&product.data).for_each(|(s, &v)| *s += f64::from(v));
                sums.count += 1;
            }
            if let Err(tolerance) = self.samples
                && sums.precise(tolerance)
            {
                break;
            }
        }
        let n = sums.count as f64;
        let shape = paths.first().map_or(Vec::new(), |path| path.delta.shape.clone());
        let values = Array::new(shape, sums.values.iter().map(|sum| (sum / n) as f32).collect())?;
        let difference = paths.iter().map(|path| path.difference).sum::<f64>() / paths.len() as f64;
        let mut explained =
            RawAttribution::new(values, Reduce::Sum).claiming(difference).with("samples", sums.count);
        let short = self.samples.is_err_and(|tolerance| !sums.precise(tolerance));
        explained
            .notes
            .extend(short.then(|| format!("the tolerance was not reached with {} samples", sums.count)));
        explained.errors = (!sums.tokens.is_empty()).then(|| sums.errors());
        Ok(explained)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradient::path::weighted;
    use crate::recorded::{LIMIT, Recorded, recorded};
    use exegete_testkit::{Of, close};

    /// PyTorch's numbers at the same points from the same baselines.
    #[test]
    fn given_points_give_what_pytorch_gives() {
        let mut compared = 0;
        for Recorded { case, model } in recorded("gradient_shap") {
            let list = |name: &str| case.params[name].as_array().unwrap().clone();
            let baselines = list("baselines").iter().map(|b| b.as_str().unwrap().parse().unwrap()).collect();
            let job = Question { baselines, ..model.job(&case) };
            let paths = Path::all(&job, job.site).unwrap();
            let drawn: Vec<(usize, f64)> =
                list("alphas").iter().enumerate().map(|(i, alpha)| (i, alpha.as_f64().unwrap())).collect();
            let products = products(&job, &paths, &drawn).unwrap();
            let found = weighted(&products, &vec![1.0 / products.len() as f64; products.len()]).unwrap();
            close(&case.name, &found, &case.expected, Of::Largest(0.0), LIMIT);
            compared += 1;
        }
        assert!(compared >= 4, "{compared}");
    }
}
