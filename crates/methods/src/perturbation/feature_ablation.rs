//! F(x) − F(x without a group of units), for every unit of the group. Captum's `FeatureAblation` with a feature mask.

use super::groups::{GROUPS, Grouping, ablated};
use crate::registry::{Axiom, Info, Meaning, Method, Needs, New, params};
use crate::{Question, RawAttribution};
use exegete_core::Result;
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "feature_ablation",
    summary: "how far the target falls when a group of units is hidden",
    prose: include_str!("feature_ablation.md"),
    parameters: &[GROUPS],
    axioms: &[
        Axiom::Sensitivity,
        Axiom::Dummy,
        Axiom::Symmetry,
        Axiom::Linearity,
        Axiom::ImplementationInvariance,
    ],
    signed: true,
    meaning: Meaning::Other,
    needs: Needs::Predictions,
    new: New::Scores(|arguments| {
        Ok(Box::new(FeatureAblation(arguments.text("groups")?.unwrap_or_default())))
    }),
};

struct FeatureAblation(Grouping);

impl Method for FeatureAblation {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        params([("groups", self.0.to_string().into())])
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        ablated(job, &self.0.of(job)?)
    }

    fn own_site(&self) -> bool {
        true
    }
}
