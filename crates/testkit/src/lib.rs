//! What the tests of every crate share, and nothing that ships.
//!
//! - [`Toy`]: a small open model in plain loops, with answers worked out by hand. It depends on no engine, so whatever
//!   works on it depends on none either.
//! - [`NextToken`]: the task of the toy language model, to show that a task is one file in whatever crate.
//! - [`Net`]: chains of dense layers over numbers, on the engine, for the published closed forms.
//! - [`Formula`]: one formula over given vectors, on the engine.
//! - [`Faulty`]: any model with one planted [`Fault`], to show that a suite can fail.
//! - [`close`], [`check()`], [`Comparison`]: the comparison of numbers, which fails on NaN, on another length and on nothing.
//! - [`golden`]: expected values recorded from PyTorch.
//! - [`attributions`]: expected attributions, recorded from PyTorch and Captum.
//! - [`http`]: as much of HTTP as a server for tests needs.
//! - [`misfits`]: whether a JSON value fits a JSON Schema.

pub mod attributions;
mod close;
mod faulty;
mod formula;
pub mod golden;
pub mod http;
mod net;
mod next_token;
mod reading;
mod schema;
mod toy;
mod worked;

pub use exegete_core::dot;

pub use close::{Comparison, Numbers, Of, check, close};
pub use faulty::{Fault, Faulty};
pub use formula::{Formula, Function};
pub use net::{Dense, Net};
pub use next_token::{NEXT_TOKEN, NextToken};
pub use reading::{explaining, outputs, passes, slopes};
pub use schema::misfits;
pub use toy::Toy;
pub use worked::{Parameter, toy_attention, write_planted_heads, write_small, write_toy_attention};
