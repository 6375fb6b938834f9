//! The noise tunnel around any method: D. Smilkov and others, *SmoothGrad: removing noise by adding noise*, 2017;
//! J. Adebayo and others, *Local explanation methods for deep neural networks lack sensitivity to parameter values*, 2018
//! (VarGrad). The noise goes on the model's input, also where a layer is explained.

use crate::explained::Scores;
use crate::registry::{Meaning, Method};
use crate::{Explained, Job, Reduce, Settings};
use exegete_core::{Array, Change, Edit, Error, Result, Rules};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

/// What is taken of the noisy copies' scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// SmoothGrad.
    Mean,
    /// SmoothGrad².
    Squares,
    /// VarGrad.
    Variance,
}

/// A method seen through noise.
pub(crate) struct Tunnel {
    inner: Box<dyn Method>,
    moment: Moment,
    sigma: Sigma,
    samples: usize,
}

/// How strong the noise is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Sigma {
    /// As a share of the input's largest minus its smallest element.
    Share(f64),
    /// As it is.
    Absolute(f64),
}

impl Tunnel {
    /// The method as it is, or in a tunnel where the settings ask for one.
    pub(crate) fn around(inner: Box<dyn Method>, settings: &mut Settings) -> Result<Box<dyn Method>> {
        let choices = [
            ("none", None),
            ("smooth", Some(Moment::Mean)),
            ("squares", Some(Moment::Squares)),
            ("variance", Some(Moment::Variance)),
        ];
        let Some(moment) = settings.choice("noise", &choices)? else { return Ok(inner) };
        let absolute = settings.optional("sigma_absolute")?;
        let share = settings.optional("sigma")?;
        let sigma = match (share, absolute) {
            (Some(_), Some(_)) => return Err(Error::Request("sigma and sigma_absolute: give one".into())),
            (share, None) => Sigma::Share(share.unwrap_or(0.15)),
            (None, Some(absolute)) => Sigma::Absolute(absolute),
        };
        let (Sigma::Share(size) | Sigma::Absolute(size)) = sigma;
        if !(size > 0.0 && size.is_finite()) {
            return Err(Error::Request(format!("sigma={size}: must be a number above 0")));
        }
        let samples = settings.count("noise_samples")?.unwrap_or(20);
        Ok(Box::new(Self { inner, moment, sigma, samples }))
    }
}

impl Method for Tunnel {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        let mut params = self.inner.params();
        let name = match self.moment {
            Moment::Mean => "smooth",
            Moment::Squares => "squares",
            Moment::Variance => "variance",
        };
        params.insert("noise".into(), name.into());
        params.insert("noise_samples".into(), self.samples.into());
        match self.sigma {
            Sigma::Share(share) => params.insert("sigma".into(), share.into()),
            Sigma::Absolute(sigma) => params.insert("sigma_absolute".into(), sigma.into()),
        };
        params
    }

    fn baselines(&self) -> &'static [crate::Baseline] {
        self.inner.baselines()
    }

    fn own_site(&self) -> bool {
        self.inner.own_site()
    }

    fn explain(&self, job: &Job<'_>) -> Result<Explained> {
        let input = job.read_own(&[job.words()?], &[], Rules::Gradient)?.values.swap_remove(0);
        let sigma = match self.sigma {
            Sigma::Share(share) => share * range(&input),
            Sigma::Absolute(sigma) => sigma,
        };
        let mut random = job.random(2);
        let noise = |_| gaussian(&input.shape, sigma, &mut random);
        let noises: Vec<Array> = (0..self.samples).map(noise).collect();
        through(&*self.inner, self.moment, job, &noises)
    }
}

