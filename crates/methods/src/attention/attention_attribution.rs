//! Attr_h = A_h ⊙ ∫₀¹ ∂F(βA)/∂A_h dβ with A the attention probabilities of all heads of one layer, scaled together. Y. Hao,
//! L. Dong, F. Wei, K. Xu, *Self-attention attribution: interpreting information interactions inside Transformer*, 2021.
//! The paper takes the probability as F, 20 points and their left ends; here F is the target and the points are adaptive.

use super::{Attention, PARAMETERS, layer};
use crate::gradient::integrated_gradients::from_nothing;
use crate::parameter::POSITIVE;
use crate::registry::{Axiom, Info, Meaning, Method, Needs, New, params};
use crate::{Parameter, Question, RawAttribution};
use exegete_core::{Result, Site};
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "attention_attribution",
    summary: "attention times its gradient along the way from no attention in one layer to the text's own",
    prose: include_str!("attention_attribution.md"),
    parameters: &[
        PARAMETERS[0],
        Parameter::number(
            "tolerance",
            POSITIVE,
            Some(0.01),
            "of the gap to the claimed sum and of the change of any token, at which no point is added",
        ),
    ],
    axioms: &[Axiom::Completeness],
    signed: true,
    meaning: Meaning::Other,
    needs: Needs::Inside,
    new: New::Scores(|arguments| {
        Ok(Box::new(AttentionAttribution {
            layer: arguments.optional_count("layer")?,
            tolerance: arguments.number("tolerance")?,
        }))
    }),
};

/// Integrated gradients of one layer's attention, from none of it.
struct AttentionAttribution {
    layer: Option<usize>,
    tolerance: f64,
}

impl AttentionAttribution {
    /// Where the weights of the layer lie.
    fn site(&self, job: &Question<'_>) -> Result<Site> {
        match Attention::of(job)? {
            Attention::Between(maps, _) => Ok(maps[layer(self.layer, maps.len())?]),
            Attention::Pooling(pooling) => layer(self.layer, 1).map(|_| pooling.words()),
        }
    }
}

impl Method for AttentionAttribution {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        let layer = self.layer.map_or("last".into(), serde_json::Value::from);
        params([("layer", layer), ("tolerance", self.tolerance.into())])
    }

    fn own_site(&self) -> bool {
        true
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        let site = self.site(job)?;
        let found = from_nothing(job, site, self.tolerance)?;
        Ok(RawAttribution { site: Some(site), ..found })
    }
}
