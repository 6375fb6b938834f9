//! The requests of `exegete attention …`: what the attention of a model is worth.

mod arms;
mod corpus;
pub mod debate;
pub mod deceive;
pub mod heads;
pub mod norms;
mod steps;
pub mod test;
pub mod words;

pub use corpus::CorpusOptions;
pub use steps::{CorpusLook, Steps};
