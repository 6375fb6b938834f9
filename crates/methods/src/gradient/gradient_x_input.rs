//! x ⊙ ∂F/∂x. A. Shrikumar, P. Greenside, A. Shcherbina, A. Kundaje, *Not just a black box*, 2016.

use super::path::times;
use crate::registry::{Axiom, Info, Meaning, Method, Needs, New, OwnReading, params};
use crate::{Question, RawAttribution, Reduce};
use exegete_core::{Result, Rules};
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "gradient_x_input",
    summary: "the gradient times the word vector: what a first-order step to zero would take away",
    prose: include_str!("gradient_x_input.md"),
    parameters: &[],
    axioms: &[Axiom::Dummy, Axiom::Symmetry, Axiom::Linearity, Axiom::ImplementationInvariance],
    signed: true,
    meaning: Meaning::TimesInput,
    needs: Needs::Inside,
    new: New::Scores(|_| Ok(Box::new(GradientXInput))),
};

struct GradientXInput;

impl Method for GradientXInput {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        params([])
    }

    fn reads(&self) -> Option<OwnReading> {
        Some(OwnReading { value: true, rules: Rules::Gradient })
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        let mut found = job.read_own(&[job.site], &[job.site], Rules::Gradient)?;
        Ok(RawAttribution::new(times(found.gradients.swap_remove(0), &found.values[0]), Reduce::Sum))
    }
}
