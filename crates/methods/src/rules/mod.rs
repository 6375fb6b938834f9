//! Rules that hold an answer (METHODS C1).

pub mod anchors;
