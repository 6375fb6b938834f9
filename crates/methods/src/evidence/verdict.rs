//! What fails, by thresholds that all stand here, and the evidence in one sentence (METHODS E9).

use super::{Scored, sentence};
use crate::Job;
use exegete_core::report::{Checks, Erasure, Verdict};
use exegete_core::{Encoded, Unit, Units};

/// Scores that claim to add up may miss by this share of the difference.
pub const LARGEST_GAP: f64 = 0.05;
/// Below this many units or tokens a rank correlation is mostly chance, and none is held against an explanation.
pub const FEWEST_RANKED: usize = 8;
/// A τ with leave-one-out below this fails, where it is also not significant or not above zero.
pub const LOWEST_TAU: f64 = 0.1;
/// The level of significance.
pub const SIGNIFICANCE: f64 = 0.05;
/// Mean drops of F that are all smaller than this are rounding: there is nothing to rank.
pub const SMALLEST_DROP: f64 = 1e-6;

/// What a verdict needs to know beside the checks.
pub(super) struct Facts<'f> {
    pub(super) encoded: &'f Encoded,
    pub(super) kind: Units,
    pub(super) units: &'f [Unit],
    pub(super) scored: &'f Scored<'f>,
}

/// A rule says what is wrong, or nothing.
type Rule = fn(&Checks, &Facts<'_>) -> Option<String>;

/// Worst first: scores that say nothing, numbers that are not what they claim, an order that chance would match, parts that
/// do not suffice, disagreement with leave-one-out.
const RULES: [Rule; 5] = [all_equal, incomplete, not_comprehensive, not_sufficient, disagrees];

/// The failures and the sentence.
pub(super) fn verdict(job: &Job<'_>, facts: &Facts<'_>, ranking: &[usize], checks: &Checks) -> Verdict {
    let failures = RULES.iter().filter_map(|rule| rule(checks, facts)).collect();
    Verdict { sentence: sentence::sentence(job, facts, ranking, checks), failures }
}

fn all_equal(_: &Checks, facts: &Facts<'_>) -> Option<String> {
    let values = facts.scored.values;
    let equal = values.len() > 1 && values.windows(2).all(|pair| pair[0] == pair[1]);
    equal.then(|| format!("all {} scores are {}: they rank nothing", values.len(), values[0]))
}

fn incomplete(checks: &Checks, _: &Facts<'_>) -> Option<String> {
    let sums = checks.completeness.as_ref().filter(|sums| sums.gap > LARGEST_GAP || sums.gap.is_nan())?;
    let (sum, difference) = (sums.sum + sums.bias.unwrap_or(0.0), sums.difference);
    Some(format!("the scores sum to {sum:.4}, not to {difference:.4} (gap {:.0} %)", 100.0 * sums.gap))
}

fn not_comprehensive(checks: &Checks, facts: &Facts<'_>) -> Option<String> {
    let Compared { own, reversed, random } = Compared::of(checks.comprehensiveness.as_ref()?)?;
    let nouns = sentence::noun(facts.kind, 2);
    if own < reversed {
        return Some(format!(
            "hiding the top {nouns} lowers F by {own:.3}, the bottom {nouns} by {reversed:.3}: the order is upside down"
        ));
    }
    (own <= random).then(|| {
        format!(
            "hiding the top {nouns} lowers F by {own:.3}, random {nouns} by {random:.3}: the order is no better than chance"
        )
    })
}

fn not_sufficient(checks: &Checks, facts: &Facts<'_>) -> Option<String> {
    let Compared { own, random, .. } = Compared::of(checks.sufficiency.as_ref()?)?;
    let nouns = sentence::noun(facts.kind, 2);
    (own >= random).then(|| {
        format!(
            "with nothing but the top {nouns} F falls by {own:.3}, with random {nouns} by {random:.3}: they do not suffice"
        )
    })
}

fn disagrees(checks: &Checks, facts: &Facts<'_>) -> Option<String> {
    let weighed = checks.leave_one_out.as_ref()?;
    let (tau, p) = weighed.tau.zip(weighed.p_value)?;
    let weak = tau <= 0.0 || p > SIGNIFICANCE;
    (weak && tau < LOWEST_TAU && weighed.units >= FEWEST_RANKED).then(|| {
        let nouns = sentence::noun(facts.kind, 2);
        format!(
            "the scores do not go with leaving out single {nouns}: τ = {tau:.2} over {} {nouns} (p = {p:.2})",
            weighed.units
        )
    })
}

/// The mean drops of an erasure.
struct Compared {
    own: f64,
    reversed: f64,
    random: f64,
}

impl Compared {
    /// None where no order differs from another: one unit, or a model that nothing moves.
    fn of(erasure: &Erasure) -> Option<Self> {
        let (own, reversed) = (erasure.own.mean, erasure.reversed.mean);
        let others = || erasure.random.iter().map(|drop| drop.mean).chain([reversed]);
        let apart = others().any(|other| (other - own).abs() > SMALLEST_DROP);
        let random = erasure.random.iter().map(|drop| drop.mean).sum::<f64>();
        let random = random / erasure.random.len().max(1) as f64;
        apart.then_some(Self { own, reversed, random })
    }
}
