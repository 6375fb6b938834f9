//! Is this ranking better than chance at finding what moves the model? An exact permutation test with a known error rate.
//!
//! 1. [`masks`](masks::masks): sets of units that depend on the text alone.
//! 2. [`Effects`]: what hiding each unit costs F, read off hiding these sets.
//! 3. [`AsGood`]: how many random rankings fit these effects as well as the explanation's own.
//! 4. [`Trial`]: passed, failed, or undecided where even the best order of these scores could not have passed.
//!
//! If the scores were drawn without looking at how the model reacts, the explanation's ranking is one more random one, so that
//! p is at most α with a chance of at most α: for every model, task, length and level. `docs/evidence.md` has the proof.

pub(crate) mod masks;
pub(crate) mod regression;
pub(crate) mod statistic;

use super::Level;
use super::check::{Check, Judged, Look, Ruling};
use crate::statistics::with_ties;
use crate::{PerturbedPredictions, Question, Set, Stream};
use exegete_core::Result;
use exegete_core::report::{AgainstChance, ChanceVerdict, Checks};
use masks::masks;
use regression::Effects;
use statistic::{AsGood, Orders, normal_scores, quantiles};
use std::collections::HashSet;

/// The level that p is held against: the promise is 2 %, and what is measured of it on many texts must stay below that.
pub(crate) const LEVEL: f64 = 0.015;
/// Changes of F below this share of it, or of 1, are rounding.
const ROUNDING: f64 = 1e-6;
/// An effect is measurable from so many standard errors on …
const LEAST_ERRORS: f64 = 2.0;
/// … and from this share of the largest.
const LEAST_SHARE: f64 = 0.05;
/// Of so few units even the best ranking is not rare enough: one in 24 of four.
const TOO_FEW: usize = 4;

pub(super) const CHECK: Check =
    Check { name: "chance", level: Level::Default, sets: |look| look.shared.masks.clone(), measure };

/// What all explanations of a text are tried with: the same sets, and the same random orders.
pub(crate) struct Shared {
    /// The sets that are hidden.
    pub(crate) masks: Vec<Set>,
    /// The orders beside an explanation's own.
    pub(crate) orders: Orders,
}

impl Shared {
    /// Those of a question's text.
    pub(crate) fn of(job: &Question<'_>) -> Self {
        let units = job.units.len();
        let masks = masks(units, &mut job.random_of_text(Stream::Masks));
        Self { masks, orders: Orders::new(units, &mut job.random_of_text(Stream::Chance)) }
    }
}

fn measure(look: &mut Look<'_, '_>, checks: &mut Checks) -> Result<Ruling> {
    let (shared, signed, asked) = (look.shared, look.explained.signed(), look.explained.asked.as_ref());
    let (used, independent) = independent(&shared.masks, asked, look.values.len());
    let hid = asked.is_some_and(|sets| !sets.is_empty());
    let (independent, doubt) = doubted(independent, hid, look.job.model.steady());
    let effects = effects(look.masked, &used)?;
    let trial = Trial::of(&look.values, signed, &effects, &shared.orders, &|count| look.noun(count));
    let found = AgainstChance {
        p: trial.as_good.map(AsGood::p),
        as_good: trial.as_good.map(|found| found.count),
        rankings: trial.as_good.map(|found| found.of),
        exact: shared.orders.exact,
        z: trial.z,
        level: LEVEL,
        verdict: trial.verdict,
        says: trial.says(look.values.len(), &look.noun(2), doubt),
        masks: used.len(),
        scale: look.masked.effect_scale().to_owned(),
        signed,
        independent,
        reason: trial.reason,
    };
    let ruling = judged(&found).into();
    checks.chance = Some(found);
    Ok(ruling)
}

fn judged(found: &AgainstChance) -> Judged {
    match (found.verdict, found.p) {
        (ChanceVerdict::Undecided, p) => Judged::undecided(p, LEVEL),
        (ChanceVerdict::Passed, p) => Judged::new(p.unwrap_or(f64::NAN), LEVEL, None),
        (ChanceVerdict::Failed, p) => {
            let so = match found.z {
                Some(z) if found.signed && z < 0.0 && 1.0 - p.unwrap_or(0.0) <= LEVEL => {
                    "the order is upside down"
                }
                _ => "the order is not shown to be better than chance",
            };
            Judged::new(p.unwrap_or(f64::NAN), LEVEL, Some(format!("{}: {so}", found.says)))
        }
    }
}

