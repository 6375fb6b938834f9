//! ∫₀¹ ∂F/∂y dα at a site y while the *input* goes from the baseline to the text. K. Leino and others,
//! *Influence-directed explanations for deep convolutional networks*, 2018.

use super::path::{Path, mean, weighted};
use crate::quadrature::Rule;
use crate::registry::{Axiom, Info, Meaning, Method, Needs, New, params};
use crate::{Baseline, Explained, Job, Reduce, Settings};
use exegete_core::{Array, Result};
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "internal_influence",
    summary: "the mean gradient at a site while the input goes from a baseline to the text",
    page: include_str!("internal_influence.md"),
    axioms: &[Axiom::Dummy],
    signed: false,
    meaning: Meaning::Slope,
    needs: Needs::Inside,
    new: New::Scores(|settings| Ok(Box::new(InternalInfluence::new(settings)?))),
};

struct InternalInfluence {
    rule: Rule,
    steps: usize,
}

impl InternalInfluence {
    fn new(settings: &mut Settings) -> Result<Self> {
        let rule = settings.take("rule", Rule::GaussLegendre)?;
        Ok(Self { rule, steps: settings.count("steps")?.unwrap_or(32) })
    }
}

impl Method for InternalInfluence {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        params([("rule", self.rule.to_string().into()), ("steps", self.steps.into())])
    }

    fn baselines(&self) -> &'static [Baseline] {
        &[Baseline::Zero]
    }

    fn explain(&self, job: &Job<'_>) -> Result<Explained> {
        let (alphas, weights): (Vec<f64>, Vec<f64>) = self.rule.points(self.steps).into_iter().unzip();
        let paths = Path::all(job, job.words()?)?;
        let along =
            |path: &Path| weighted(&job.slopes(&path.rows(alphas.iter().copied()), job.site)?, &weights);
        let found = paths.iter().map(along).collect::<Result<Vec<Array>>>()?;
        // The sum over a word vector is zero wherever a layer norm follows, so its length is what can be shown.
        Ok(Explained::new(mean(&found)?, Reduce::L2))
    }
}
