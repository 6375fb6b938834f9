//! A softplus for every ReLU, around any method: the explanation is of a network that bends where the model has kinks.
//! A.-K. Dombrowski and others, *Explanations can be manipulated and geometry is to blame*, 2019.
//!
//! max(z, 0) becomes (1/β)·ln(1 + e^(βz)), forward too. The target is the one that the model's own prediction gave; F, its
//! slopes and what scores sum to are the changed network's. What hiding words shows is measured on the model itself.

use crate::decision::DecisionQuestion;
use crate::parameter::Parameter;
use crate::registry::Method;
use crate::{Arguments, Baseline, Question, RawAttribution};
use exegete_core::report::{Item, ReluSwap, Subject};
use exegete_core::{Error, Logits, Outputs, Result, Rules, Scores, Site};
use std::collections::BTreeMap;
use std::str::FromStr;

/// What a swap takes.
pub(crate) const PARAMETER: Parameter = Parameter::text(
    "softplus",
    "10",
    Some("no"),
    "explains the network with a softplus of this β for every ReLU; `yes` is 10 (`exegete methods saliency`)",
);

/// A method on the network with another rectifier.
pub(crate) struct Softplus {
    inner: Box<dyn Method>,
    beta: f64,
}

/// β as it is given; none for the network as it is.
struct Given(Option<f64>);

impl FromStr for Given {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let number = || text.parse().ok().filter(|beta: &f64| beta.is_finite() && *beta > 0.0);
        match text {
            "no" => Ok(Self(None)),
            "yes" => Ok(Self(Some(10.0))),
            _ => {
                number().map(|beta| Self(Some(beta))).ok_or("must be yes, no or a number above 0, such as 10")
            }
        }
    }
}

impl Softplus {
    /// The method as it is, or on the network with a softplus where the arguments ask for one.
    pub(crate) fn around(inner: Box<dyn Method>, arguments: &mut Arguments) -> Result<Box<dyn Method>> {
        Ok(match arguments.text::<Given>(PARAMETER.name)? {
            Some(Given(Some(beta))) => Box::new(Self { inner, beta }),
            _ => inner,
        })
    }
}

impl Method for Softplus {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        let mut params = self.inner.params();
        params.insert(PARAMETER.name.into(), self.beta.into());
        params
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        let model = job.open()?.softened(self.beta)?;
        // The target was resolved against the model's own answer, and stays.
        let swapped = Question { model: &*model, output: None, ..job.clone() };
        let swap = measured(job, &swapped, self.beta)?;
        let explained = self.inner.explain(&swapped)?;
        Ok(RawAttribution { swap: Some(swap), ..explained })
    }

    fn baselines(&self) -> &'static [Baseline] {
        self.inner.baselines()
    }

    fn own_site(&self) -> bool {
        self.inner.own_site()
    }

    fn places(&self, job: &Question<'_>) -> Result<Vec<Site>> {
        self.inner.places(job)
    }

    fn beside(&self, job: &Question<'_>, explained: &RawAttribution, subject: Subject) -> Result<Vec<Item>> {
        let model = job.open()?.softened(self.beta)?;
        let swapped = Question { model: &*model, output: None, ..job.clone() };
        self.inner.beside(&swapped, explained, subject)
    }

    fn most_rows(&self, units: usize) -> Option<usize> {
        self.inner.most_rows(units).map(|rows| rows.saturating_add(2))
    }
}

/// How far the changed network answers otherwise.
fn measured(own: &Question<'_>, swapped: &Question<'_>, beta: f64) -> Result<ReluSwap> {
    let logits = |job: &Question<'_>| job.driver.read_one(job.model, &job.row, &Outputs);
    let value = |job: &Question<'_>| Ok::<_, Error>(job.read_own(&[], &[], Rules::Gradient)?.value);
    let (before, after) = (logits(own)?, logits(swapped)?);
    let question = DecisionQuestion::of(own.card(), &own.target);
    let decide = |logits: &Logits| {
        let decide = |question: &DecisionQuestion| {
            question.decide(own.card(), own.model.open(), own.encoded(), logits)
        };
        question.as_ref().map(decide).transpose()
    };
    let (decided, then) = (decide(&before)?, decide(&after)?);
    let of_decision = || {
        let (question, decided) = (question.as_ref()?, decided.as_ref()?);
        Some((decided.prob - question.prob(&after, decided.key)).abs())
    };
    let probs = |logits: &Logits| Ok::<_, Error>(of_classes(&own.model.scored(own.encoded(), logits)?));
    let prob_change = match (probs(&before)?, probs(&after)?) {
        (Some(before), Some(after)) => Some(largest_change(&before, &after)),
        _ => of_decision(),
    };
    Ok(ReluSwap {
        beta,
        value: value(own)?,
        swapped: value(swapped)?,
        logit_change: largest_change(&before.data, &after.data),
        prob_change,
        decision_changed: decided.map(|decision| decision.key) != then.map(|decision| decision.key),
    })
}

/// The probability of each class, where there are classes.
fn of_classes(scores: &Scores) -> Option<Vec<f64>> {
    Some(scores.by_class()?.iter().map(|class| class.prob).collect())
}

fn largest_change(before: &[f64], after: &[f64]) -> f64 {
    before.iter().zip(after).fold(0.0, |top: f64, (a, b)| top.max((a - b).abs()))
}
