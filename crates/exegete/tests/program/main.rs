//! Whole-program tests: arguments in; exit code, stdout and stderr out.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod bad_input;
mod bad_model;
mod commands;
mod endpoint;
mod eval;
mod explain;
mod harness;
#[cfg(unix)]
mod overwrite;
mod predict;
#[cfg(unix)]
mod remote;
mod snapshot;
mod train;
