//! F(x) − E[F(x with other words in a group's place)]. L. Breiman, *Random forests*, 2001, shuffles a column of a table;
//! one text has no column to shuffle, so that words are drawn from what words there are.

use super::groups::{GROUPS, Grouping};
use super::moments::Moments;
use crate::effort::{BUDGET, SAMPLES, TOLERANCE};
use crate::registry::{Axiom, Info, Meaning, Method, Needs, New};
use crate::{Arguments, Effort, Parameter, PerturbedPredictions, Question, RawAttribution, RawScores, Set};
use exegete_core::{Error, Result};
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "feature_permutation",
    summary: "how far the target falls when other words are drawn in a unit's place, with error bars",
    prose: include_str!("feature_permutation.md"),
    parameters: &[
        TOLERANCE,
        BUDGET,
        Parameter { help: "exactly so many draws for each group instead", ..SAMPLES },
        Parameter { help: "units that are replaced together, as for `feature_ablation`", ..GROUPS },
    ],
    axioms: &[Axiom::Dummy, Axiom::ImplementationInvariance],
    signed: true,
    meaning: Meaning::Other,
    needs: Needs::Predictions,
    new: New::Scores(|arguments| Ok(Box::new(FeaturePermutation::new(arguments)?))),
};

/// Draws before the errors are first looked at.
const FIRST: usize = 10;

struct FeaturePermutation {
    grouping: Grouping,
    effort: Effort,
}

impl FeaturePermutation {
    fn new(arguments: &mut Arguments) -> Result<Self> {
        let grouping = arguments.text("groups")?.unwrap_or_default();
        Ok(Self { grouping, effort: Effort::new(arguments)? })
    }

    /// How many draws are made at most.
    fn most(&self, groups: usize) -> Result<usize> {
        let most = self.effort.budget.saturating_sub(1) / groups.max(1);
        match self.effort.samples {
            Some(samples) => Ok(samples),
            None if most >= 2 => Ok(most),
            None => Err(Error::Request(format!(
                "feature_permutation: {groups} groups of units need a budget of at least {}, and it is {}; a larger \
                 budget, coarser units or groups=sentence would work",
                2 * groups + 1,
                self.effort.budget
            ))),
        }
    }
}

impl Method for FeaturePermutation {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        let mut params = self.effort.params();
        params.insert("groups".into(), self.grouping.to_string().into());
        params
    }

    fn explain(&self, job: &Question<'_>) -> Result<RawAttribution> {
        let masker = job.masker();
        if !masker.draws() {
            return Err(Error::Request(format!(
                "feature_permutation draws other words, and the masker '{masker}' draws none; choose one that does, or \
                 leave_one_out"
            )));
        }
        let (groups, mut masked) = (self.grouping.of(job)?, PerturbedPredictions::new(job));
        let most = self.most(groups.0.len())?;
        let whole = masked.whole()?.value;
        let (mut moments, mut planned) = (Moments::default(), self.effort.samples.unwrap_or(FIRST));
        loop {
            let draws = moments.count..planned.min(most);
            let hide = |draw: usize| groups.0.iter().map(move |group| (group.clone(), draw as u64));
            let found = masked.drawn(&draws.clone().flat_map(hide).collect::<Vec<(Set, u64)>>())?;
            for draw in 0..draws.len() {
                let own = &found[draw * groups.0.len()..(draw + 1) * groups.0.len()];
                moments.add(&own.iter().map(|outcome| whole - outcome.value).collect::<Vec<_>>());
            }
            let errors = moments.errors();
            if moments.count >= most || self.effort.met(&moments.means, &errors) {
                let spread = |values: &[f64]| groups.spread(job.units.len(), values);
                let explained = RawAttribution::of(RawScores::Units(spread(&moments.means)));
                return Ok(RawAttribution { errors: Some(spread(&errors)), ..explained }
                    .with("samples", moments.count)
                    .with("masker", masker.to_string())
                    .note(self.effort.note(&moments.means, &errors)));
            }
            planned = moments.count + (moments.count / 4).max(2);
        }
    }

    fn own_site(&self) -> bool {
        true
    }

    fn most_rows(&self, units: usize) -> Option<usize> {
        Some(self.effort.rows(units))
    }
}
