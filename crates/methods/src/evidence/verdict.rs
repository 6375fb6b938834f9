//! What fails, by thresholds that all stand here, and the evidence in one sentence (METHODS E9).

use super::{Again, Scored, sentence};
use crate::{Job, Meaning};
use exegete_core::report::{Checks, Erasure, Verdict};
use exegete_core::{Encoded, Unit, Units};

/// Scores that claim to add up may miss by this share of the difference.
pub const LARGEST_GAP: f64 = 0.05;
/// Scores that add up may be this many times larger, all together, than what they explain; beyond it they are differences
/// of large numbers.
pub const MOST_CANCELLED: f64 = 100.0;
/// Below this many units or tokens a rank correlation is mostly chance, and none is held against an explanation.
pub const FEWEST_RANKED: usize = 8;
/// A τ with leave-one-out below this fails, where it is also not significant or not above zero.
pub const LOWEST_TAU: f64 = 0.1;
/// The level of significance.
pub const SIGNIFICANCE: f64 = 0.05;
/// Mean drops of F that are all smaller than this are rounding: there is nothing to rank.
pub const SMALLEST_DROP: f64 = 1e-6;

/// Scores that go this well with those of a model of random parameters do not depend on what was learned.
pub const MOST_ALIKE: f64 = 0.7;
/// Scores of noisy copies should go with the original at least this well, while the decision stays.
pub const LEAST_STABLE: f64 = 0.5;
/// Within a small ball scores should not move by more than their own size.
pub const MOST_SENSITIVE: f64 = 1.0;
/// The 95th percentile of χ² with one degree of freedom: a factor that fits n perturbations by chance explains more than
/// this share of n only once in twenty times.
pub const CHANCE_FIT: f64 = 3.84;

/// What a verdict needs to know beside the checks.
pub(super) struct Facts<'f> {
    pub(super) encoded: &'f Encoded,
    pub(super) kind: Units,
    pub(super) units: &'f [Unit],
    pub(super) scored: &'f Scored<'f>,
}

/// A rule says what is wrong, or nothing.
type Rule = fn(&Checks, &Facts<'_>) -> Option<String>;

/// Worst first: scores that say nothing, numbers that are not what they claim, an order that chance would match, scores that
/// ignore what was learned, parts that do not suffice, disagreement with leave-one-out, slopes that foretell nothing, and
/// at last what moves too easily.
const RULES: [Rule; 10] = [
    all_equal,
    incomplete,
    cancels,
    not_comprehensive,
    ignores_the_model,
    not_sufficient,
    disagrees,
    foretells_nothing,
    unstable,
    sensitive,
];

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

fn cancels(checks: &Checks, facts: &Facts<'_>) -> Option<String> {
    let difference = checks.completeness.as_ref()?.difference.abs();
    let size: f64 = facts.scored.tokens.iter().map(|v| v.abs()).sum();
    let times = size / difference;
    (difference > 0.0 && times > MOST_CANCELLED).then(|| {
        format!("the scores are {times:.0} times larger than what they explain and cancel each other")
    })
}

fn not_comprehensive(checks: &Checks, facts: &Facts<'_>) -> Option<String> {
    let Compared { own, reversed, random } = Compared::of(checks.comprehensiveness.as_ref()?)?;
    let nouns = sentence::noun(facts.kind, 2);
    let against = |other: f64, which: &str, so: &str| {
        let (own, other) = (figure(own), figure(other));
        // Sizes do not say for or against, so their order cannot be upside down.
        let so = if facts.scored.signed { so } else { "what ranks first does not carry F" };
        format!("F falls by {own} without the top {nouns}, by {other} without {which} {nouns}: {so}")
    };
    if own < reversed {
        return Some(against(reversed, "the bottom", "the order is upside down"));
    }
    (own <= random).then(|| against(random, "random", "the order is no better than chance"))
}

fn ignores_the_model(checks: &Checks, facts: &Facts<'_>) -> Option<String> {
    let last = checks.randomisation.last().filter(|last| last.correlation.abs() > MOST_ALIKE)?;
    let tokens: usize = facts.units.iter().map(|unit| unit.tokens.len()).sum();
    (tokens >= FEWEST_RANKED).then(|| {
        let alike = last.correlation;
        format!("with all parameters random the scores are much the same (ρ = {alike:.2}): they hardly depend on the model")
    })
}

fn not_sufficient(checks: &Checks, facts: &Facts<'_>) -> Option<String> {
    let Compared { own, random, .. } = Compared::of(checks.sufficiency.as_ref()?)?;
    let nouns = sentence::noun(facts.kind, 2);
    (own >= random).then(|| {
        let (own, random) = (figure(own), figure(random));
        format!("F falls by {own} with nothing but the top {nouns}, by {random} with random {nouns}: they do not suffice")
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

/// Scores that compare with a baseline claim nothing about small steps: their infidelity is shown, not held against them.
fn foretells_nothing(checks: &Checks, facts: &Facts<'_>) -> Option<String> {
    let local = |again: &Again<'_>| again.meaning != Meaning::TimesDifference;
    facts.scored.again.as_ref().filter(|again| local(again))?;
    let found = checks.infidelity.as_ref().filter(|found| found.zero > 0.0)?;
    let explained = 1.0 - found.scaled / found.zero;
    if explained <= CHANCE_FIT / found.samples as f64 {
        let share = 100.0 * explained;
        return Some(format!(
            "the scores foretell {share:.0} % of what small perturbations do: no more than chance"
        ));
    }
    (found.factor < 0.0).then(|| "the scores foretell the opposite of what small perturbations do".into())
}

fn unstable(checks: &Checks, facts: &Facts<'_>) -> Option<String> {
    let found = checks.stability.as_ref().filter(|found| found.correlation < LEAST_STABLE)?;
    let tokens: usize = facts.units.iter().map(|unit| unit.tokens.len()).sum();
    (2 * found.same_decision > found.samples && tokens >= FEWEST_RANKED).then(|| {
        let (alike, same, of) = (found.correlation, found.same_decision, found.samples);
        format!("noise that leaves the decision in {same} of {of} copies changes the order of the scores (ρ = {alike:.2})")
    })
}

fn sensitive(checks: &Checks, _: &Facts<'_>) -> Option<String> {
    let found = checks.sensitivity.as_ref().filter(|found| found.relative > MOST_SENSITIVE)?;
    Some(format!(
        "within a small ball around the text the scores move by {:.2} times their size",
        found.relative
    ))
}

/// Three digits behind the point, or two that count where those would be zeros.
fn figure(value: f64) -> String {
    if value == 0.0 || value.abs() >= 0.001 { format!("{value:.3}") } else { format!("{value:.1e}") }
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
