//! Changes of the text that change the answer, found with gradients (METHODS B11, C3, C4).

mod alphabet;
pub mod artifacts;
mod constraints;
mod first_order;
mod flips;
mod goal;
pub mod hotflip;
mod share;
mod stop_words;
pub mod triggers;
mod vocabulary;

pub use constraints::Constraints;
pub use vocabulary::Vocabulary;

/// Random numbers of flips to compare with.
const STAGE_FLIPS: u64 = 201;
/// Random numbers of a search for triggers.
const STAGE_TRIGGERS: u64 = 202;
