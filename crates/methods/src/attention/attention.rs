//! The attention of one token to all others, in one layer.

use super::{head, layer, maps, query, row_of, weights};
use crate::explained::Scores;
use crate::registry::{Info, Meaning, Method, Needs, New, params};
use crate::{Explained, Job};
use exegete_core::Result;
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "attention",
    summary: "how much the token that is read attends to each token, in one layer",
    page: include_str!("attention.md"),
    axioms: &[],
    signed: false,
    meaning: Meaning::Other,
    needs: Needs::Inside,
    new: New::Scores(|settings| {
        Ok(Box::new(Raw { layer: settings.optional("layer")?, head: settings.optional("head")? }))
    }),
};

struct Raw {
    layer: Option<usize>,
    head: Option<usize>,
}

impl Method for Raw {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        let head = self.head.map_or("mean".into(), serde_json::Value::from);
        params([("layer", self.layer.map_or("last".into(), serde_json::Value::from)), ("head", head)])
    }

    fn own_site(&self) -> bool {
        true
    }

    fn explain(&self, job: &Job<'_>) -> Result<Explained> {
        let (sites, count) = weights(job)?;
        let (layer, head) = (layer(self.layer, &sites)?, head(self.head, count)?);
        let scores = row_of(&maps(job)?[layer], query(job), head);
        let mut explained = Explained::from(Scores::Tokens(scores)).with("query", query(job));
        explained.site = Some(sites[layer]);
        Ok(explained)
    }
}
