//! Whole-program tests: arguments in; exit code, stdout and stderr out.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod again;
mod attention;
mod attention_debate;
mod attention_deceive;
mod attention_heads;
mod attention_training;
mod bad_input;
mod bad_model;
#[cfg(unix)]
mod black_box;
mod commands;
mod corners;
mod corpus_page;
mod data;
mod documents;
mod edges;
mod endpoint;
mod eval;
mod explain;
mod harness;
#[cfg(unix)]
mod interrupt;
mod methods;
#[cfg(unix)]
mod options;
#[cfg(unix)]
mod overwrite;
mod predict;
#[cfg(unix)]
mod remote;
mod requests;
mod schema;
mod small;
mod snapshot;
mod train;
