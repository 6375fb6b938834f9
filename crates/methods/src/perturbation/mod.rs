//! Methods that hide words and look at what the model says then.

mod game;
pub mod lime;

pub use game::Game;
