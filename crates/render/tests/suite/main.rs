//! Every renderer over a handful of reports made by hand.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod hostile;
#[cfg(feature = "png")]
mod png;
mod reading;
mod samples;
mod snapshots;
