//! Layer-wise relevance propagation. S. Bach and others, *On pixel-wise explanations for non-linear classifier decisions
//! by layer-wise relevance propagation*, 2015; attention and layer norm as in A. Ali and others, *XAI for transformers:
//! better explanations through conservative propagation*, 2022.
//!
//! R_i = Σ_j x_i w_ij / (z_j + ε·sign z_j) · R_j, from R = F at the target down; Σ R + what biases took = F.

use super::path::{found, times};
use crate::explained::{Claim, sum_and_size};
use crate::registry::{Axiom, Info, Meaning, Method, Needs, New, params};
use crate::{Explained, Job, Reduce, Settings};
use exegete_core::{Array, Error, Lrp, Pass, Plan, Readout, Record, Result, Row, Rules, Scale, Site};
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "lrp",
    summary: "the target's value handed down layer by layer, in proportion to what each input contributed",
    page: include_str!("lrp.md"),
    axioms: &[Axiom::Completeness, Axiom::Dummy],
    signed: true,
    meaning: Meaning::TimesInput,
    needs: Needs::Inside,
    new: New::Scores(|settings| Ok(Box::new(Propagation::new(settings)?))),
};

struct Propagation {
    rule: Lrp,
}

impl Propagation {
    fn new(settings: &mut Settings) -> Result<Self> {
        let name =
            settings.choice("rule", &[("epsilon", 0), ("gamma", 1), ("alpha_beta", 2), ("z_plus", 3)])?;
        let rule = match name {
            0 => {
                let spread = settings.choice("bias", &[("share", false), ("spread", true)])?;
                let epsilon = settings.positive("epsilon", 1e-6)?;
                if spread { Lrp::Spread(epsilon) } else { Lrp::Epsilon(epsilon) }
            }
            1 => Lrp::Gamma(settings.positive("gamma", 0.25)?),
            2 => Lrp::AlphaBeta(settings.positive("alpha", 2.0)?),
            _ => Lrp::ZPlus,
        };
        match rule {
            Lrp::AlphaBeta(alpha) if alpha < 1.0 => Err(Error::Request(format!(
                "alpha={alpha}: must be at least 1, so that beta = alpha - 1 is not negative"
            ))),
            _ => Ok(Self { rule }),
        }
    }
}

impl Method for Propagation {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        match self.rule {
            Lrp::Epsilon(epsilon) => params([("rule", "epsilon".into()), ("epsilon", epsilon.into())]),
            Lrp::Spread(epsilon) => {
                params([("rule", "epsilon".into()), ("epsilon", epsilon.into()), ("bias", "spread".into())])
            }
            Lrp::Gamma(gamma) => params([("rule", "gamma".into()), ("gamma", gamma.into())]),
            Lrp::AlphaBeta(alpha) => params([("rule", "alpha_beta".into()), ("alpha", alpha.into())]),
            Lrp::ZPlus => params([("rule", "z_plus".into())]),
        }
    }

    fn explain(&self, job: &Job<'_>) -> Result<Explained> {
        let linear = matches!(job.target.scale, None | Some(Scale::Logit));
        if !linear || job.target.is_loss() {
            return Err(Error::Unsupported(format!(
                "lrp hands down a logit or a unit; '{}' is no sum of them; ask for a target with :logit",
                job.target
            )));
        }
        let rules = Rules::Lrp(self.rule);
        let mut sites = vec![job.site];
        sites.extend(job.cuts()?);
        job.check_path(&sites)?;
        let readout = Relevance { job, sites: &sites, rules };
        let found = job.driver.read_all(job.model, std::slice::from_ref(&job.row), &readout)?;
        let Relevant { scores, claim } = super::path::found(found.into_iter().next())?;
        let mut explained = Explained::new(scores, Reduce::Sum);
        explained.claim = job.carries_all(job.site).then_some(claim);
        Ok(explained)
    }
}

/// Relevance at the first of some sites, and what it sums to at all of them.
struct Relevance<'r> {
    job: &'r Job<'r>,
    sites: &'r [Site],
    rules: Rules,
}

#[derive(Clone)]
struct Relevant {
    scores: Array,
    claim: Claim,
}

impl Relevance<'_> {
    fn of(&self, pass: &dyn Pass, row: usize) -> Result<Relevant> {
        let Self { job, sites, rules } = self;
        let seeds = job.target.seeds(job.card(), pass, row)?;
        let (mut scores, mut claim) = (None, Claim::default());
        claim.difference = job.target.value(job.card(), pass, row)?;
        for (i, (&site, mut multipliers)) in
            sites.iter().zip(pass.backward(&seeds, sites, *rules)?).enumerate()
        {
            let relevance = times(multipliers.swap_remove(row), &pass.value(site, row)?);
            let booked = pass.booked(&seeds, &[site], *rules)?[row];
            if i == 0 {
                claim.bias = Some(booked);
                scores = Some(relevance);
            } else {
                let (sum, size) = sum_and_size(job.info(site)?, &relevance);
                claim.layers.push((site, sum + booked, size));
            }
        }
        Ok(Relevant { scores: found(scores)?, claim })
    }
}

impl Readout for Relevance<'_> {
    type Value = Relevant;

    fn plan(&self) -> Plan {
        let own = self.job.model.open().and_then(|open| self.job.target.site(open.sites()));
        let own = own.filter(|site| !self.sites.contains(site));
        Plan { keep: self.sites.iter().copied().chain(own).collect(), start: None, record: Record::Lowered }
    }

    fn read(&self, rows: &[Row], pass: &dyn Pass) -> Result<Vec<Relevant>> {
        (0..rows.len()).map(|row| self.of(pass, row)).collect()
    }
}
