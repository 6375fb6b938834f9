//! Differences instead of slopes. A. Shrikumar, P. Greenside, A. Kundaje, *Learning important features through
//! propagating activation differences*, 2017.
//!
//! m = Δout/Δin through every operation, between the text and its baseline; score = m ⊙ (x − x′), and Σ score = ΔF.

use super::path::{found, mean, times};
use crate::parameter::{Parameter, name_of, names};
use crate::raw_attribution::{Claim, sum_and_size};
use crate::registry::{Axiom, Info, Meaning, Method, Needs, New, params};
use crate::{Arguments, Baseline, Question, RawAttribution, Reduce};
use exegete_core::{Array, Pass, Plan, Readout, Record, Result, Row, Rules, Site};
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "deep_lift",
    summary: "each word's share of the difference to a baseline, by differences handed back layer by layer",
    prose: include_str!("deep_lift.md"),
    parameters: &PARAMETERS,
    axioms: &[Axiom::Completeness, Axiom::Sensitivity, Axiom::Dummy, Axiom::Symmetry],
    signed: true,
    meaning: Meaning::TimesDifference,
    needs: Needs::Inside,
    new: New::Scores(|arguments| Ok(Box::new(DeepLift::new(arguments)?))),
};

/// Whether RevealCancel is used.
const RULES: [(&str, bool); 2] = [("rescale", false), ("reveal_cancel", true)];

pub(super) const PARAMETERS: [Parameter; 1] = [Parameter::choice(
    "rule",
    &names(&RULES),
    "how a rectifier straight after a linear layer is treated (ReLU, GELU, SiLU)",
)];

/// DeepLIFT with one of its rules for rectifiers.
pub(super) struct DeepLift {
    reveal_cancel: bool,
}

impl DeepLift {
    pub(super) fn new(arguments: &mut Arguments) -> Result<Self> {
        Ok(Self { reveal_cancel: arguments.choice("rule", &RULES)? })
    }

    /// Scores against one baseline at the job's site and, after it, at every later cut; and ΔF.
    fn against(&self, job: &Question<'_>, baseline: Row, sites: &[Site]) -> Result<(f64, Vec<Array>)> {
        job.check_path(sites)?;
        let rules = Rules::DeepLift { reveal_cancel: self.reveal_cancel };
        let rows = [job.row.clone(), baseline];
        found(job.driver.read_all(job.model, &rows, &Between { job, sites, rules })?.into_iter().next())
    }
}

/// ΔF of each pair of rows and its scores at some sites; the second row of a pair gives the same.
struct Between<'b> {
    job: &'b Question<'b>,
    sites: &'b [Site],
    rules: Rules,
}

impl Readout for Between<'_> {
    type Value = (f64, Vec<Array>);

    fn plan(&self) -> Plan {
        self.job.plan(self.sites, Record::Paired)
    }

    fn read(&self, rows: &[Row], pass: &dyn Pass) -> Result<Vec<Self::Value>> {
        let Self { job, sites, rules } = self;
        let (mut seeds, mut all) = (Vec::new(), Vec::new());
        for text in (0..rows.len()).step_by(2) {
            let [value, other] = [text, text + 1].map(|row| job.target.value(job.card(), pass, row));
            seeds.extend(job.target.seeds_between(job.card(), pass, text, text + 1)?);
            all.extend(vec![(value? - other?, Vec::new()); 2]);
        }
        for (&site, multipliers) in sites.iter().zip(pass.backward(&seeds, sites, *rules)?) {
            for (row, multiplier) in multipliers.into_iter().enumerate().step_by(2) {
                let moved = pass.value(site, row)?.plus(&pass.value(site, row + 1)?, -1.0);
                all[row].1.push(times(multiplier, &moved));
            }
        }
        Ok(all)
    }
}

impl Method for DeepLift {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        params([("rule", name_of(&RULES, &self.reveal_cancel).into())])
    }

    fn baselines(&self) -> &'static [Baseline] {
        &[Baseline::Zero]
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        let mut sites = vec![job.site];
        sites.extend(job.cuts()?);
        let rows = job.baseline_rows()?;
        let share = 1.0 / rows.len() as f64;
        let mut claim = Claim::default();
        let mut by_site: Vec<Vec<Array>> = vec![Vec::new(); sites.len()];
        for row in rows {
            let (difference, scores) = self.against(job, row, &sites)?;
            claim.difference += share * difference;
            by_site.iter_mut().zip(scores).for_each(|(all, scores)| all.push(scores));
        }
        let totals = by_site.iter().map(|all| mean(all)).collect::<Result<Vec<Array>>>()?;
        for (&site, total) in sites.iter().zip(&totals).skip(1) {
            let (sum, size) = sum_and_size(job, site, total)?;
            claim.layers.push((site, sum, size));
        }
        let mut explained = RawAttribution::new(found(totals.into_iter().next())?, Reduce::Sum);
        explained.claim = job.carries_all(job.site).then_some(claim);
        Ok(explained)
    }
}
