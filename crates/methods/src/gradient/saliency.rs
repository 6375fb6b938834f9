//! ∂F/∂x. K. Simonyan, A. Vedaldi, A. Zisserman, *Deep inside convolutional networks*, 2014.

use crate::registry::{Axiom, Info, Meaning, Method, Needs, New, OwnReading, params};
use crate::{Question, RawAttribution, Reduce};
use exegete_core::{Result, Rules};
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "saliency",
    summary: "how steeply the target changes with each word vector",
    prose: include_str!("saliency.md"),
    parameters: &[],
    axioms: &[Axiom::Dummy, Axiom::Symmetry, Axiom::ImplementationInvariance],
    signed: false,
    meaning: Meaning::Slope,
    needs: Needs::Inside,
    new: New::Scores(|_| Ok(Box::new(Saliency))),
};

struct Saliency;

impl Method for Saliency {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        params([])
    }

    fn reads(&self) -> Option<OwnReading> {
        Some(OwnReading { value: false, rules: Rules::Gradient })
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        let mut found = job.read_own(&[], &[job.site], Rules::Gradient)?;
        Ok(RawAttribution::new(found.gradients.swap_remove(0), Reduce::L2))
    }
}
