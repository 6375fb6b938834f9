//! ∂F/∂x with rectifiers passing back whatever is positive. M. D. Zeiler, R. Fergus, *Visualizing and understanding
//! convolutional networks*, 2014.

use super::guided_backprop::Guided;
use crate::registry::{Info, Meaning, Needs, New};
use exegete_core::Rules;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "deconvolution",
    summary: "the gradient, with rectifiers passing back only what is positive",
    prose: include_str!("deconvolution.md"),
    parameters: &[],
    axioms: &[],
    signed: false,
    meaning: Meaning::Slope,
    needs: Needs::Inside,
    new: New::Scores(|_| Ok(Box::new(Guided { rules: Rules::Deconvolution }))),
};
