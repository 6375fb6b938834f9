//! F(x) − F(x without a unit). J. Li, W. Monroe, D. Jurafsky, *Understanding neural networks through representation
//! erasure*, 2016; Captum's `FeatureAblation` without groups.

use super::groups::{Groups, ablated};
use crate::registry::{Axiom, Info, Meaning, Method, Needs, New, params};
use crate::{Question, RawAttribution};
use exegete_core::Result;
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "leave_one_out",
    summary: "how far the target falls when a unit is hidden",
    prose: include_str!("leave_one_out.md"),
    parameters: &[],
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
    new: New::Scores(|_| Ok(Box::new(LeaveOneOut))),
};

struct LeaveOneOut;

impl Method for LeaveOneOut {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        params([])
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        ablated(job, &Groups::single(job.units.len()))
    }

    fn own_site(&self) -> bool {
        true
    }
}
