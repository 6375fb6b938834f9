//! The schema `exegete.predictions/1`, one row a line.

use exegete::{Example, Field, Prediction, Scores};
use serde::Serialize;

/// What stands before the first row.
pub(crate) const OPENING: &[u8] = b"{\"schema\":\"exegete.predictions/1\",\"rows\":[\n";
/// What stands after the last row.
pub(crate) const CLOSING: &[u8] = b"\n]}\n";

/// One row of the document.
#[derive(Serialize)]
pub(crate) struct Row<'a> {
    input: &'a [Field],
    prediction: &'a Scores,
    truncated: bool,
    #[serde(skip_serializing_if = "is_none")]
    unknown: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    gold: Option<&'a str>,
}

/// Whether the vocabulary holds everything, which is not worth a field.
fn is_none(unknown: &usize) -> bool {
    *unknown == 0
}

/// One row, ready to serialise.
pub(crate) fn row<'a>(example: &'a Example, prediction: &'a Prediction) -> Row<'a> {
    Row {
        input: &example.fields,
        prediction: &prediction.scores,
        truncated: prediction.truncated,
        unknown: prediction.unknown,
        gold: example.label.as_deref(),
    }
}
