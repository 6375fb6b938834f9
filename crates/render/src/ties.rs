//! Which ranks a sampled method can tell apart.

use crate::figures::count;
use crate::scale::ranked;
use exegete_core::report::Attribution;

/// Standard errors each way that hold 95 % of a normal distribution.
const TWO_SIDED: f64 = 1.96;

/// A unit in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TiedUnit {
    /// Which unit, by its place among all.
    pub(crate) unit: usize,
    /// Its rank, from 1 for the highest score.
    pub(crate) rank: usize,
    /// Whether it is tied with the one above or below.
    pub(crate) tied: bool,
}

impl TiedUnit {
    /// The rank, with a sign where it could as well be a neighbour's.
    pub(crate) fn label(self) -> String {
        if self.tied { format!("≈{}", self.rank) } else { self.rank.to_string() }
    }
}

/// Half of the 95 % interval around an estimate with this standard error; nothing where the error is no number.
pub(crate) fn reach(error: f64) -> f64 {
    if error.is_finite() { TWO_SIDED * error.abs() } else { 0.0 }
}

/// Units by the size of their score. Two sizes are tied where they differ by no more than 1.96·√(e₁² + e₂²); without
/// standard errors none are. A rank is shared by the first that has it and all after it that are tied with that one, not
/// by chains of neighbours: those would tie the strongest to the weakest.
pub(crate) fn places(attribution: &Attribution) -> Vec<TiedUnit> {
    let Attribution { units, values, errors, .. } = attribution;
    let mut places: Vec<TiedUnit> = Vec::new();
    let mut first = 0;
    for unit in ranked(values).into_iter().filter(|unit| *unit < units.len()) {
        let tied = |with: &TiedUnit| within_errors(values, errors, with.unit, unit);
        if !places.get(first).is_some_and(tied) {
            first = places.len();
        }
        let neighbour = places.last().is_some_and(tied);
        if let Some(above) = places.last_mut().filter(|_| neighbour) {
            above.tied = true;
        }
        places.push(TiedUnit { unit, rank: first + 1, tied: neighbour });
    }
    places
}

fn within_errors(values: &[f64], errors: &[f64], above: usize, below: usize) -> bool {
    let (Some(a), Some(b)) = (errors.get(above), errors.get(below)) else { return false };
    (values[above].abs() - values[below].abs()).abs() <= reach(a.hypot(*b))
}

/// Says how many units are not listed, and how many of them cannot be told from the last that is; empty where none is.
pub(crate) fn left_out(places: &[TiedUnit], listed: usize) -> String {
    let Some((shown, rest)) = places.split_at_checked(listed).filter(|(_, rest)| !rest.is_empty()) else {
        return String::new();
    };
    let tied = rest.iter().filter(|place| shown.last().is_some_and(|last| last.rank == place.rank)).count();
    match tied {
        0 => format!("and {}", count(rest.len(), "weaker unit")),
        tied if tied == rest.len() => format!("and {} tied with the last above", count(tied, "more unit")),
        tied => format!("and {}, {tied} of them tied with the last above", count(rest.len(), "more unit")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_core::report::{Checks, Subject, UnitText};

    fn attribution(values: &[f64], errors: &[f64]) -> Attribution {
        let unit = |_| UnitText { text: "x".to_owned(), field: 0, start: 0, end: 1 };
        Attribution {
            subject: Subject {
                method: String::new(),
                params: Default::default(),
                input: Vec::new(),
                prediction: exegete_core::Scores::Value { value: 0.0 },
                target: String::new(),
                value: 0.0,
                sense: Default::default(),
                notes: Vec::new(),
            },
            site: String::new(),
            tokens: Vec::new(),
            token_values: Vec::new(),
            units: values.iter().map(unit).collect(),
            values: values.to_vec(),
            errors: errors.to_vec(),
            baseline_value: None,
            checks: Checks::default(),
        }
    }

    #[test]
    fn ties_share_a_rank() {
        for (values, errors, expected) in [
            (&[3.0, 1.0, -2.0][..], &[][..], "1 2 3"),
            // 1.96·√(0.1² + 0.1²) ≈ 0.277: the step of 0.25 is a tie, that of 0.3 is none.
            (&[1.0, 0.75, 0.45], &[0.1; 3], "≈1 ≈1 3"),
            (&[1.0, -0.75, 0.5, 0.1], &[0.1; 4], "≈1 ≈1 ≈3 4"),
            (&[0.8, 0.7, 0.6, 0.5, 0.4], &[0.1; 5], "≈1 ≈1 ≈1 ≈4 ≈4"),
            (&[2.0, 1.0, 0.9], &[0.0, 0.1, 0.1], "1 ≈2 ≈2"),
            (&[1.0, 1.0], &[0.0; 2], "≈1 ≈1"),
            (&[1.0, 0.9], &[f64::NAN, 0.1], "1 2"),
            (&[1.0, 0.9], &[0.1], "1 2"),
            (&[], &[], ""),
        ] {
            let found: Vec<_> =
                places(&attribution(values, errors)).iter().map(|place| place.label()).collect();
            assert_eq!(found.join(" "), expected, "{values:?} {errors:?}");
        }
    }

    #[test]
    fn what_is_left_out_is_told() {
        let sampled = places(&attribution(&[1.0, -0.9, 0.8, 0.1], &[0.1; 4]));
        for (listed, expected) in [
            (4, ""),
            (3, "and 1 weaker unit"),
            (2, "and 2 more units, 1 of them tied with the last above"),
            (9, ""),
        ] {
            assert_eq!(left_out(&sampled, listed), expected);
        }
    }
}
