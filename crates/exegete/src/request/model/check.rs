//! `exegete model check`: the conformance suite on the user's own folder.

use super::ModelRequest;
use crate::conformance::{self, Check, ConformanceSubject, Extent};
use crate::request::{Listener, Stop, check_stop};
use crate::small::MARKERS;
use crate::{Encoded, Example, LoadOptions, Logits, Model, Open, Plan, Precision, Row};
use anyhow::{Context, Result};
use serde::Serialize;
use std::sync::Arc;

/// How far logits may move with the number of threads, relative to the larger of 1 and the logit.
const THREADS_LIMIT: f64 = 1e-5;

/// Short on purpose: finite differences run the model once an element.
const SENTENCES: [&str; 4] = [
    "A warm and honest film.",
    "Boring stuff!",
    "The plot is thin, but don't leave before the end: it's worth it.",
    "Nobody in Berlin knew why.",
];

/// What the conformance suite found.
#[derive(Debug, Serialize)]
pub struct ModelCheck {
    /// Whether every check passed.
    pub passed: bool,
    /// Every check with what it found.
    pub checks: Vec<Check>,
}

/// Runs every check on a model.
pub fn run(request: &ModelRequest, stop: &Stop, tell: Listener<'_>) -> Result<ModelCheck> {
    let dir = request.model.as_deref();
    super::folder(dir, "the checks look at sites, edits and gradients")?;
    let load = |precision, threads| super::open_with(dir, &LoadOptions { precision, threads });
    let fast = load(Precision::F32, 0)?;
    let exact = load(Precision::F64, 0)?;
    super::warn(fast.card(), tell);
    let examples = examples(&*fast)?;
    let subject = ConformanceSubject { fast: &*fast, exact: &*exact, examples: &examples };
    let mut checks = conformance::check_until(&subject, Extent::default(), stop)?;
    check_stop(stop)?;
    checks.push(threads(&load(Precision::F32, 1)?, &load(Precision::F32, 2)?, &examples)?);
    Ok(ModelCheck { passed: checks.iter().all(|check| check.passed), checks })
}

/// Sentences that suit the model's task: questions have a context, masked models a mask, models of pairs a second text, and
/// models of whole words are asked with words that they know.
fn examples(model: &dyn Model) -> Result<Vec<Example>> {
    let (task, open) = (model.card().task, model.require_open()?);
    let mask = if task.needs_mask() { Some(mask(model)?) } else { None };
    let sentences = own_sentences(open).unwrap_or_else(|| SENTENCES.map(str::to_owned).to_vec());
    let example = |sentence: &String| match mask {
        _ if task.needs_pair() => super::example(task, "Where?", Some(sentence)),
        Some(mask) => super::example(task, &sentence.replacen(' ', &format!(" {mask} "), 1), None),
        None => {
            let one = super::example(task, sentence, None);
            let two = super::example(task, sentence, Some(&sentences[1]));
            let known = [one.clone(), weighted(&one), two.clone(), weighted(&two)];
            known.into_iter().find(|example| open.encode(example).is_ok()).unwrap_or(one)
        }
    };
    Ok(sentences.iter().map(example).collect())
}

/// The same with weights for models that take their attention from outside: each word one part more than the word before.
fn weighted(example: &Example) -> Example {
    let words = Encoded::of_words(example).tokens.iter().filter(|token| token.type_id == 0).count();
    let sum = (words * (words + 1)) as f32 / 2.0;
    Example { weights: Some((1..=words).map(|part| part as f32 / sum).collect()), ..example.clone() }
}

/// Texts of a model's own words, where its vocabulary is one of whole words: texts of unknown words say the same thing
/// everywhere, and a maximum over them has no derivative.
fn own_sentences(open: &dyn Open) -> Option<Vec<String>> {
    let markers = MARKERS.iter().zip(0..);
    if !markers.into_iter().all(|(marker, id)| open.piece(id).as_deref() == Some(marker)) {
        return None;
    }
    let first = MARKERS.len() as u32;
    let words: Vec<String> = (first..first + 24).map_while(|id| open.piece(id)).collect();
    let text = |(from, count): (usize, usize)| {
        let words: Vec<&str> = words.iter().map(String::as_str).cycle().skip(from).take(count).collect();
        words.join(" ")
    };
    // Two sentences each, since a model that reads by sentences weighs nothing in one.
    let two = |(from, first, second): (usize, usize, usize)| {
        format!("{}! {}", text((from, first)), text((from + first, second)))
    };
    Some([(0, 2, 3), (5, 1, 2), (8, 6, 6), (20, 2, 2)].map(two).to_vec())
}

/// How this model's tokenizer writes a mask.
fn mask(model: &dyn Model) -> Result<&'static str> {
    let open = model.require_open()?;
    let known = ["[MASK]", "<mask>"].into_iter().find(|mask| open.token_id(mask).is_some());
    known.with_context(|| format!("{}: the tokenizer knows neither [MASK] nor <mask>", model.card().name))
}

fn threads(one: &Arc<dyn Model>, two: &Arc<dyn Model>, examples: &[Example]) -> Result<Check> {
    let worst =
        logits(&**one, examples)?.iter().zip(&logits(&**two, examples)?).map(distance).fold(0.0, f64::max);
    let passed = worst <= THREADS_LIMIT;
    let detail = "logits of the same texts".to_owned();
    Ok(Check { name: "1 and 2 threads agree", passed, worst, limit: THREADS_LIMIT, detail })
}

fn logits(model: &dyn Model, examples: &[Example]) -> Result<Vec<Logits>> {
    let open = model.require_open()?;
    let rows =
        examples.iter().map(|example| Ok(Row::new(open.encode(example)?))).collect::<Result<Vec<_>>>()?;
    Ok(open.forward(&rows, &Plan::default())?.logits().to_vec())
}

fn distance((a, b): (&Logits, &Logits)) -> f64 {
    let one = |(a, b): (&f64, &f64)| {
        let d = (a - b).abs() / a.abs().max(1.0);
        if d.is_nan() { f64::INFINITY } else { d }
    };
    if a.shape == b.shape { a.data.iter().zip(&b.data).map(one).fold(0.0, f64::max) } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_between_threads_is_seen() {
        let logits = |data: &[f64]| Logits::new(vec![data.len()], data.to_vec());
        assert_eq!(distance((&logits(&[1.0, 8.0]), &logits(&[1.0, 8.0]))), 0.0);
        assert_eq!(distance((&logits(&[1.0, 8.0]), &logits(&[1.5, 12.0]))), 0.5);
        assert_eq!(distance((&logits(&[1.0]), &logits(&[1.0, 2.0]))), f64::INFINITY);
        assert_eq!(distance((&logits(&[1.0]), &logits(&[f64::NAN]))), f64::INFINITY);
    }
}
