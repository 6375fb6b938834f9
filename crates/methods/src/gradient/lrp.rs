//! Layer-wise relevance propagation. S. Bach and others, *On pixel-wise explanations for non-linear classifier decisions
//! by layer-wise relevance propagation*, 2015; attention and layer norm as in A. Ali and others, *XAI for transformers:
//! better explanations through conservative propagation*, 2022.
//!
//! R_i = Σ_j x_i w_ij / (z_j + ε·sign z_j) · R_j, from R = F at the target down; Σ R + what biases took = F.

use super::path::{found, times};
use crate::parameter::{POSITIVE, Parameter, names};
use crate::raw_attribution::{Claim, sum_and_size};
use crate::registry::{Axiom, Info, Meaning, Method, Needs, New, params};
use crate::{Arguments, Question, RawAttribution, Reduce};
use exegete_core::{Array, Error, LrpRule, Pass, Plan, Readout, Record, Result, Row, Rules, Scale, Site};
use std::collections::BTreeMap;
use std::ops::Bound;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "lrp",
    summary: "the target's value handed down layer by layer, in proportion to what each input contributed",
    prose: include_str!("lrp.md"),
    parameters: &[
        Parameter::choice("rule", &names(&RULES), "how relevance is shared among inputs"),
        Parameter::number(
            "epsilon",
            POSITIVE,
            Some(1e-6),
            "with `rule=epsilon`: larger drops what is weak; 0.001 unless said where a model has recurrent cells",
        ),
        Parameter::choice(
            "bias",
            &names(&BIASES),
            "with `rule=epsilon`: a bias takes its share, which is booked, or the inputs share all, by z_j without b_j",
        ),
        Parameter::number(
            "gamma",
            POSITIVE,
            Some(0.25),
            "with `rule=gamma`: contributions of z_j's own sign count 1 + γ times",
        ),
        Parameter::number(
            "alpha",
            (Bound::Included(1.0), Bound::Unbounded),
            Some(2.0),
            "with `rule=alpha_beta`: α times the shares above zero less α − 1 times those below",
        ),
    ],
    axioms: &[Axiom::Completeness, Axiom::Dummy],
    signed: true,
    meaning: Meaning::TimesInput,
    needs: Needs::Inside,
    new: New::Scores(|arguments| Ok(Box::new(Propagation::new(arguments)?))),
};

/// Which formula shares relevance in linear layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Formula {
    Epsilon,
    Gamma,
    AlphaBeta,
    ZPlus,
}

const RULES: [(&str, Formula); 4] = [
    ("epsilon", Formula::Epsilon),
    ("gamma", Formula::Gamma),
    ("alpha_beta", Formula::AlphaBeta),
    ("z_plus", Formula::ZPlus),
];

/// Whether inputs share what a bias would take.
const BIASES: [(&str, bool); 2] = [("share", false), ("spread", true)];

/// ε where a model has recurrent cells and the user names none: L. Arras, G. Montavon, K.-R. Müller, W. Samek, *Explaining
/// recurrent neural network predictions in sentiment analysis*, 2017.
const CELLS_EPSILON: f64 = 0.001;

struct Propagation {
    rule: LrpRule,
    /// Whether the user said how large ε is.
    given: bool,
}

impl Propagation {
    fn new(arguments: &mut Arguments) -> Result<Self> {
        let given = arguments.is_given("epsilon");
        let rule = match arguments.choice("rule", &RULES)? {
            Formula::Epsilon => {
                let epsilon = arguments.number("epsilon")?;
                if arguments.choice("bias", &BIASES)? {
                    LrpRule::Spread(epsilon)
                } else {
                    LrpRule::Epsilon(epsilon)
                }
            }
            Formula::Gamma => LrpRule::Gamma(arguments.number("gamma")?),
            // β = α − 1 is not negative.
            Formula::AlphaBeta => LrpRule::AlphaBeta(arguments.number("alpha")?),
            Formula::ZPlus => LrpRule::ZPlus,
        };
        Ok(Self { rule, given })
    }

    /// The rule with the ε that suits the model.
    fn suited(&self, job: &Question<'_>) -> Result<LrpRule> {
        let cells = job.open()?.sites().iter().any(|info| info.in_steps);
        Ok(match self.rule {
            LrpRule::Epsilon(_) if cells && !self.given => LrpRule::Epsilon(CELLS_EPSILON),
            LrpRule::Spread(_) if cells && !self.given => LrpRule::Spread(CELLS_EPSILON),
            rule => rule,
        })
    }
}

impl Method for Propagation {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        match self.rule {
            LrpRule::Epsilon(epsilon) => params([("rule", "epsilon".into()), ("epsilon", epsilon.into())]),
            LrpRule::Spread(epsilon) => {
                params([("rule", "epsilon".into()), ("epsilon", epsilon.into()), ("bias", "spread".into())])
            }
            LrpRule::Gamma(gamma) => params([("rule", "gamma".into()), ("gamma", gamma.into())]),
            LrpRule::AlphaBeta(alpha) => params([("rule", "alpha_beta".into()), ("alpha", alpha.into())]),
            LrpRule::ZPlus => params([("rule", "z_plus".into())]),
        }
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        let linear = matches!(job.target.scale, None | Some(Scale::Logit));
        if !linear || job.target.is_loss() {
            return Err(Error::Unsupported(format!(
                "lrp hands down a logit or a unit; '{}' is no sum of them; ask for a target with :logit",
                job.target
            )));
        }
        let rule = self.suited(job)?;
        let rules = Rules::Lrp(rule);
        let mut sites = vec![job.site];
        sites.extend(job.cuts()?);
        job.check_path(&sites)?;
        let readout = Relevance { job, sites: &sites, rules };
        let Relevant { scores, claim } = job.driver.read_one(job.model, &job.row, &readout)?;
        let mut explained = RawAttribution::new(scores, Reduce::Sum);
        explained.claim = job.carries_all(job.site).then_some(claim);
        Ok(match rule {
            LrpRule::Epsilon(epsilon) | LrpRule::Spread(epsilon) => explained.with("epsilon", epsilon),
            _ => explained,
        })
    }
}

/// Relevance at the first of some sites, and what it sums to at all of them.
struct Relevance<'r> {
    job: &'r Question<'r>,
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
                let (sum, size) = sum_and_size(job, site, &relevance)?;
                claim.layers.push((site, sum + booked, size));
            }
        }
        Ok(Relevant { scores: found(scores)?, claim })
    }
}

impl Readout for Relevance<'_> {
    type Value = Relevant;

    fn plan(&self) -> Plan {
        self.job.plan(self.sites, Record::Lowered)
    }

    fn read(&self, rows: &[Row], pass: &dyn Pass) -> Result<Vec<Relevant>> {
        (0..rows.len()).map(|row| self.of(pass, row)).collect()
    }
}
