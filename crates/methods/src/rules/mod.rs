//! Rules that hold an answer.

pub mod anchors;
