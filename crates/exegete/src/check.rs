//! `exegete model check`: the conformance suite on the user's own folder.

use crate::cli::{Folder, TableFormat};
use crate::{model, table};
use anyhow::{Context, Result};
use exegete::conformance::{self, Check, Subject};
use exegete::{Example, Logits, Model, Options, Plan, Precision, Row};
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

#[derive(Serialize)]
struct Outcome {
    passed: bool,
    checks: Vec<Check>,
}

/// Runs every check and prints a table; whether all passed.
pub(crate) fn run(folder: &Folder) -> Result<bool> {
    model::folder(folder.dir.as_deref(), "the checks look at sites, edits and gradients")?;
    let load = |precision, threads| model::open_with(folder.dir.as_deref(), &Options { precision, threads });
    let fast = load(Precision::F32, 0)?;
    let exact = load(Precision::F64, 0)?;
    model::warn(fast.card());
    let examples = examples(&*fast)?;
    let subject = Subject { fast: &*fast, exact: &*exact, examples: &examples };
    let mut checks = conformance::check(&subject)?;
    checks.push(threads(&load(Precision::F32, 1)?, &load(Precision::F32, 2)?, &examples)?);
    let outcome = Outcome { passed: checks.iter().all(|check| check.passed), checks };
    match folder.format {
        TableFormat::Json => table::print_json("exegete.check/1", &outcome)?,
        TableFormat::Text => table::print(&text(&outcome))?,
    }
    Ok(outcome.passed)
}

fn text(outcome: &Outcome) -> String {
    let row = |check: &Check| {
        let result = if check.passed { "pass" } else { "FAIL" };
        let number = |value: f64| if value == 0.0 { "0".to_owned() } else { format!("{value:.1e}") };
        let name = check.name.to_owned();
        vec![name, result.to_owned(), number(check.worst), number(check.limit), check.detail.clone()]
    };
    let header = ["check", "result", "worst", "limit", "detail"];
    let table = table::plain(&header, outcome.checks.iter().map(row).collect(), &[2, 3]);
    let failed = outcome.checks.iter().filter(|check| !check.passed).count();
    let verdict = match failed {
        0 => format!("all {} checks passed", outcome.checks.len()),
        n => format!("{n} of {} checks failed", outcome.checks.len()),
    };
    format!("{table}\n{verdict}")
}

/// Sentences that suit the model's task: questions have a context, masked models a mask.
fn examples(model: &dyn Model) -> Result<Vec<Example>> {
    let task = model.card().task;
    let mask = if task.needs_mask() { Some(mask(model)?) } else { None };
    let example = |sentence: &&str| match mask {
        _ if task.needs_pair() => model::example(task, "Where?", Some(sentence)),
        Some(mask) => model::example(task, &sentence.replacen(' ', &format!(" {mask} "), 1), None),
        None => model::example(task, sentence, None),
    };
    Ok(SENTENCES.iter().map(example).collect())
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
