//! The fewest units that hold the answer whatever happens to the others. M. Ribeiro, S. Singh, C. Guestrin, *Anchors:
//! high-precision model-agnostic explanations*, 2018.

mod draws;
mod exact;
mod grow;
mod guess;
pub mod kl;
pub mod lucb;
mod proof;
mod surrogate;
#[cfg(test)]
mod tests;

pub use draws::{Ask, Draw, DrawSource};
use grow::OWN;
pub use grow::{AnchorSearch, AnchorStep, Found, find};

use crate::effort::MOST_ROWS;
use crate::evidence::{Judged, verdict_of};
use crate::parameter::{POSITIVE, Parameter, between};
use crate::registry::{Info, Meaning, Needs, New, SearchMethod, params};
use crate::search::asking::Asking;
use crate::search::wording::Wording;
use crate::{Arguments, Question, Stream};
use exegete_core::report::number::percent;
use exegete_core::report::{Bounded, Item, Rule, RuleStep, Subject, UnitText, Verdict};
use exegete_core::{Error, Result};
use std::collections::BTreeMap;

/// The entry in the list of methods.
pub const INFO: Info = Info {
    name: "anchors",
    summary: "the fewest words that hold the decision whatever happens to the others, as a rule with bounds",
    prose: include_str!("anchors.md"),
    parameters: &[
        // The closer to 0 or 1, the longer the search for a test that ends.
        Parameter::number(
            "threshold",
            between(0.01, 0.9999),
            Some(OWN.threshold),
            "the precision that is asked for",
        ),
        Parameter::number(
            "delta",
            between(1e-6, 0.9999),
            Some(OWN.delta),
            "how often a rule that is said to reach it may not",
        ),
        Parameter::number(
            "tolerance",
            POSITIVE,
            Some(OWN.tolerance),
            "how well the rules to follow are told apart",
        ),
        Parameter::count("beam", 1..=1_000, Some(OWN.beam), "rules that are followed side by side"),
        Parameter::count("batch", 1..=10_000, Some(OWN.batch), "draws made together"),
        Parameter::count(
            "budget",
            1..=MOST_ROWS,
            Some(OWN.budget),
            "the most draws, those for the evidence included",
        ),
        Parameter::count("most", 1..=100_000, None, "the most words in a rule; no limit unless given"),
    ],
    axioms: &[],
    signed: false,
    meaning: Meaning::Other,
    needs: Needs::Predictions,
    new: New::Finds(|arguments| Ok(Box::new(AnchorSearch::new(arguments)?))),
};

impl AnchorSearch {
    fn new(arguments: &mut Arguments) -> Result<Self> {
        let search = Self {
            threshold: arguments.number("threshold")?,
            delta: arguments.number("delta")?,
            tolerance: arguments.number("tolerance")?,
            beam: arguments.count("beam")?,
            batch: arguments.count("batch")?,
            budget: arguments.count("budget")?,
            most: arguments.optional_count("most")?.unwrap_or(OWN.most),
        };
        if search.budget < search.least() {
            return Err(Error::Request(format!(
                "budget={}: showing anything about a rule takes {} rows here; raise it, or lower threshold or batch",
                search.budget,
                search.least()
            )));
        }
        Ok(search)
    }
}

impl SearchMethod for AnchorSearch {
    fn params(&self) -> BTreeMap<String, serde_json::Value> {
        let mut params = params([
            ("threshold", self.threshold.into()),
            ("delta", self.delta.into()),
            ("tolerance", self.tolerance.into()),
            ("beam", self.beam.into()),
            ("batch", self.batch.into()),
            ("budget", self.budget.into()),
        ]);
        if self.most < usize::MAX {
            params.insert("most".into(), self.most.into());
        }
        params
    }

    fn most_rows(&self, _units: usize) -> Option<usize> {
        Some(self.budget)
    }

    fn find(&self, job: &Question<'_>, mut subject: Subject) -> Result<Item> {
        let mut asking = Asking::new(job, INFO.name)?;
        let ask = &mut |draws: &[Draw]| asking.leads(draws);
        let (units, numbered) = (job.units.len(), job.masker().draws());
        let found = find(self, DrawSource { units, numbered, random: job.random(Stream::Anchors), ask })?;
        subject.params.insert("draws".into(), found.draws.into());
        subject.params.insert("exact".into(), found.exact.into());
        let step = |step: &AnchorStep| RuleStep {
            conditions: step.conditions.clone(),
            precision: step.precision,
            coverage: coverage(step.conditions.len()),
        };
        Ok(Item::Rule(Box::new(Rule {
            units: UnitText::of(job.encoded(), &job.units),
            coverage: coverage(found.conditions.len()),
            threshold: self.threshold,
            met: found.met,
            steps: found.steps.iter().map(step).collect(),
            keeps: asking.shown(&found.keeps)?,
            breaks: asking.shown(&found.breaks)?,
            random: found.random,
            verdict: self.verdict(&Wording::new(job), &found, &asking),
            precision: found.precision,
            conditions: found.conditions,
            subject: asking.complete(subject)?,
        })))
    }
}

/// The share of random texts in which so many units stay: each does so with probability one half.
fn coverage(conditions: usize) -> Bounded {
    let value = 0.5f64.powi(i32::try_from(conditions).unwrap_or(i32::MAX));
    Bounded { value, low: value, high: value }
}

impl AnchorSearch {
    fn verdict(&self, wording: &Wording<'_>, found: &Found, asking: &Asking<'_, '_>) -> Verdict {
        let (label, count) = (wording.label(asking.decision()), found.conditions.len());
        let stays = match count {
            0 => "Whatever stays".to_owned(),
            1 => format!("While {} stays", wording.list(&found.conditions)),
            _ => format!("While {} stay", wording.list(&found.conditions)),
        };
        let others = if count == 0 { "" } else { "other " };
        let texts = format!("texts with {others}{} {}", wording.noun(2), wording.hidden());
        let (value, low) = (percent(found.precision.value, 0), percent(found.precision.low, 0));
        let sure = match (found.exact, found.met) {
            (true, _) => format!("in {value} of all {texts}"),
            (false, true) => {
                let sure = percent(1.0 - self.delta, 0);
                format!("in {value} of {texts} at random (at least {low}, {sure} sure)")
            }
            (false, false) => {
                let high = percent(found.precision.high, 0);
                format!("in {value} of {texts} at random ({low} to {high})")
            }
        };
        let random = found.random.map_or_else(String::new, |random| {
            format!(
                "; while {} at random {}, in {}",
                wording.count(count),
                if count == 1 { "stays" } else { "stay" },
                percent(random.value, 0)
            )
        });
        let sentence = format!("{stays}, the model says {label} {sure}{random}.");
        verdict_of(sentence, self.judged(found))
    }

    fn judged(&self, found: &Found) -> Vec<(&'static str, Judged)> {
        let (asked, low) = (percent(self.threshold, 0), found.precision.low);
        let missed = match (found.met, found.exact) {
            (true, _) => None,
            (false, true) => Some(format!("no rule that is short enough reaches {asked}")),
            (false, false) => Some(format!("no rule was shown to reach {asked} with {} draws", found.draws)),
        };
        let random = found.random.map(|random| {
            let well = "random rules of the same length hold the decision as well";
            Judged::new(random.value, low, (random.value >= low).then(|| well.to_owned()))
        });
        let precision = Judged::new(low, self.threshold, missed);
        std::iter::once(("precision", precision))
            .chain(random.map(|random| ("random_rules", random)))
            .collect()
    }
}
