//! What long work costs, said before it starts.

use super::{Listener, Notice};
use crate::methods::parameter::grouped;
use crate::methods::{ConfiguredMethod, Kind, Meaning, Method, Needs, Question, Request, most_rows};
use crate::{Driver, Example, Model};
use std::time::Instant;

/// Fewer rows start without a word.
const MANY: usize = 20_000;
/// So many rows are run backward to see what one takes.
const SLOPES: u32 = 4;
/// The same of steps of a method's own arithmetic …
const MANY_STEPS: usize = 2_000_000;
/// … each of which takes about so long: finding a set among others. A rough figure, no measurement of this machine.
const SECONDS_A_STEP: f64 = 1.5e-6;

/// One note for each method that may run very many rows for so many texts like this one. Whatever goes wrong here is said by the work itself.
pub(super) fn say(
    model: &dyn Model,
    memory_bytes: usize,
    (example, texts): (&Example, usize),
    request: &Request,
    tell: Listener<'_>,
) {
    let Ok(rows) = most_rows(model, memory_bytes, (example, texts), request) else { return };
    for (name, rows) in rows.into_iter().filter(|(_, rows)| *rows >= MANY) {
        let slopes = request.methods.iter().any(|chosen| chosen.info.name == name && reads_slopes(chosen));
        let seconds = match slopes {
            true => seconds_a_slope(model, memory_bytes, example, request),
            false => seconds_a_row(model, example),
        };
        if let Some(seconds) = seconds {
            tell(Notice::Note(&line(name, rows, slopes, seconds)));
        }
    }
    let Ok(encoded) = model.encoded(example) else { return };
    let units = request.units.of(&encoded).len();
    for chosen in &request.methods {
        let steps = chosen.steps_beside_rows(units).saturating_mul(texts);
        if steps >= MANY_STEPS {
            tell(Notice::Note(&arithmetic(chosen.info.name, steps)));
        }
    }
}

fn arithmetic(name: &str, steps: usize) -> String {
    let steps_written = grouped(steps);
    let all = duration(steps as f64 * SECONDS_A_STEP);
    format!("{name}: {steps_written} steps of arithmetic beside the rows of the model, which may take {all}")
}

/// Whether the rows that a method counts are run backward too: where it gives scores and reads more than attention.
fn reads_slopes(chosen: &ConfiguredMethod) -> bool {
    let scores = matches!(chosen.kind, Kind::Scores(_));
    scores && chosen.info.needs == Needs::Inside && chosen.info.meaning != Meaning::Looked
}

/// Whether it would be many rows if there were any number of texts: else nobody need count them.
pub(super) fn grows(model: &dyn Model, memory_bytes: usize, example: &Example, request: &Request) -> bool {
    let rows = most_rows(model, memory_bytes, (example, usize::MAX), request);
    rows.is_ok_and(|rows| rows.iter().any(|(_, rows)| *rows >= MANY))
}

/// Measured on a few copies of the text, the second time: the first also reads the parameters.
fn seconds_a_row(model: &dyn Model, example: &Example) -> Option<f64> {
    let copies = vec![example.clone(); if model.open().is_some() { 8 } else { 1 }];
    model.predict(&copies).ok()?;
    let started = Instant::now();
    model.predict(&copies).ok()?;
    Some(started.elapsed().as_secs_f64() / copies.len() as f64)
}

/// The same of a row with the slopes of F, which is how noisy copies of a text are read: one after the other.
fn seconds_a_slope(
    model: &dyn Model,
    memory_bytes: usize,
    example: &Example,
    request: &Request,
) -> Option<f64> {
    let driver = Driver::new(memory_bytes);
    let questions = Question::all(model, &driver, example, request).ok()?;
    let question = questions.first()?;
    let words = question.words().ok()?;
    let read = || question.slopes(std::slice::from_ref(&question.row), words).ok();
    read()?;
    let started = Instant::now();
    for _ in 0..SLOPES {
        read()?;
    }
    Some(started.elapsed().as_secs_f64() / f64::from(SLOPES))
}

fn line(name: &str, rows: usize, slopes: bool, seconds: f64) -> String {
    let rows_written = grouped(rows);
    let (row, all) = (duration(seconds), duration(seconds * rows as f64));
    let kind = if slopes { ", forward and backward" } else { "" };
    format!(
        "{name}: up to {rows_written} rows of the model{kind}; a row takes about {row} here, so up to {all}"
    )
}

/// A time with its unit, to two digits at most below ten.
pub(super) fn duration(seconds: f64) -> String {
    let units = [(86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes"), (1.0, "s"), (1e-3, "ms")];
    let (size, unit) = units.into_iter().find(|(size, _)| seconds >= 2.0 * size).unwrap_or((1e-6, "µs"));
    let number = seconds / size;
    let digits = usize::from(number < 9.95);
    format!("{number:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said before such a request runs.
    fn told(method: &str, set: &[&str]) -> Vec<String> {
        let model = crate::load_default(&crate::LoadOptions::default()).unwrap();
        let methods = ConfiguredMethod::all(&[method], set).unwrap();
        let request = Request { methods, ..Request::default() };
        let mut told = Vec::new();
        say(&*model, 1 << 30, (&Example::text("A warm film."), 1), &request, &mut |notice| {
            told.push(format!("{notice:?}"));
        });
        told
    }

    /// A gradient takes several times what an answer does, so it is measured where rows are run backward.
    #[test]
    fn rows_are_measured_as_they_are_run() {
        let noise = &["noise=smooth", "noise_samples=100000"][..];
        for (method, set, backward) in [
            ("saliency", noise, true),
            ("attention", noise, false),
            ("hotflip", &["candidates=10000", "beam=10", "random=0"], false),
        ] {
            let told = told(method, set);
            assert_eq!(told.len(), 1, "{method}: {told:?}");
            assert!(told[0].contains(" rows of the model"), "{told:?}");
            assert_eq!(
                told[0].contains("rows of the model, forward and backward; a row takes"),
                backward,
                "{told:?}"
            );
        }
    }

    #[test]
    fn arithmetic_is_one_line() {
        let expected = "permutation_shap: 22,000,000 steps of arithmetic beside the rows of the model, which may take 33 s";
        assert_eq!(arithmetic("permutation_shap", 22_000_000), expected);
    }

    #[test]
    fn a_cost_is_one_line() {
        let expected =
            "lime: up to 200,000 rows of the model; a row takes about 3.0 ms here, so up to 10 minutes";
        assert_eq!(line("lime", 200_000, false, 0.003), expected);
        let times = [1e-5, 0.0415, 1.0, 90.0, 7200.0, 1e6].map(duration);
        assert_eq!(times, ["10 µs", "42 ms", "1000 ms", "90 s", "2.0 hours", "12 days"]);
    }
}
