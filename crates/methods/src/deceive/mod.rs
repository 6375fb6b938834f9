//! Attention that is trained not to show what a model reads: D. Pruthi and others, *Learning to deceive with attention-based
//! explanations*, 2020.
//!
//! 1. [`Impermissible`] knows, text by text, which words attention must not show.
//! 2. A [`HiddenPlace`] is the attention that is to hide them, and says which of its elements they are.
//! 3. [`TextMass`] is how much weight they have all the same; [`zeroed`](HiddenPlace::zeroed) takes it away.
//! 4. [`Restricted`] is a transformer in which they and the other words read nothing of each other.
//! 5. [`notices`](fn@notices) holds what is measured about an honest and a deceiving model side by side, and
//!    [`published`](fn@published) the paper's numbers beside ours.

mod impermissible;
mod maps;
mod notices;
mod place;
mod published;
mod restricted;

pub use impermissible::{Impermissible, aligned, spelled, truth};
pub use maps::{DrawnModel, weight_maps};
pub use notices::{Measurements, notices};
pub use place::{HiddenPlace, MarkedRow, Masses, TextMass};
pub use published::{DeceivingArm, GENDER, JOINED, OCCUPATION, PublishedDeceiver, published};
pub use restricted::{Restricted, restricted_sites, restrictions};

use crate::Stream;
use crate::evidence::ranking::shuffled;

/// The numbers below `count` in a seeded order, for sentences and texts that are drawn; `place` tells what they are drawn for.
pub fn seeded_order(count: usize, seed: u64, place: u64) -> Vec<usize> {
    shuffled(count, &mut Stream::JoinedSentences.random(seed, place))
}

#[cfg(test)]
mod tests;
