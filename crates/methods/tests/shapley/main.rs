//! Shapley values of games: by hand, against another library, and how often error bars hold the truth.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]
#![allow(clippy::print_stdout, reason = "a test may say what it measured")]

mod by_hand;
mod coverage;
mod games;
mod long;
mod recorded;
