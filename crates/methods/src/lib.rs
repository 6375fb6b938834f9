//! Methods that explain, and the evidence for what they say. One file and one page for each method.
//!
//! 1. A [`Job`] is one question: a model, a text, a target, a site, baselines.
//! 2. A [`Method`] answers it with [`Explained`] scores; [`METHODS`] lists them all.
//! 3. The [evidence] measures how far the scores can be trusted.
//! 4. [`Masked`] remembers what hiding words does, for everything that hides words.
//! 5. [`explain`](fn@explain) does all of it and gives the items of a report.
//!
//! Methods know neither a concrete model nor a renderer.

mod asked;
pub mod attacks;
pub mod attention;
pub mod baseline;
mod cholesky;
mod chosen;
pub mod compare;
mod decision;
mod effort;
mod elsewhere;
pub mod evidence;
mod explain;
mod explained;
pub mod gradient;
mod job;
mod judge;
mod masked;
mod masker;
mod noise;
pub mod perturbation;
pub mod quadrature;
#[cfg(test)]
mod recorded;
mod registry;
pub mod rules;
pub mod search;
mod settings;
pub mod statistics;
mod story;
mod words;

pub use baseline::Baseline;
pub use chosen::{Chosen, Normalise, Picked};
pub use decision::Decision;
pub use effort::Effort;
pub use elsewhere::Elsewhere;
pub use explain::{Place, Request, default_method, explain, survey};
pub use explained::{Explained, Scores};
pub use job::{Job, Reduce};
pub use judge::{Given, judge};
pub use masked::{Masked, Outcome, Set, by_probability};
pub use masker::Masker;
pub use registry::{Axiom, Corpus, Finder, Info, METHODS, Meaning, Method, Needs, New, Survey, find};
pub use settings::Settings;
pub use words::{Word, Words};
