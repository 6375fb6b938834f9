//! What the measured evidence says, in figures and words that every renderer shares.

mod other;

use crate::figures::{count, figure, p_value, percent, setting};
use exegete_core::report::{
    AgainstChance, Attribution, ChanceVerdict, Checks, Completeness, Curve, Erasure, Flip, Hiding,
    Infidelity, Randomisation, RankAgreement, ReluSwap, Sensitivity, Stability,
};
use std::borrow::Cow;

/// One check as a line of a card.
pub(crate) struct Line<'a> {
    /// The name of what is measured.
    pub(crate) name: Cow<'a, str>,
    /// The figures that came out.
    pub(crate) figures: String,
    /// What the figures are, in a few words; empty where the name says it.
    pub(crate) gloss: &'static str,
    /// The same for whoever meets it the first time.
    pub(crate) meaning: &'static str,
    /// Which way is good; empty where none is.
    pub(crate) good: &'static str,
    /// What can be drawn of it.
    pub(crate) chart: Option<Chart<'a>>,
}

/// What can be drawn of a check.
pub(crate) enum Chart<'a> {
    /// The drops of F, bin by bin.
    Erasure(&'a Erasure),
    /// F along a ranking.
    Curve(&'a Curve),
    /// Correlations with the scores of models that are random from the top down.
    Randomisation(&'a [Randomisation]),
}

/// The checks that were made, the quickest to read first.
pub(crate) fn lines(attribution: &Attribution) -> Vec<Line<'_>> {
    let Checks {
        completeness,
        swap,
        chance,
        hiding,
        comprehensiveness,
        sufficiency,
        flip,
        leave_one_out,
        ..
    } = &attribution.checks;
    let mut lines = Vec::new();
    lines.extend(chance.as_ref().map(self::chance));
    lines.extend(completeness.as_ref().map(self::completeness));
    lines.extend(swap.as_ref().map(self::swap));
    lines.extend(comprehensiveness.as_ref().map(|erasure| Line {
        name: Cow::Borrowed("comprehensiveness"),
        gloss: "drop without the top units",
        good: "high is good",
        meaning: "how far the target falls when the top-ranked units are removed",
        ..self::erasure(erasure)
    }));
    lines.extend(sufficiency.as_ref().map(|erasure| Line {
        name: Cow::Borrowed("sufficiency"),
        gloss: "drop with nothing else",
        good: "low is good",
        meaning: "how far the target falls when nothing but the top-ranked units is kept",
        ..self::erasure(erasure)
    }));
    lines.extend(flip.as_ref().map(|flip| self::flip(flip, attribution)));
    lines.extend(leave_one_out.as_ref().map(self::leave_one_out));
    lines.extend(deep(&attribution.checks));
    lines.extend(hiding.as_ref().map(self::hiding));
    lines.extend(others(&attribution.checks));
    lines
}

/// Those that nothing more is known of than what they say themselves.
pub(crate) fn others(checks: &Checks) -> impl Iterator<Item = Line<'_>> {
    checks.others.iter().map(|(name, found)| other::line(name, found))
}

fn deep(checks: &Checks) -> Vec<Line<'_>> {
    let Checks { deletion, insertion, sensitivity, infidelity, stability, randomisation, .. } = checks;
    let mut lines = Vec::new();
    lines.extend(deletion.as_ref().map(|curve| Line {
        name: Cow::Borrowed("deletion"),
        good: "low is good",
        meaning: "the target while units are removed, best first",
        ..self::curve(curve)
    }));
    lines.extend(insertion.as_ref().map(|curve| Line {
        name: Cow::Borrowed("insertion"),
        good: "high is good",
        meaning: "the target while units are put back, best first",
        ..self::curve(curve)
    }));
    lines.extend(sensitivity.as_ref().map(self::sensitivity));
    lines.extend(infidelity.as_ref().map(self::infidelity));
    lines.extend(stability.as_ref().map(self::stability));
    lines.extend((!randomisation.is_empty()).then(|| self::randomisation(randomisation)));
    lines
}

