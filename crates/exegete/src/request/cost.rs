//! What long work costs, said before it starts.

use super::{Listener, Notice};
use crate::methods::parameter::grouped;
use crate::methods::{Method, Request, most_rows};
use crate::{Example, Model};
use std::time::Instant;

/// Fewer rows start without a word.
const MANY: usize = 20_000;
/// The same of steps of a method's own arithmetic …
const MANY_STEPS: usize = 2_000_000;
/// … each of which takes about so long: finding a set among others, measured on one core.
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
        if let Some(seconds) = seconds_a_row(model, example) {
            tell(Notice::Note(&line(name, rows, seconds)));
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

fn line(name: &str, rows: usize, seconds: f64) -> String {
    let rows_written = grouped(rows);
    let (row, all) = (duration(seconds), duration(seconds * rows as f64));
    format!("{name}: up to {rows_written} rows of the model; a row takes about {row} here, so up to {all}")
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

    #[test]
    fn arithmetic_is_one_line() {
        let expected = "permutation_shap: 22,000,000 steps of arithmetic beside the rows of the model, which may take 33 s";
        assert_eq!(arithmetic("permutation_shap", 22_000_000), expected);
    }

    #[test]
    fn a_cost_is_one_line() {
        let expected =
            "lime: up to 200,000 rows of the model; a row takes about 3.0 ms here, so up to 10 minutes";
        assert_eq!(line("lime", 200_000, 0.003), expected);
        let times = [1e-5, 0.0415, 1.0, 90.0, 7200.0, 1e6].map(duration);
        assert_eq!(times, ["10 µs", "42 ms", "1000 ms", "90 s", "2.0 hours", "12 days"]);
    }
}
