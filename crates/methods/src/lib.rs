//! Methods that explain, and the evidence for what they say. One file and one page for each method.
//!
//! 1. A [`Question`] is one question: a model, a text, a target, a site, baselines.
//! 2. A [`Method`] answers it with [`RawAttribution`] scores; [`METHODS`] lists them all.
//! 3. The [evidence] measures how far the scores can be trusted.
//! 4. [`PerturbedPredictions`] remembers what hiding words does, for everything that hides words.
//! 5. [`explain`](fn@explain) does all of it and gives the items of a report.
//!
//! Methods know neither a concrete model nor a renderer.

mod answer;
pub mod attacks;
pub mod attention;
pub mod baseline;
mod cholesky;
pub mod compare;
mod configured;
mod corpus;
mod cost;
pub mod data;
pub mod debate;
pub mod deceive;
mod decision;
mod effort;
pub mod evidence;
mod explain;
mod external;
mod foreseen;
pub mod gradient;
pub mod heads;
mod judge;
mod layers;
mod masker;
mod matrix;
mod noise;
pub mod parameter;
pub mod perturbation;
mod perturbed;
pub mod quadrature;
mod question;
mod raw_attribution;
#[cfg(test)]
mod recorded;
mod registry;
mod rounding;
pub mod rules;
pub mod search;
mod settings;
mod softplus;
pub mod statistics;
mod streams;
mod suggest;
mod words;

pub use baseline::Baseline;
pub use configured::{ConfiguredMethod, Kind, Normalise};
pub use corpus::{Corpus, TextPass, TextSource};
pub use cost::{SurveySize, most_rows};
pub use decision::Decision;
pub use effort::Effort;
pub use explain::{Request, SiteChoice, default_method, explain, explain_foreseen, survey};
pub use external::ExternalExplanation;
pub use foreseen::{Foreseen, foresee, foresees};
pub use judge::{ExternalScores, judge};
pub use masker::Masker;
pub use parameter::{Parameter, Takes};
pub use perturbed::{AskedSets, Outcome, PerturbedPredictions, Set, by_probability};
pub use question::{Question, Reduce};
pub use raw_attribution::{RawAttribution, RawScores};
pub use registry::{
    Axiom, CorpusMethod, Info, METHODS, Meaning, Method, Needs, New, OwnReading, SearchMethod, Unread, find,
};
pub use settings::{Arguments, Settings};
pub use streams::Stream;
pub use suggest::{nearest, suggest_method};
pub use words::{Word, Words};
