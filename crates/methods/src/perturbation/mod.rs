//! Attribution by hiding parts of a text (METHODS B1, B2, B5). What they share is a [`Game`]: a number for every set of
//! hidden units.

mod cholesky;
mod effort;
pub mod exact_shap;
mod game;
pub mod kernel_shap;
mod moments;
pub mod permutation_shap;

pub use effort::Effort;
pub use game::{Game, Shares};
