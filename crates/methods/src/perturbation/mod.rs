//! Attribution by hiding parts of a text. What they share is a [`Game`]: a number for every set of
//! hidden units.

pub mod exact_shap;
pub mod feature_ablation;
pub mod feature_permutation;
mod game;
mod groups;
pub mod kernel_shap;
pub mod leave_one_out;
pub mod lime;
mod moments;
pub mod occlusion;
mod owen;
pub mod partition_shap;
pub mod permutation_shap;
pub mod sp_lime;
mod tree;

pub use game::{Game, ShapleyShares};
pub use tree::Tree;