/// The moment of a method's scores over given noises.
fn through(inner: &dyn Method, moment: Moment, job: &Job<'_>, noises: &[Array]) -> Result<Explained> {
    let mut sums: Vec<(f64, f64)> = Vec::new();
    let mut tokens: Vec<(f64, f64)> = Vec::new();
    let mut last = None;
    for noise in noises {
        let row = job.row.clone().edit(Edit::whole(job.words()?, Change::Add(noise.clone())));
        let explained = inner.explain(&Job { row, ..job.clone() })?;
        let values: Vec<f64> = match &explained.scores {
            Scores::Elements(values, _) => values.data.iter().map(|&v| f64::from(v)).collect(),
            Scores::Tokens(values) | Scores::Units(values) => values.clone(),
        };
        sums.resize(values.len(), (0.0, 0.0));
        sums.iter_mut().zip(&values).for_each(|(sum, v)| *sum = (sum.0 + v, sum.1 + v * v));
        let own = explained.tokens(job, None)?.unwrap_or_default();
        tokens.resize(own.len(), (0.0, 0.0));
        tokens.iter_mut().zip(&own).for_each(|(sum, v)| *sum = (sum.0 + v, sum.1 + v * v));
        last = Some(explained);
    }
    let mut explained = last.ok_or_else(|| Error::Request("noise_samples must be at least 1".into()))?;
    let n = noises.len() as f64;
    let value = |&(sum, squares): &(f64, f64)| match moment {
        Moment::Mean => sum / n,
        Moment::Squares => squares / n,
        Moment::Variance => (squares / n - (sum / n).powi(2)).max(0.0),
    };
    let values: Vec<f64> = sums.iter().map(value).collect();
    match &mut explained.scores {
        Scores::Elements(array, _) => array.data = values.iter().map(|&v| v as f32).collect(),
        Scores::Tokens(scores) | Scores::Units(scores) => *scores = values,
    }
    // A mean of complete scores is complete for noisy copies, not for the text.
    explained.claim = None;
    // Squares and variances have lost their sign, and are no slopes any more.
    if moment != Moment::Mean {
        (explained.unsigned, explained.meaning) = (true, Some(Meaning::Other));
    }
    let error = |&(sum, squares): &(f64, f64)| ((squares - sum * sum / n).max(0.0) / (n - 1.0) / n).sqrt();
    // A sum of means is a mean of sums; a length of means is no mean of lengths.
    let summed = matches!(explained.scores, Scores::Elements(_, Reduce::Sum) | Scores::Tokens(_));
    let known = moment == Moment::Mean && summed && noises.len() > 1 && !tokens.is_empty();
    explained.errors = known.then(|| tokens.iter().map(error).collect());
    Ok(explained)
}

/// The largest element minus the smallest.
pub(crate) fn range(values: &Array) -> f64 {
    let (low, high) =
        values.data.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(l, h), &v| (l.min(v), h.max(v)));
    if low <= high { f64::from(high) - f64::from(low) } else { 0.0 }
}

/// Normal numbers of this standard deviation, by the method of Box and Muller.
pub(crate) fn gaussian(shape: &[usize], sigma: f64, random: &mut ChaCha8Rng) -> Array {
    let mut normal = || {
        let (radius, angle) = (1.0 - random.random::<f64>(), random.random::<f64>());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    };
    let data = (0..shape.iter().product()).map(|_| (sigma * normal()) as f32).collect();
    Array { shape: shape.to_vec(), data }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::{LIMIT, Recorded, chosen, recorded};
    use exegete_testkit::{Of, close};

    /// Captum's moments over the same noise.
    #[test]
    fn moments_of_given_noise_are_captums() {
        let mut compared = 0;
        for Recorded { case, model } in recorded("noise_tunnel") {
            let moment = match case.params["moment"].as_str().unwrap() {
                "mean" => Moment::Mean,
                "mean_square" => Moment::Squares,
                _ => Moment::Variance,
            };
            let chosen = chosen(case.params["of"].as_str().unwrap());
            let found = through(&*chosen.method, moment, &model.job(&case), &case.slices("noise")).unwrap();
            let Scores::Elements(found, _) = found.scores else { panic!() };
            close(&case.name, &found, &case.expected, Of::Largest(0.0), LIMIT);
            compared += 1;
        }
        assert!(compared >= 12, "{compared}");
    }
}
