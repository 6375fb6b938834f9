//! The attention of one token to all others, in one layer.

use super::{Attention, HeadChoice, PARAMETERS, attended, head, layer, maps, query, row_of, written};
use crate::matrix::of_target;
use crate::registry::{Info, Meaning, Method, Needs, New};
use crate::{Question, RawAttribution};
use exegete_core::report::{Item, Subject};
use exegete_core::{Result, Rules};
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "attention",
    summary: "how much the token that is read attends to each token, in one layer",
    prose: include_str!("attention.md"),
    parameters: &PARAMETERS,
    axioms: &[],
    signed: false,
    meaning: Meaning::Looked,
    needs: Needs::Inside,
    new: New::Scores(|arguments| Ok(Box::new(Raw(HeadChoice::of(arguments)?)))),
};

struct Raw(HeadChoice);

impl Method for Raw {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        self.0.params("mean")
    }

    fn own_site(&self) -> bool {
        true
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        match Attention::of(job)? {
            Attention::Between(sites, count) => {
                let (layer, head) = (layer(self.0.layer, sites.len())?, head(self.0.head, count)?);
                let scores = row_of(&maps(job, &sites[layer..=layer])?[0], query(job), head);
                Ok(attended(job, Some(sites[layer]), scores))
            }
            Attention::Pooling(pooling) => {
                layer(self.0.layer, 1).and(head(self.0.head, 1))?;
                pooling.weights(job)
            }
            Attention::Written(site) => {
                layer(self.0.layer, 1).and(head(self.0.head, 1))?;
                written(job, site)
            }
        }
    }

    fn beside(&self, job: &Question<'_>, _: &RawAttribution, subject: Subject) -> Result<Vec<Item>> {
        let Attention::Written(site) = Attention::of(job)? else { return Ok(Vec::new()) };
        let weights = job.read_own(&[site], &[], Rules::Gradient)?.values.swap_remove(0);
        Ok(vec![of_target(subject, job.encoded(), &weights)])
    }
}
