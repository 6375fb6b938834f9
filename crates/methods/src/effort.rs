use crate::Arguments;
use crate::parameter::{POSITIVE, Parameter};
use exegete_core::{Error, Result};
use std::collections::BTreeMap;

/// How much a method samples: until its error bars meet a tolerance or a budget ends, or a fixed number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// A fixed number of samples, whatever the error bars.
    pub samples: Option<usize>,
    /// The largest standard error, as a share of the largest score.
    pub tolerance: f64,
    /// The most rows to ask for.
    pub budget: usize,
}

/// The most rows that a method may be told to ask for.
pub(crate) const MOST_ROWS: usize = 1_000_000;

/// The parameters of [`Effort::new`].
pub(crate) const TOLERANCE: Parameter = Parameter::number(
    "tolerance",
    POSITIVE,
    Some(0.05),
    "the largest standard error, as a share of the largest score",
);
pub(crate) const BUDGET: Parameter = Parameter::count(
    "budget",
    1..=MOST_ROWS,
    Some(2000),
    "the most rows of the model; where it ends first, a note says so",
);
pub(crate) const SAMPLES: Parameter = Parameter::count(
    "samples",
    1..=MOST_ROWS,
    None,
    "exactly so many instead; without it `tolerance` and `budget` say when it ends",
);

impl Effort {
    /// From the arguments `samples`, or `tolerance` and `budget`.
    pub fn new(arguments: &mut Arguments) -> Result<Self> {
        let samples = arguments.optional_count("samples")?;
        if samples.is_some() && (arguments.is_given("tolerance") || arguments.is_given("budget")) {
            return Err(Error::Request(
                "a fixed number of samples has no tolerance and no budget: give one".into(),
            ));
        }
        let (tolerance, budget) = (arguments.number("tolerance")?, arguments.count("budget")?);
        Ok(Self { samples, tolerance, budget })
    }

    /// The most rows where a sample takes so many, and the two ends one each.
    pub(crate) fn rows(&self, each: usize) -> usize {
        self.samples.map_or(self.budget, |samples| samples.saturating_mul(each).saturating_add(2))
    }

    /// As a report shows it.
    pub fn params(&self) -> BTreeMap<String, serde_json::Value> {
        let list: &[(&str, serde_json::Value)] = match self.samples {
            Some(samples) => &[("samples", samples.into())],
            None => &[("tolerance", self.tolerance.into()), ("budget", self.budget.into())],
        };
        list.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    /// Whether the error bars are small enough.
    pub fn met(&self, values: &[f64], errors: &[f64]) -> bool {
        imprecision(values, errors) <= self.tolerance
    }

    /// What the reader must know where the budget ended first.
    pub fn note(&self, values: &[f64], errors: &[f64]) -> Option<String> {
        let short = self.samples.is_none() && !self.met(values, errors);
        short.then(|| {
            format!(
                "the budget of {} rows ended at a standard error of {:.1} % of the largest score, above the tolerance of {} %; raise budget",
                self.budget,
                100.0 * imprecision(values, errors),
                100.0 * self.tolerance
            )
        })
    }
}

/// The largest standard error as a share of the largest score.
pub(crate) fn imprecision(values: &[f64], errors: &[f64]) -> f64 {
    let largest = |list: &[f64]| list.iter().fold(0.0, |top: f64, x| top.max(x.abs()));
    let error = largest(errors);
    if error == 0.0 { 0.0 } else { error / largest(values) }
}

/// How many samples to look at next, as errors fall with the root of their number: a tenth more at least, and half as many
/// again at most, because early errors are not well known.
pub(crate) fn more(samples: usize, imprecision: f64, tolerance: f64) -> usize {
    let factor = (imprecision / tolerance).powi(2).clamp(1.1, 1.5);
    (samples as f64 * factor).ceil() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Settings, perturbation};

    #[test]
    fn a_count_or_a_tolerance() {
        let effort = |words: &[&str]| {
            let settings = Settings::parse(words)?;
            Effort::new(&mut Arguments::new(&perturbation::permutation_shap::INFO, settings)?)
        };
        assert_eq!(effort(&["samples=7"]).unwrap().samples, Some(7));
        assert!(effort(&["samples=7", "tolerance=0.1"]).is_err());
        assert!(effort(&["samples=0"]).is_err());
        let adaptive = effort(&["tolerance=0.1"]).unwrap();
        assert_eq!((adaptive.samples, adaptive.budget), (None, 2000));
        assert!(adaptive.met(&[1.0, -2.0], &[0.2, 0.1]));
        assert!(!adaptive.met(&[1.0, -2.0], &[0.21, 0.1]));
        assert!(adaptive.met(&[0.0], &[0.0]) && !adaptive.met(&[0.0], &[0.1]));
        assert!(adaptive.note(&[1.0, -2.0], &[0.2, 0.1]).is_none());
        assert!(adaptive.note(&[1.0], &[0.3]).unwrap().contains("2000 rows"));
    }

    #[test]
    fn steps_go_to_where_the_errors_should_do() {
        let steps = [0.06, 0.0501, 0.2, f64::INFINITY].map(|imprecision| more(100, imprecision, 0.05));
        assert_eq!(steps, [144, 111, 150, 150]);
    }
}
