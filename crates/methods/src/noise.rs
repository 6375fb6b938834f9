//! The noise tunnel around any method: D. Smilkov and others, *SmoothGrad: removing noise by adding noise*, 2017;
//! J. Adebayo and others, *Local explanation methods for deep neural networks lack sensitivity to parameter values*, 2018
//! (VarGrad). The noise goes on the model's input, also where a layer is explained.

use crate::parameter::{Parameter, between, name_of, names};
use crate::raw_attribution::RawScores;
use crate::registry::{Meaning, Method};
use crate::{Arguments, Question, RawAttribution, Reduce, Stream};
use exegete_core::report::{Item, Subject};
use exegete_core::{Array, Change, Edit, Error, Result, Rules, Site, normal};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

/// What is taken of the noisy copies' scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// The mean over noisy copies: SmoothGrad.
    Mean,
    /// The mean of squares: SmoothGrad².
    Squares,
    /// The variance over noisy copies: VarGrad.
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
    /// The standard deviation itself, in units of the input.
    Absolute(f64),
}

const MOMENTS: [(&str, Option<Moment>); 4] = [
    ("none", None),
    ("smooth", Some(Moment::Mean)),
    ("squares", Some(Moment::Squares)),
    ("variance", Some(Moment::Variance)),
];

/// What a tunnel around a method takes.
pub(crate) const PARAMETERS: [Parameter; 4] = [
    Parameter::choice(
        "noise",
        &names(&MOMENTS),
        "the mean, mean square or variance of the scores of copies with noise (`exegete methods saliency`)",
    ),
    Parameter::count("noise_samples", 1..=100_000, Some(20), "how many noisy copies; only with `noise`"),
    Parameter::number(
        "sigma",
        between(1e-6, 1e3),
        Some(0.15),
        "the noise's standard deviation, as a share of the input's range; only with `noise`",
    ),
    Parameter::number(
        "sigma_absolute",
        between(1e-6, 1e6),
        None,
        "the standard deviation itself, instead of `sigma`; only with `noise`",
    ),
];

impl Tunnel {
    /// The method as it is, or in a tunnel where the arguments ask for one.
    pub(crate) fn around(inner: Box<dyn Method>, arguments: &mut Arguments) -> Result<Box<dyn Method>> {
        let Some(moment) = arguments.choice("noise", &MOMENTS)? else { return Ok(inner) };
        let (share, absolute) = (arguments.number("sigma")?, arguments.optional_number("sigma_absolute")?);
        if absolute.is_some() && arguments.is_given("sigma") {
            return Err(Error::Request("sigma and sigma_absolute: give one".into()));
        }
        let sigma = absolute.map_or(Sigma::Share(share), Sigma::Absolute);
        let samples = arguments.count("noise_samples")?;
        Ok(Box::new(Self { inner, moment, sigma, samples }))
    }
}

impl Method for Tunnel {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        let mut params = self.inner.params();
        params.insert("noise".into(), name_of(&MOMENTS, &Some(self.moment)).into());
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

    fn places(&self, job: &Question<'_>) -> Result<Vec<Site>> {
        self.inner.places(job)
    }

    fn beside(&self, job: &Question<'_>, explained: &RawAttribution, subject: Subject) -> Result<Vec<Item>> {
        self.inner.beside(job, explained, subject)
    }

    fn most_rows(&self, units: usize) -> Option<usize> {
        Some(self.inner.most_rows(units).unwrap_or(1).saturating_mul(self.samples).saturating_add(1))
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        let input = job.read_own(&[job.words()?], &[], Rules::Gradient)?.values.swap_remove(0);
        let sigma = match self.sigma {
            Sigma::Share(share) => share * range(&input),
            Sigma::Absolute(sigma) => sigma,
        };
        let mut random = job.random(Stream::Noise);
        let noises = (0..self.samples).map(|_| gaussian(&input.shape, sigma, &mut random));
        through(&*self.inner, self.moment, job, noises)
    }
}

/// The moment of a method's scores over given noises.
fn through(
    inner: &dyn Method,
    moment: Moment,
    job: &Question<'_>,
    noises: impl Iterator<Item = Array>,
) -> Result<RawAttribution> {
    let mut sums: Vec<(f64, f64)> = Vec::new();
    let mut tokens: Vec<(f64, f64)> = Vec::new();
    let (mut last, mut samples) = (None, 0);
    for noise in noises {
        let row = job.row.clone().edit(Edit::whole(job.words()?, Change::Add(noise)));
        let explained = inner.explain(&Question { row, ..job.clone() })?;
        let values = explained.elements();
        sums.resize(values.len(), (0.0, 0.0));
        sums.iter_mut().zip(&values).for_each(|(sum, v)| *sum = (sum.0 + v, sum.1 + v * v));
        let own = explained.tokens(job)?.unwrap_or_default();
        tokens.resize(own.len(), (0.0, 0.0));
        tokens.iter_mut().zip(&own).for_each(|(sum, v)| *sum = (sum.0 + v, sum.1 + v * v));
        last = Some(explained);
        samples += 1;
    }
    let mut explained = last.ok_or_else(|| Error::Request("noise_samples must be at least 1".into()))?;
    let n = f64::from(samples);
    let value = |&(sum, squares): &(f64, f64)| match moment {
        Moment::Mean => sum / n,
        Moment::Squares => squares / n,
        Moment::Variance => (squares / n - (sum / n).powi(2)).max(0.0),
    };
    let values: Vec<f64> = sums.iter().map(value).collect();
    match &mut explained.scores {
        RawScores::Elements(array, _) => array.data = values.iter().map(|&v| v as f32).collect(),
        RawScores::Tokens(scores) | RawScores::Units(scores) => *scores = values,
    }
    // A mean of complete scores is complete for noisy copies, not for the text.
    explained.claim = None;
    // Squares and variances have lost their sign, and are no slopes any more.
    if moment != Moment::Mean {
        (explained.unsigned, explained.meaning) = (true, Some(Meaning::Other));
    }
    let error = |&(sum, squares): &(f64, f64)| ((squares - sum * sum / n).max(0.0) / (n - 1.0) / n).sqrt();
    // A sum of means is a mean of sums; a length of means is no mean of lengths.
    let summed = matches!(explained.scores, RawScores::Elements(_, Reduce::Sum) | RawScores::Tokens(_));
    let known = moment == Moment::Mean && summed && samples > 1 && !tokens.is_empty();
    explained.errors = known.then(|| tokens.iter().map(error).collect());
    Ok(explained)
}

/// The largest element minus the smallest.
pub(crate) fn range(values: &Array) -> f64 {
    let (low, high) =
        values.data.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(l, h), &v| (l.min(v), h.max(v)));
    if low <= high { f64::from(high) - f64::from(low) } else { 0.0 }
}

/// Normal numbers of this standard deviation.
pub(crate) fn gaussian(shape: &[usize], sigma: f64, random: &mut ChaCha8Rng) -> Array {
    // Uniform numbers are below 1, and their logarithm must be finite.
    let mut drawn = || normal([1.0 - random.random::<f64>(), random.random()]);
    let data = (0..shape.iter().product()).map(|_| (sigma * drawn()) as f32).collect();
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
            let found =
                through(&chosen, moment, &model.job(&case), case.slices("noise").into_iter()).unwrap();
            let RawScores::Elements(found, _) = found.scores else { panic!() };
            close(&case.name, &found, &case.expected, Of::Largest(0.0), LIMIT);
            compared += 1;
        }
        assert!(compared >= 12, "{compared}");
    }
}
