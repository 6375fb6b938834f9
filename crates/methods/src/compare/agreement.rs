//! How far explanations of the same texts rank units alike.

use super::{Measured, MethodComparison, Text, estimate};
use crate::statistics::{kendall, with_ties};
use exegete_core::report::{Cell, Table};

pub(super) fn table(contest: &MethodComparison<'_>, judged: &[&Text]) -> Table {
    let names = contest.names;
    let cell = |row: usize, column: usize| {
        if row == column {
            return Cell::Number(1.0);
        }
        let both = judged.iter().filter_map(|text| text.measured.get(row).zip(text.measured.get(column)));
        estimate(&both.filter_map(|(a, b)| tau(a, b)).collect::<Vec<f64>>())
    };
    let row = |row: usize| {
        let cells = (0..names.len()).map(|column| cell(row, column));
        [Cell::Word(names[row].clone())].into_iter().chain(cells).collect()
    };
    Table {
        title: "Agreement: Kendall's tau between the scores".to_owned(),
        columns: ["method".to_owned()].into_iter().chain(names.iter().cloned()).collect(),
        rows: (0..names.len()).map(row).collect(),
        notes: vec![
            "sizes are compared where either side has no sign; texts where one side is all ties are left out"
                .to_owned(),
        ],
        ..Table::default()
    }
}

/// Scores without a sign can only agree with the sizes of others.
fn tau(a: &Measured, b: &Measured) -> Option<f64> {
    let signed = a.signed && b.signed;
    let by = |values: &[f64]| -> Vec<f64> {
        with_ties(&values.iter().map(|v| if signed { *v } else { v.abs() }).collect::<Vec<f64>>())
    };
    (a.values.len() == b.values.len()).then(|| kendall(&by(&a.values), &by(&b.values)))?.map(|(tau, _)| tau)
}
