//! ∏ (½A + ½I) over the layers, with A the mean over heads. S. Abnar, W. Zuidema, *Quantifying attention flow in
//! transformers*, 2020.

use super::{attended, maps, query, row_of, weights};
use crate::registry::{Info, Meaning, Method, Needs, New, params};
use crate::{Question, RawAttribution};
use exegete_core::Result;
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "attention_rollout",
    summary: "attention multiplied through all layers, half of each layer being the residual",
    prose: include_str!("attention_rollout.md"),
    parameters: &[],
    axioms: &[],
    signed: false,
    meaning: Meaning::Looked,
    needs: Needs::Inside,
    new: New::Scores(|_| Ok(Box::new(Rollout))),
};

struct Rollout;

impl Method for Rollout {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        params([])
    }

    fn own_site(&self) -> bool {
        true
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        let sites = weights(job)?.0;
        let tokens = job.encoded().len();
        // From the last layer down, only the row of the token that is read is needed.
        let mut scores = vec![0.0; tokens];
        scores[query(job)] = 1.0;
        for map in maps(job, &sites)?.iter().rev() {
            let mut below: Vec<f64> = scores.iter().map(|score| 0.5 * score).collect();
            for (i, share) in scores.iter().enumerate().filter(|(_, share)| **share != 0.0) {
                let row = row_of(map, i, None);
                below.iter_mut().zip(row).for_each(|(below, p)| *below += 0.5 * share * p);
            }
            scores = below;
        }
        Ok(attended(job, sites.last().copied(), scores))
    }
}
