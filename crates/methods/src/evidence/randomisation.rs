//! Scores of a model whose parameters are random from the top down. J. Adebayo and others, *Sanity checks for saliency
//! maps*, 2018: scores that stay alike do not depend on what the model has learned.
//!
//! Each tensor becomes normal with its own mean and standard deviation, so that activations keep their size. What is
//! explained stays what it was for the trained model.

use super::again::Again;
use super::check::{Check, FEWEST_RANKED, Look, Ruling, no_sets};
use super::{FEWEST_TOKENS, Level};
use crate::Job;
use crate::noise::gaussian;
use crate::statistics::spearman;
use exegete_core::report::{Checks, Randomisation};
use exegete_core::{Array, Learner, Model, Result, Unit};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Scores that go this well with those of a model of random parameters do not depend on what was learned.
const MOST_ALIKE: f64 = 0.7;
/// The first stream of random numbers: one a part of the model from here on.
const STAGE: u64 = 1000;

pub(super) const CHECK: Check = Check { level: Level::Deep, sets: no_sets, measure };

fn measure(look: &mut Look<'_, '_>, checks: &mut Checks) -> Result<Ruling> {
    let Some(again) = look.again().filter(|_| look.tokens() >= FEWEST_TOKENS) else {
        return Ok(Ruling::default());
    };
    checks.randomisation = cascade(&look.job, &look.job.units, &again)?;
    Ok(checks.randomisation.last().and_then(|last| failure(last, look.tokens())).into())
}

fn failure(last: &Randomisation, tokens: usize) -> Option<String> {
    let alike = last.correlation;
    (alike.abs() > MOST_ALIKE && tokens >= FEWEST_RANKED).then(|| {
        format!("with all parameters random the scores are much the same (ρ = {alike:.2}): they hardly depend on the model")
    })
}

/// A part of a model, in the order of computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Embeddings,
    /// One layer's parameters for all layers.
    Shared,
    Layer(usize),
    Head,
}

/// One entry a part, from the top; none where the model's parameters have no names.
fn cascade(job: &Job<'_>, units: &[Unit], again: &Again<'_>) -> Result<Vec<Randomisation>> {
    let Some(learner) = job.model.learner() else { return Ok(Vec::new()) };
    let own = again.tokens(job, again.explained, units)?;
    let sizes = |values: &[f64]| values.iter().map(|v| v.abs()).collect::<Vec<f64>>();
    let mut view: Option<Arc<dyn Model>> = None;
    let mut found = Vec::new();
    for (Reverse(part), names) in parts(learner) {
        let overrides = random_parameters(job, learner, part, &names)?;
        // A view of the view before: what was random stays so.
        let open = view.as_deref().unwrap_or(job.model).require_open()?;
        let moved = open.with_params(overrides)?;
        let job = Job { model: &*moved, ..job.clone() };
        let scores = again.tokens(&job, &again.method.explain(&job)?, units)?;
        found.push(Randomisation {
            down_to: part.to_string(),
            correlation: spearman(&own, &scores).unwrap_or(0.0),
            absolute: spearman(&sizes(&own), &sizes(&scores)).unwrap_or(0.0),
        });
        view = Some(moved);
    }
    Ok(found)
}

/// The parameters of each part, the last part first.
fn parts(learner: &dyn Learner) -> BTreeMap<Reverse<Part>, Vec<String>> {
    let mut parts: BTreeMap<Reverse<Part>, Vec<String>> = BTreeMap::new();
    for (name, _) in learner.parameters() {
        parts.entry(Reverse(Part::of(&name))).or_default().push(name);
    }
    parts
}

fn random_parameters(
    job: &Job<'_>,
    learner: &dyn Learner,
    part: Part,
    names: &[String],
) -> Result<Vec<(String, Array)>> {
    let mut random = job.random(STAGE + part.stream());
    let replaced = |name: &String| {
        let own = learner.parameter(name)?;
        let count = own.len().max(1) as f64;
        let mean = own.data.iter().map(|&x| f64::from(x)).sum::<f64>() / count;
        let variance = own.data.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / count;
        let mut drawn = gaussian(&own.shape, variance.sqrt(), &mut random);
        drawn.data.iter_mut().for_each(|x| *x += mean as f32);
        Ok((name.clone(), drawn))
    };
    names.iter().map(replaced).collect()
}

impl Part {
    /// By the parameter's name in Hugging Face models: `….layer.3.…` is a layer, `…embedding…` what comes before; the rest
    /// is the head.
    fn of(name: &str) -> Self {
        let pieces: Vec<&str> = name.split('.').collect();
        let layer = |pair: &[&str]| (pair[0] == "layer").then(|| pair[1].parse().ok()).flatten();
        if let Some(layer) = pieces.windows(2).find_map(layer) {
            return Self::Layer(layer);
        }
        let has = |part: &str| pieces.iter().any(|piece| piece.contains(part));
        if has("layer_groups") {
            return Self::Shared;
        }
        if has("embedding") { Self::Embeddings } else { Self::Head }
    }

    /// Parts draw from streams of their own, so that one more layer changes nothing in the others.
    fn stream(self) -> u64 {
        match self {
            Self::Embeddings => 0,
            Self::Shared => 1,
            Self::Head => 2,
            Self::Layer(layer) => 3 + layer as u64,
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embeddings => f.write_str("embeddings"),
            Self::Shared => f.write_str("layers"),
            Self::Layer(layer) => write!(f, "layer.{layer}"),
            Self::Head => f.write_str("head"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_belong_to_parts() {
        for (name, part) in [
            ("bert.encoder.layer.11.attention.self.key.bias", Part::Layer(11)),
            ("distilbert.transformer.layer.0.sa_layer_norm.weight", Part::Layer(0)),
            ("albert.encoder.albert_layer_groups.0.albert_layers.0.ffn.weight", Part::Shared),
            ("albert.encoder.embedding_hidden_mapping_in.bias", Part::Embeddings),
            ("electra.embeddings_project.weight", Part::Embeddings),
            ("roberta.embeddings.LayerNorm.bias", Part::Embeddings),
            ("bert.pooler.dense.weight", Part::Head),
            ("classifier.weight", Part::Head),
            ("cls.predictions.transform.LayerNorm.weight", Part::Head),
        ] {
            assert_eq!(Part::of(name), part, "{name}");
        }
        assert!(
            Part::Head > Part::Layer(3) && Part::Layer(3) > Part::Layer(2) && Part::Shared > Part::Embeddings
        );
    }
}