/// A line still without its words.
fn line<'a>(figures: String, chart: Option<Chart<'a>>) -> Line<'a> {
    Line { name: Cow::Borrowed(""), figures, gloss: "", meaning: "", good: "", chart }
}

/// Why the test against chance could not decide, where it could not.
pub(crate) fn undecided(checks: &Checks) -> Option<&str> {
    let chance = checks.chance.as_ref().filter(|chance| chance.verdict == ChanceVerdict::Undecided)?;
    Some(&chance.says)
}

fn chance(chance: &AgainstChance) -> Line<'_> {
    let meaning = "how many random rankings are as good at finding what moves the model";
    let name = Cow::Borrowed("chance");
    Line { name, good: "few is good", meaning, ..line(chance.says.clone(), None) }
}

fn hiding(hiding: &Hiding) -> Line<'_> {
    let Hiding { masker, target, rows, .. } = hiding;
    let figures = format!("{} asked, units hidden by {masker}, {target} read", count(*rows, "different row"));
    let meaning = "what the card asked for, each row once; what was remembered was not run again";
    Line { name: Cow::Borrowed("rows"), meaning, ..line(figures, None) }
}

fn completeness(completeness: &Completeness) -> Line<'_> {
    let Completeness { sum, difference, gap, bias, layers } = completeness;
    let mut figures = format!("gap {}, sum {} of {}", percent(*gap), figure(*sum), figure(*difference));
    if let Some(bias) = bias {
        figures += &format!("; biases took {}", figure(*bias));
    }
    if let Some(worst) = layers.iter().max_by(|a, b| a.gap.total_cmp(&b.gap)) {
        let layers = count(layers.len(), "layer");
        figures += &format!("; the worst of {layers} {} ({})", percent(worst.gap), worst.site);
    }
    let meaning = "whether the scores add up to what they claim";
    Line { name: Cow::Borrowed("completeness"), good: "low is good", meaning, ..line(figures, None) }
}

fn swap(swap: &ReluSwap) -> Line<'_> {
    let ReluSwap { beta, value, swapped, logit_change, prob_change, decision_changed } = swap;
    let mut figures = format!(
        "β {}, target {} of {}, logits move by at most {}",
        setting(*beta),
        figure(*swapped),
        figure(*value),
        figure(*logit_change)
    );
    if let Some(change) = prob_change {
        figures += &format!(", probabilities by {}", percent(*change));
    }
    figures += if *decision_changed { "; the decision changes" } else { "; the decision stays" };
    let meaning =
        "how far the network with a softplus for every ReLU, which was explained, answers otherwise";
    Line { name: Cow::Borrowed("swap"), good: "near 0 is good", meaning, ..line(figures, None) }
}

fn erasure(erasure: &Erasure) -> Line<'_> {
    let random = random_mean(erasure).map_or_else(String::new, |mean| format!("random {}, ", figure(mean)));
    let odds = erasure.log_odds.map_or_else(String::new, |odds| format!("; log-odds {}", figure(odds)));
    let figures =
        format!("{}, {random}reversed {}{odds}", figure(erasure.own.mean), figure(erasure.reversed.mean));
    line(figures, Some(Chart::Erasure(erasure)))
}

/// The mean over random rankings, where there are any.
pub(crate) fn random_mean(erasure: &Erasure) -> Option<f64> {
    let random = &erasure.random;
    (!random.is_empty()).then(|| random.iter().map(|drop| drop.mean).sum::<f64>() / random.len() as f64)
}

