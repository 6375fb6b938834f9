//! The fewest units that hold the answer whatever happens to the others. M. Ribeiro, S. Singh, C. Guestrin, *Anchors:
//! high-precision model-agnostic explanations*, 2018.

mod draws;
mod exact;
mod grow;
pub mod kl;
pub mod lucb;
mod proof;
#[cfg(test)]
mod tests;

pub use draws::{Ask, Draw, Source};
pub use grow::{Found, Search, Step, find};
