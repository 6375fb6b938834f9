//! ∫₀¹ ∂F/∂y dα at a site y while the *input* goes from the baseline to the text. K. Leino and others,
//! *Influence-directed explanations for deep convolutional networks*, 2018.

use super::path::{Path, along, mean};
use crate::quadrature::QuadratureRule;
use crate::registry::{Axiom, Info, Meaning, Method, Needs, New, params};
use crate::{Arguments, Baseline, Question, RawAttribution, Reduce};
use exegete_core::{Array, Result};
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "internal_influence",
    summary: "the mean gradient at a site while the input goes from a baseline to the text",
    prose: include_str!("internal_influence.md"),
    parameters: &QuadratureRule::PARAMETERS,
    axioms: &[Axiom::Dummy],
    signed: false,
    meaning: Meaning::Slope,
    needs: Needs::Inside,
    new: New::Scores(|arguments| Ok(Box::new(InternalInfluence::new(arguments)?))),
};

struct InternalInfluence {
    rule: QuadratureRule,
    steps: usize,
}

impl InternalInfluence {
    fn new(arguments: &mut Arguments) -> Result<Self> {
        Ok(Self { rule: arguments.choice("rule", &QuadratureRule::NAMES)?, steps: arguments.count("steps")? })
    }
}

impl Method for InternalInfluence {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        params([("rule", self.rule.to_string().into()), ("steps", self.steps.into())])
    }

    fn baselines(&self) -> &'static [Baseline] {
        &[Baseline::Zero]
    }

    fn most_rows(&self, _units: usize) -> Option<usize> {
        Some(self.steps + 2)
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        let (points, paths) = (self.rule.points(self.steps), Path::all(job, job.words()?)?);
        let slope = |path: &Path| along(job, path, &points, |rows| job.slopes(rows, job.site));
        let found = paths.iter().map(slope).collect::<Result<Vec<Array>>>()?;
        // The sum over a word vector is zero wherever a layer norm follows, so its length is what can be shown.
        Ok(RawAttribution::new(mean(&found)?, Reduce::L2))
    }
}
