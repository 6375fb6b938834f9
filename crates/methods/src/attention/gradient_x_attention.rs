//! A ⊙ ∂F/∂A in one layer: what the attention paid would lose if it were taken away, to first order.

use super::{Attention, HeadChoice, PARAMETERS, attended, head, layer, no_self_attention, query, row_of};
use crate::gradient::path::times;
use crate::registry::{Info, Meaning, Method, Needs, New};
use crate::{Question, RawAttribution};
use exegete_core::{Result, Rules};
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "gradient_x_attention",
    summary: "attention times its gradient, for the token that is read, in one layer",
    prose: include_str!("gradient_x_attention.md"),
    parameters: &PARAMETERS,
    axioms: &[],
    signed: true,
    meaning: Meaning::Other,
    needs: Needs::Inside,
    new: New::Scores(|arguments| Ok(Box::new(GradientXAttention(HeadChoice::of(arguments)?)))),
};

struct GradientXAttention(HeadChoice);

impl Method for GradientXAttention {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        self.0.params("mean")
    }

    fn own_site(&self) -> bool {
        true
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        let (maps, count) = match Attention::of(job)? {
            Attention::Between(maps, count) => (maps, count),
            Attention::Pooling(pooling) => {
                layer(self.0.layer, 1).and(head(self.0.head, 1))?;
                return pooling.weights_times_slopes(job);
            }
            Attention::Written(_) => return Err(no_self_attention(job)),
        };
        let (layer, head) = (layer(self.0.layer, maps.len())?, head(self.0.head, count)?);
        let site = maps[layer];
        let found = job.read_own(&[site], &[site], Rules::Gradient)?;
        let product = times(found.values[0].clone(), &found.gradients[0]);
        Ok(attended(job, Some(site), row_of(&product, query(job), head)))
    }
}
