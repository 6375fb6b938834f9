//! Numbers as short as they can be without losing a bit.

use serde::{Serialize, Serializer};
use std::fmt;

/// A number for output: one that came from an f32 is written with the digits of an f32, not of its f64 image.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Number(
    /// The number itself, finite or not.
    pub f64,
);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let short = self.0 as f32;
        if f64::from(short) == self.0 {
            serializer.serialize_f32(short)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

/// For fields of f64.
pub fn short<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    Number(*value).serialize(serializer)
}

/// For fields that may have none.
pub fn short_or_null<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    value.map(Number).serialize(serializer)
}

/// The same for each number of a list.
pub fn short_each<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().copied().map(Number))
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

/// A share as people write it: `97.3 %`.
pub fn percent(share: f64, decimals: usize) -> String {
    format!("{:.decimals$} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_percentages() {
        assert_eq!((percent(0.04, 0), percent(0.9731, 1)), ("4 %".to_owned(), "97.3 %".to_owned()));
    }

    #[test]
    fn numbers_are_short_and_exact() {
        for (value, expected) in [
            (f64::from(0.1f32), "0.1"),
            (0.1, "0.1"),
            (1.0 / 3.0, "0.3333333333333333"),
            (f64::from(-2.345_678f32), "-2.345678"),
            (1.0, "1.0"),
            (f64::NAN, "null"),
        ] {
            assert_eq!(Number(value).to_string(), expected);
        }
    }
}