/// The sets that the method has not seen. Where these are too few, all of them, and the evidence is not independent; none
/// says that nobody knows what was seen.
fn independent<'s>(
    masks: &'s [Set],
    asked: Option<&HashSet<Set>>,
    units: usize,
) -> (Vec<&'s Set>, Option<bool>) {
    let all: Vec<&Set> = masks.iter().collect();
    let Some(asked) = asked else { return (all, None) };
    let unseen: Vec<&Set> = masks.iter().filter(|set| !asked.contains(*set)).collect();
    let enough = (units + 8).clamp(24, 80);
    match unseen.len() {
        left if left == all.len() => (all, Some(true)),
        left if left < enough => (all, Some(false)),
        _ => (unseen, Some(true)),
    }
}

/// Whether the evidence is independent of the method, and what speaks against it in words. Of a model that answers one text in
/// several ways, what a method saw and what the evidence sees are two draws of the same noise.
fn doubted(independent: Option<bool>, hid: bool, steady: bool) -> (Option<bool>, Option<&'static str>) {
    match (steady, independent) {
        (true, Some(false)) => {
            (independent, Some("the evidence is not independent: the method has seen these sets"))
        }
        (true, _) => (independent, None),
        (false, _) if hid => {
            let doubt = "the evidence is not independent: the model answers the same text in several ways";
            (Some(false), Some(doubt))
        }
        (false, _) => {
            (independent, Some("the evidence is unsteady: the model answers the same text in several ways"))
        }
    }
}

/// What hiding each unit does to F, by these sets.
pub(super) fn effects(masked: &mut PerturbedPredictions<'_>, used: &[&Set]) -> Result<Effects> {
    let sets: Vec<Set> = used.iter().map(|set| (*set).clone()).collect();
    let whole = masked.whole()?.effect;
    let floor = ROUNDING * whole.abs().max(1.0);
    let outcomes = masked.outcomes(&sets)?;
    let drops = outcomes.iter().map(|outcome| whole - outcome.effect);
    let drops: Vec<f64> = drops.map(|drop| if drop.abs() < floor { 0.0 } else { drop }).collect();
    Ok(Effects::of(masked.units(), used, &drops))
}

/// What the test says of one ranking.
#[derive(Debug, Clone)]
pub(crate) struct Trial {
    /// How many rankings do as well; none where there is nothing to measure on.
    pub(crate) as_good: Option<AsGood>,
    /// The fit in standard deviations over all rankings.
    pub(crate) z: Option<f64>,
    /// What comes of it.
    pub(crate) verdict: ChanceVerdict,
    /// Why it is undecided, or failed whatever p is.
    pub(crate) reason: Option<String>,
}

