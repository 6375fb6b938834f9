//! Changes of the text that change the answer, found with gradients.

mod alphabet;
pub mod artifacts;
mod constraints;
mod first_order;
mod flips;
mod goal;
pub mod hotflip;
pub(crate) mod share;
mod stop_words;
pub mod triggers;
mod vocabulary;

pub use constraints::Constraints;
pub use vocabulary::ReplacementWords;