fn flip(flip: &Flip, attribution: &Attribution) -> Line<'static> {
    let decision = |(label, prob): &(String, f64)| format!("{label} {}", percent(*prob));
    let figures = if flip.units.is_empty() {
        let tried = count(flip.tried, "unit");
        format!("removing the top {tried} leaves {}", decision(&flip.after))
    } else {
        let random = match flip.random_sets {
            0 => String::new(),
            sets => format!("; so do {} of {}", percent(flip.random_share), count(sets, "random set")),
        };
        let units = flipped(&flip.units, attribution);
        format!("without {units}: {} → {}{random}", decision(&flip.before), decision(&flip.after))
    };
    let meaning = "the smallest top-ranked set whose removal changes the decision";
    Line { name: Cow::Borrowed("flip"), meaning, ..line(figures, None) }
}

/// The units by name while they are few.
fn flipped(units: &[usize], attribution: &Attribution) -> String {
    const NAMED: usize = 4;
    let name = |unit: &usize| attribution.units.get(*unit).map(|unit| format!("“{}”", unit.text));
    let named: Vec<_> = units.iter().take(NAMED).filter_map(name).collect();
    match units.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

fn leave_one_out(weighed: &RankAgreement) -> Line<'static> {
    let units = count(weighed.units, "unit");
    let figures = match (weighed.tau, weighed.p_value) {
        (Some(tau), Some(p)) => format!("τ = {}, {}, over {units}", figure(tau), p_value(p)),
        (Some(tau), None) => format!("τ = {} over {units}", figure(tau)),
        (None, _) => format!("no τ: one side is all ties, over {units}"),
    };
    let (good, meaning) = ("near 1 is good", "agreement of the ranking with removing one unit at a time");
    Line { name: Cow::Borrowed("leave one out"), good, meaning, ..line(figures, None) }
}

fn curve(curve: &Curve) -> Line<'_> {
    let figures = format!("area {}, random {}", figure(curve.area), figure(curve.random_area));
    line(figures, Some(Chart::Curve(curve)))
}

fn sensitivity(sensitivity: &Sensitivity) -> Line<'static> {
    let Sensitivity { relative, absolute, radius, samples } = sensitivity;
    let (relative, absolute, radius) = (percent(*relative), figure(*absolute), setting(*radius));
    let figures = format!("at most {relative} ({absolute}), radius {radius}, {}", count(*samples, "sample"));
    let meaning = "how far the scores move when the input hardly does, as a share of their size";
    Line { name: Cow::Borrowed("sensitivity"), good: "low is good", meaning, ..line(figures, None) }
}

fn infidelity(infidelity: &Infidelity) -> Line<'static> {
    let Infidelity { value, scaled, factor, zero, samples } = infidelity;
    let [value, scaled, factor, zero] = [value, scaled, factor, zero].map(|v| figure(*v));
    let samples = count(*samples, "sample");
    let figures = format!("{value}, scaled by {factor} {scaled}, zero scores {zero}, {samples}");
    let meaning = "how badly the scores foretell what perturbations do";
    Line { name: Cow::Borrowed("infidelity"), good: "low is good", meaning, ..line(figures, None) }
}

fn stability(stability: &Stability) -> Line<'static> {
    let Stability { correlation, worst, noise, samples, same_decision } = stability;
    let (correlation, worst, noise) = (figure(*correlation), figure(*worst), percent(*noise));
    let figures = format!(
        "correlation {correlation}, worst {worst}; noise {noise}, {same_decision} of {samples} keep the decision"
    );
    let meaning = "rank correlation with the scores under noise in the embeddings";
    Line { name: Cow::Borrowed("stability"), good: "near 1 is good", meaning, ..line(figures, None) }
}

fn randomisation(steps: &[Randomisation]) -> Line<'_> {
    let step = |step: &Randomisation| format!("{} {}", step.down_to, figure(step.correlation));
    let figures = match steps {
        [] => String::new(),
        [only] => step(only),
        [first, .., last] => format!("{}, … {}", step(first), step(last)),
    };
    let meaning = "rank correlation with the scores of the model made random from the top down";
    Line {
        name: Cow::Borrowed("randomisation"),
        good: "near 0 is good",
        meaning,
        ..line(figures, Some(Chart::Randomisation(steps)))
    }
}
