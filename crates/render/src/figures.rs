//! How numbers are written for reading.

use exegete_core::report::{Bounded, Cell, Table, number};

/// Three significant digits; more where the number is large, two where it is below a tenth.
pub(crate) fn figure(value: f64) -> String {
    if !value.is_finite() {
        return odd(value);
    }
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size > 0.0 && !(1e-4..1e7).contains(&size) => format!("{value:.1e}"),
        size => unsigned_zero(format!("{value:.*}", decimals(size, if size < 0.1 { 2 } else { 3 }))),
    }
}

/// As many decimals as give the largest of a column three significant digits, four from one upwards, so that its
/// numbers line up.
pub(crate) fn column_decimals(largest: f64) -> usize {
    decimals(largest, if largest < 1.0 { 3 } else { 4 })
}

/// Decimals for each column of a table.
pub(crate) fn columns(table: &Table) -> Vec<usize> {
    let number = |cell: &Cell| match cell {
        Cell::Estimate { mean, .. } => Some(*mean),
        Cell::Number(value) | Cell::Interval { value, .. } => Some(*value),
        Cell::Word(_) | Cell::Empty => None,
    };
    let column = |at| table.rows.iter().filter_map(|row| row.get(at).and_then(number)).collect::<Vec<f64>>();
    let columns = table.rows.iter().map(Vec::len).fold(table.columns.len(), usize::max);
    (0..columns).map(|at| table_decimals(&column(at))).collect()
}

/// None where all are whole, else two digits for the smallest.
fn table_decimals(values: &[f64]) -> usize {
    let finite = || values.iter().filter(|v| v.is_finite()).map(|v| v.abs());
    if finite().all(|v| v.fract() == 0.0) {
        return 0;
    }
    let smallest = finite().filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
    decimals(smallest, 2).max(decimals(finite().fold(0.0, f64::max), 3)).min(4)
}

/// A number of such a column; one that would round to nothing keeps its digits.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let lost = value != 0.0 && text.chars().all(|c| matches!(c, '-' | '0' | '.'));
    if lost || !value.is_finite() || value.abs() >= 1e9 { figure(value) } else { text }
}

/// A setting: no digits that say nothing.
pub(crate) fn setting(value: f64) -> String {
    let text = figure(value);
    if !text.contains('.') || text.contains('e') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A number of a column, with its sign.
pub(crate) fn signed(value: f64, decimals: usize) -> String {
    if value.is_finite() { unsigned_zero(format!("{value:+.decimals$}")) } else { odd(value) }
}

/// A standard error of a column.
pub(crate) fn error(error: f64, decimals: usize) -> String {
    format!("±{}", signed(error, decimals).trim_start_matches('+'))
}

/// A share as a percentage.
pub(crate) fn percent(share: f64) -> String {
    if share.is_finite() { number::percent(share, 1) } else { odd(share) }
}

/// A share with the bounds of its interval, where it has one: `97.3 % (95.1 % to 98.9 %)`.
pub(crate) fn interval(share: Bounded) -> String {
    let Bounded { value, low, high } = share;
    let value = percent(value);
    if [low, high].map(percent).iter().all(|bound| *bound == value) {
        return value;
    }
    format!("{value} ({} to {})", percent(low), percent(high))
}

/// A share of a column, without decimals.
pub(crate) fn share(share: f64) -> String {
    if share.is_finite() { number::percent(share, 0) } else { odd(share) }
}

/// A probability value: one that rounds to nothing is said to be below what is shown.
pub(crate) fn p_value(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {}", figure(p)) }
}

/// A count with its noun.
pub(crate) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

fn decimals(largest: f64, digits: i32) -> usize {
    if !largest.is_finite() || largest <= 0.0 {
        return 3;
    }
    let before = largest.log10().floor() as i32 + 1;
    (digits - before).clamp(0, 8) as usize
}

fn odd(value: f64) -> String {
    if value.is_nan() { "NaN".to_owned() } else { format!("{value}") }
}

/// A value that rounds to zero has no sign.
fn unsigned_zero(number: String) -> String {
    let zero = number.chars().all(|c| matches!(c, '+' | '-' | '0' | '.'));
    if zero { number.replace(['+', '-'], "") } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_two_or_three_digits() {
        for (value, expected) in [
            (0.0, "0"),
            (1.234_56, "1.23"),
            (-0.123_456, "-0.123"),
            (0.001_234, "0.0012"),
            (12.345, "12.3"),
            (12_345.6, "12346"),
            (0.000_001, "1.0e-6"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(figure(value), expected);
        }
    }

    #[test]
    fn columns_line_up() {
        for (largest, value, expected) in [
            (2.5, -2.5, "-2.500"),
            (2.5, 0.000_01, "0.000"),
            (250.0, 250.0, "+250.0"),
            (0.025, 0.025, "+0.0250"),
            (f64::NAN, 1.0, "+1.000"),
        ] {
            assert_eq!(signed(value, column_decimals(largest)), expected);
        }
    }
}
