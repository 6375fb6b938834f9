//! Scores as rows: one for each unit.

use super::{Row, number, word};
use exegete_core::report::{Attribution, UnitText};

pub(super) const HEAD: [&str; 10] =
    ["item", "method", "target", "unit", "text", "field", "start", "end", "value", "error"];

/// The error is empty where the method does not sample.
pub(super) fn rows(item: usize, attribution: &Attribution) -> Vec<Row> {
    let Attribution { subject, units, values, errors, .. } = attribution;
    let row = |(index, unit): (usize, &UnitText)| {
        let field = subject.input.get(unit.field).map_or_else(String::new, |field| word(&field.name));
        let [start, end] = [unit.start, unit.end].map(|at| at.to_string());
        let [value, error] =
            [values, errors].map(|from| from.get(index).map_or_else(String::new, |v| number(*v)));
        let head = [item.to_string(), word(&subject.method), word(&subject.target), index.to_string()];
        head.into_iter().chain([word(&unit.text), field, start, end, value, error]).collect()
    };
    units.iter().enumerate().map(row).collect()
}
