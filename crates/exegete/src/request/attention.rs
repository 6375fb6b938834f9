//! The requests of `exegete attention …`: what the attention of a model is worth.

pub mod test;
