//! Scores of a model whose parameters are random from the top down. J. Adebayo and others, *Sanity checks for saliency
//! maps*, 2018: scores that stay alike do not depend on what the model has learned.
//!
//! Each tensor becomes normal with its own mean and standard deviation, so that activations keep their size. What is
//! explained stays what it was for the trained model.

use super::check::{Check, FEWEST_RANKED, Judged, Look, Ruling, no_sets};
use super::head_randomisation::change;
use super::{FEWEST_TOKENS, Level};
use crate::noise::gaussian;
use crate::registry::Method;
use crate::statistics::spearman;
use crate::{Question, RawAttribution, Stream};
use exegete_core::report::{Checks, Randomisation};
use exegete_core::{Array, GroupKind, Learner, Model, ParameterGroup, Result};
use std::sync::Arc;

/// Scores that go this well with those of a model of random parameters do not depend on what was learned.
const MOST_ALIKE: f64 = 0.7;

pub(super) const CHECK: Check = Check { name: "randomisation", level: Level::Deep, sets: no_sets, measure };

fn measure(look: &mut Look<'_, '_>, checks: &mut Checks) -> Result<Ruling> {
    let Some(method) = look.again().filter(|_| look.job.model.learner().is_some()) else {
        return Ok(Ruling::default());
    };
    if look.tokens() < FEWEST_TOKENS {
        return Ok(Judged::undecided(None, MOST_ALIKE).into());
    }
    let Cascade { steps, head_change } = cascade(&look.job, look.explained, method)?;
    look.head_change = head_change;
    checks.randomisation = steps;
    let judged = checks.randomisation.last().map(|last| judged(last, look.tokens()));
    Ok(Ruling { judged, sentence: None })
}

/// The size of the correlation with all parameters random.
fn judged(last: &Randomisation, tokens: usize) -> Judged {
    let alike = last.correlation;
    if tokens < FEWEST_RANKED {
        return Judged::undecided(Some(alike.abs()), MOST_ALIKE);
    }
    let failure = (alike.abs() > MOST_ALIKE).then(|| {
        format!("with all parameters random the scores are much the same (ρ = {alike:.2}): they hardly depend on the model")
    });
    Judged::new(alike.abs(), MOST_ALIKE, failure)
}

/// What becomes random in one step.
#[derive(Debug, PartialEq)]
struct RandomPart {
    name: String,
    /// Parts draw from streams of their own, so that one more layer changes nothing in the others.
    stream: u64,
    /// Sorted, so that what is drawn does not depend on the order in which a network was built.
    parameters: Vec<String>,
}

/// What became of the scores as the parameters became random.
#[derive(Default)]
struct Cascade {
    /// One entry a part, from the top; none where the model's parameters have no names.
    steps: Vec<Randomisation>,
    /// How far a random head alone moved the scores, as a share of the largest.
    head_change: Option<f64>,
}

fn cascade(job: &Question<'_>, explained: &RawAttribution, method: &dyn Method) -> Result<Cascade> {
    let Some(learner) = job.model.learner() else { return Ok(Cascade::default()) };
    let own = explained.inside(job)?;
    let sizes = |values: &[f64]| values.iter().map(|v| v.abs()).collect::<Vec<f64>>();
    let mut view: Option<Arc<dyn Model>> = None;
    let mut found = Cascade::default();
    for part in parts(learner.groups()).into_iter().rev() {
        let overrides = random_parameters(job, learner, &part)?;
        // A view of the view before: what was random stays so.
        let open = view.as_deref().unwrap_or(job.model).require_open()?;
        let moved = open.with_params(overrides)?;
        let job = Question { model: &*moved, output: None, ..job.clone() };
        let scores = method.explain(&job)?.inside(&job)?;
        if part.stream == HEAD && found.steps.is_empty() {
            found.head_change = change(&own, &scores);
        }
        found.steps.push(Randomisation {
            down_to: part.name,
            correlation: spearman(&own, &scores).unwrap_or(0.0),
            absolute: spearman(&sizes(&own), &sizes(&scores)).unwrap_or(0.0),
        });
        view = Some(moved);
    }
    Ok(found)
}

/// The stream of what layers share; the embeddings have 0, and other parts those after the head's.
const SHARED: u64 = 1;

/// The stream of the head.
const HEAD: u64 = 2;

/// The groups as parts in the order of computation. All weights that layers share are one part: a change to one set
/// already reaches many layers.
fn parts(groups: Vec<ParameterGroup>) -> Vec<RandomPart> {
    let mut parts: Vec<RandomPart> = Vec::new();
    let mut layers = 0;
    for ParameterGroup { name, kind, mut parameters } in groups {
        let (name, stream) = match kind {
            GroupKind::Embeddings => (name, 0),
            GroupKind::Shared => ("layers".into(), SHARED),
            GroupKind::Head => (name, HEAD),
            GroupKind::Part | GroupKind::WordVectors => {
                layers += 1;
                (name, HEAD + layers)
            }
        };
        match parts.last_mut().filter(|last| (last.stream, stream) == (SHARED, SHARED)) {
            Some(last) => last.parameters.append(&mut parameters),
            None => parts.push(RandomPart { name, stream, parameters }),
        }
    }
    parts.iter_mut().for_each(|part| part.parameters.sort_unstable());
    parts
}

fn random_parameters(
    job: &Question<'_>,
    learner: &dyn Learner,
    part: &RandomPart,
) -> Result<Vec<(String, Array)>> {
    let mut random = Stream::Parameters.random(job.seed, part.stream);
    let replaced = |name: &String| {
        let Array { shape, data } = learner.parameter(name)?;
        let count = data.len().max(1) as f64;
        let mean = data.iter().map(|&x| f64::from(x)).sum::<f64>() / count;
        let variance = data.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / count;
        // A vocabulary's vectors are large: not twice at once.
        drop(data);
        let mut drawn = gaussian(&shape, variance.sqrt(), &mut random);
        drawn.data.iter_mut().for_each(|x| *x += mean as f32);
        Ok((name.clone(), drawn))
    };
    part.parameters.iter().map(replaced).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_become_parts_with_streams_of_their_own() {
        use GroupKind::{Embeddings, Head, Part as Layer, Shared};
        let check = |groups: &[(&str, GroupKind, &str)], expected: &[(&str, u64, &str)]| {
            let words = |text: &str| text.split(' ').map(str::to_owned).collect();
            let group = |&(name, kind, text): &(&str, GroupKind, &str)| ParameterGroup {
                name: name.into(),
                kind,
                parameters: words(text),
            };
            let expected = expected.iter().map(|&(name, stream, text)| RandomPart {
                name: name.into(),
                stream,
                parameters: words(text),
            });
            assert_eq!(parts(groups.iter().map(group).collect()), expected.collect::<Vec<_>>());
        };
        check(
            &[
                ("embeddings", Embeddings, "w p"),
                ("layer.0", Layer, "b a"),
                ("layer.1", Layer, "c"),
                ("head", Head, "h"),
            ],
            &[("embeddings", 0, "p w"), ("layer.0", 3, "a b"), ("layer.1", 4, "c"), ("head", 2, "h")],
        );
        check(
            &[("embeddings", Embeddings, "w"), ("layers.0", Shared, "b d"), ("layers.1", Shared, "a c")],
            &[("embeddings", 0, "w"), ("layers", 1, "a b c d")],
        );
        // What a part is called says nothing.
        check(
            &[("embeddings", Layer, "w"), ("layers.0", Layer, "b"), ("top", Head, "h")],
            &[("embeddings", 3, "w"), ("layers.0", 4, "b"), ("top", 2, "h")],
        );
    }
}
