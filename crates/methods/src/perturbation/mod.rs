//! Attribution by hiding parts of a text (METHODS B1, B2, B5). What they share is a [`Game`]: a number for every set of
//! hidden units.

mod cholesky;
mod effort;
pub mod exact_shap;
mod game;
pub mod kernel_shap;
mod moments;
mod owen;
pub mod partition_shap;
pub mod permutation_shap;
mod tree;

pub use effort::Effort;
pub use game::{Game, Shares};
pub use tree::Tree;