impl Trial {
    /// Scores without a sign are held against the sizes of effects. `noun` names a number of units.
    pub(crate) fn of(
        values: &[f64],
        signed: bool,
        effects: &Effects,
        orders: &Orders,
        noun: &dyn Fn(usize) -> String,
    ) -> Self {
        let units = values.len();
        let undecided = |reason: String| Self {
            as_good: None,
            z: None,
            verdict: ChanceVerdict::Undecided,
            reason: Some(reason),
        };
        let too_few = || format!("{units} {} are too few to tell a ranking from chance", noun(units));
        if units < TOO_FEW {
            return undecided(too_few());
        }
        if !effects.are_finite() {
            return undecided("F is no number while units are hidden".into());
        }
        let by = |values: &[f64]| -> Vec<f64> {
            values.iter().map(|&v| if signed { v } else { v.abs() }).collect()
        };
        let (values, effects) = (by(values), Effects { values: by(&effects.values), ..effects.clone() });
        let a = normal_scores(&values);
        let as_good = orders.as_good(&a, &effects.values);
        let found = Self {
            as_good: Some(as_good),
            z: statistic::z(&a, &effects.values),
            verdict: ChanceVerdict::Failed,
            reason: None,
        };
        let moving = moving(&effects);
        let nothing = || Some("nothing moves F: hiding units changes it by no more than noise".to_owned());
        let equal = with_ties(&values).windows(2).all(|pair| pair[0] == pair[1]);
        let reason = match moving.iter().filter(|c| **c != 0.0).count() {
            _ if !values.iter().all(|value| value.is_finite()) => {
                return Self { reason: Some("a score is no number".into()), ..found };
            }
            0 if equal => nothing(),
            _ if equal => {
                let reason = format!("all {units} scores are equal: they rank nothing");
                return Self { reason: Some(reason), ..found };
            }
            _ if as_good.p() <= LEVEL => return Self { verdict: ChanceVerdict::Passed, ..found },
            _ if units <= TOO_FEW => Some(too_few()),
            0 => nothing(),
            // One word that moves F at all comes first in one of n random orders.
            few if best(&quantiles(units), &moving, orders) > LEVEL => {
                let verb = if few == 1 { "moves" } else { "move" };
                Some(format!("only {few} {} {verb} F measurably", noun(few)))
            }
            _ if best(&a, &moving, orders) > LEVEL => Some(format!("the scores tie too many {}", noun(2))),
            _ => None,
        };
        let verdict = if reason.is_some() { ChanceVerdict::Undecided } else { ChanceVerdict::Failed };
        Self { verdict, reason, ..found }
    }

    /// What was measured, in words, with what speaks against it; never the level.
    fn says(&self, units: usize, nouns: &str, doubt: Option<&str>) -> String {
        let measured = self.as_good.map(|found| measured(found, units, nouns));
        let mut said: Vec<String> = match (self.verdict, &self.reason) {
            (ChanceVerdict::Undecided, Some(reason)) => {
                [format!("undecided: {reason}")].into_iter().chain(measured).collect()
            }
            _ => measured.into_iter().collect(),
        };
        said.extend(doubt.map(str::to_owned));
        said.join("; ")
    }
}

fn measured(AsGood { count, of, exact }: AsGood, units: usize, nouns: &str) -> String {
    let found = AsGood { count, of, exact };
    let share = format!("{:.1}", 100.0 * found.p());
    let share = share.strip_suffix(".0").unwrap_or(&share);
    match (exact, count) {
        (true, 1) => format!("1 in {of}, the best that {units} {nouns} allow"),
        (true, _) => format!("{count} of all {of} rankings do as well ({share} %)"),
        (false, 0) => format!("fewer than 1 in {} random rankings do as well", thousands(of + 1)),
        (false, 1) => format!("1 of {} random rankings does as well ({share} %)", thousands(of)),
        (false, _) => {
            format!("{} of {} random rankings do as well ({share} %)", thousands(count), thousands(of))
        }
    }
}

/// A number of at most six digits with a comma before its thousands.
fn thousands(number: usize) -> String {
    match (number / 1000, number % 1000) {
        (0, rest) => rest.to_string(),
        (thousands, rest) => format!("{thousands},{rest:03}"),
    }
}

/// The effects that can be told from nothing, and 0 for the others.
fn moving(effects: &Effects) -> Vec<f64> {
    let largest = effects.values.iter().fold(0.0, |top: f64, c| top.max(c.abs()));
    let measurable = |c: f64, error: f64| c.abs() >= f64::max(LEAST_ERRORS * error, LEAST_SHARE * largest);
    let kept = |(&c, &error): (&f64, &f64)| if measurable(c, error) { c } else { 0.0 };
    effects.values.iter().zip(&effects.errors).map(kept).collect()
}

/// The p-value of these scores, put into the order of the effects.
fn best(scores: &[f64], effects: &[f64], orders: &Orders) -> f64 {
    let mut sorted = scores.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut order: Vec<usize> = (0..effects.len()).collect();
    order.sort_by(|&a, &b| effects[a].total_cmp(&effects[b]));
    let mut arranged = vec![0.0; effects.len()];
    order.iter().zip(sorted).for_each(|(&unit, score)| arranged[unit] = score);
    orders.as_good(&arranged, effects).p()
}

#[cfg(test)]
mod tests;
