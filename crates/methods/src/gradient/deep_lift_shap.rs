//! DeepLIFT averaged over several baselines, which approximates Shapley values. S. Lundberg, S.-I. Lee, *A unified
//! approach to interpreting model predictions*, 2017.

use super::deep_lift::DeepLift;
use crate::registry::{Axiom, Info, Meaning, Method};
use crate::{Baseline, Explained, Job};
use exegete_core::Result;
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "deep_lift_shap",
    summary: "DeepLIFT averaged over several baselines",
    page: include_str!("deep_lift_shap.md"),
    axioms: &[Axiom::Completeness, Axiom::Sensitivity, Axiom::Dummy, Axiom::Symmetry],
    signed: true,
    meaning: Meaning::TimesDifference,
    new: |settings| Ok(Box::new(DeepLiftShap(DeepLift::new(settings)?))),
};

struct DeepLiftShap(DeepLift);

impl Method for DeepLiftShap {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        self.0.params()
    }

    fn explain(&self, job: &Job<'_>) -> Result<Explained> {
        if job.baselines != [Baseline::Zero] {
            return self.0.explain(job);
        }
        // The default is one baseline, which would be plain DeepLIFT; of the others, those that the model has.
        let open = job.open()?;
        let all = [Baseline::Zero, Baseline::Pad, Baseline::Mask, Baseline::Mean];
        let baselines =
            all.into_iter().filter(|baseline| baseline.row(open, job.encoded()).is_ok()).collect();
        let job = Job { baselines, ..job.clone() };
        let names: Vec<String> = job.baselines.iter().map(ToString::to_string).collect();
        Ok(self.0.explain(&job)?.with("baselines", names))
    }
}
