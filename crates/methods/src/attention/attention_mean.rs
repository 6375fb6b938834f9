//! The attention of one token to all others, averaged over layers and heads.

use super::{Attention, attended, maps, query, row_of, written};
use crate::registry::{Info, Meaning, Method, Needs, New, params};
use crate::{Question, RawAttribution};
use exegete_core::Result;
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "attention_mean",
    summary: "how much the token that is read attends to each token, averaged over layers and heads",
    prose: include_str!("attention_mean.md"),
    parameters: &[],
    axioms: &[],
    signed: false,
    meaning: Meaning::Looked,
    needs: Needs::Inside,
    new: New::Scores(|_| Ok(Box::new(Mean))),
};

struct Mean;

impl Method for Mean {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        params([])
    }

    fn own_site(&self) -> bool {
        true
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        let sites = match Attention::of(job)? {
            Attention::Between(sites, _) => sites,
            // One layer with one head is its own mean.
            Attention::Pooling(pooling) => return pooling.weights(job),
            Attention::Written(site) => return written(job, site),
        };
        let mut scores = vec![0.0; job.encoded().len()];
        for map in maps(job, &sites)? {
            let row = row_of(&map, query(job), None);
            scores.iter_mut().zip(row).for_each(|(score, p)| *score += p / sites.len() as f64);
        }
        Ok(attended(job, sites.last().copied(), scores))
    }
}
