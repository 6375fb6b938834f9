//! DeepLIFT averaged over several baselines, which approximates Shapley values. S. Lundberg, S.-I. Lee, *A unified
//! approach to interpreting model predictions*, 2017.

use super::deep_lift::{DeepLift, PARAMETERS};
use crate::registry::{Axiom, Info, Meaning, Method, Needs, New};
use crate::{Baseline, Question, RawAttribution};
use exegete_core::Result;
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "deep_lift_shap",
    summary: "DeepLIFT averaged over several baselines",
    prose: include_str!("deep_lift_shap.md"),
    parameters: &PARAMETERS,
    axioms: &[Axiom::Completeness, Axiom::Sensitivity, Axiom::Dummy, Axiom::Symmetry],
    signed: true,
    meaning: Meaning::TimesDifference,
    needs: Needs::Inside,
    new: New::Scores(|arguments| Ok(Box::new(DeepLiftShap(DeepLift::new(arguments)?)))),
};

struct DeepLiftShap(DeepLift);

impl Method for DeepLiftShap {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        self.0.params()
    }

    fn baselines(&self) -> &'static [Baseline] {
        &[Baseline::Zero, Baseline::Pad, Baseline::Mask, Baseline::Mean]
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        self.0.explain(job)
    }
}
