//! What the measured evidence says, in figures and words that every renderer shares.

use crate::figures::{count, figure, p_value, percent};
use exegete_core::report::{
    Attribution, Checks, Completeness, Curve, Erasure, Flip, Infidelity, Randomisation, Sensitivity,
    Stability, Weighed,
};

/// One check.
pub(crate) struct Line<'a> {
    /// What is measured.
    pub(crate) name: &'static str,
    /// What came out.
    pub(crate) figures: String,
    /// How to read it.
    pub(crate) meaning: &'static str,
    /// What can be drawn of it.
    pub(crate) chart: Option<Chart<'a>>,
}

/// What can be drawn of a check.
pub(crate) enum Chart<'a> {
    /// Drops by bin.
    Erasure(&'a Erasure),
    /// F along a ranking.
    Curve(&'a Curve),
    /// Correlations with the scores of models that are random from the top down.
    Randomisation(&'a [Randomisation]),
}

/// The checks that were made, the quickest to read first.
pub(crate) fn lines(attribution: &Attribution) -> Vec<Line<'_>> {
    let Checks { completeness, comprehensiveness, sufficiency, flip, leave_one_out, .. } =
        &attribution.checks;
    let mut lines = Vec::new();
    lines.extend(completeness.as_ref().map(self::completeness));
    lines.extend(comprehensiveness.as_ref().map(|e| {
        erasure("comprehensiveness", "how far the target falls without the top units; high is good", e)
    }));
    lines.extend(
        sufficiency.as_ref().map(|e| {
            erasure("sufficiency", "how far it falls with nothing but the top units; low is good", e)
        }),
    );
    lines.extend(flip.as_ref().map(|flip| self::flip(flip, attribution)));
    lines.extend(leave_one_out.as_ref().map(self::leave_one_out));
    lines.extend(deep(&attribution.checks));
    lines
}

fn deep(checks: &Checks) -> Vec<Line<'_>> {
    let Checks { deletion, insertion, sensitivity, infidelity, stability, randomisation, .. } = checks;
    let mut lines = Vec::new();
    lines.extend(
        deletion.as_ref().map(|c| curve("deletion", "the target while units go, best first; low is good", c)),
    );
    lines.extend(
        insertion
            .as_ref()
            .map(|c| curve("insertion", "the target while units come back, best first; high is good", c)),
    );
    lines.extend(sensitivity.as_ref().map(self::sensitivity));
    lines.extend(infidelity.as_ref().map(self::infidelity));
    lines.extend(stability.as_ref().map(self::stability));
    lines.extend((!randomisation.is_empty()).then(|| self::randomisation(randomisation)));
    lines
}

fn line(name: &'static str, figures: String, meaning: &'static str) -> Line<'static> {
    Line { name, figures, meaning, chart: None }
}

fn completeness(completeness: &Completeness) -> Line<'_> {
    let Completeness { sum, difference, gap, bias, layers } = completeness;
    let mut figures = format!("sum {} of {}, gap {}", figure(*sum), figure(*difference), percent(*gap));
    if let Some(bias) = bias {
        figures += &format!("; biases took {}", figure(*bias));
    }
    if let Some(worst) = layers.iter().max_by(|a, b| a.gap.total_cmp(&b.gap)) {
        let layers = count(layers.len(), "layer");
        figures += &format!("; over {layers} at most {} ({})", percent(worst.gap), worst.site);
    }
    line("completeness", figures, "whether the scores add up to what they claim")
}

fn erasure<'a>(name: &'static str, meaning: &'static str, erasure: &'a Erasure) -> Line<'a> {
    let mut figures = format!("{}, reversed {}", figure(erasure.own.mean), figure(erasure.reversed.mean));
    if let Some(random) = random_mean(erasure) {
        let rankings = count(erasure.random.len(), "ranking");
        figures = format!(
            "{}, random {} ({rankings}), reversed {}",
            figure(erasure.own.mean),
            figure(random),
            figure(erasure.reversed.mean)
        );
    }
    Line { name, figures, meaning, chart: Some(Chart::Erasure(erasure)) }
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
            sets => format!("; {} of {} do too", percent(flip.random_share), count(sets, "random set")),
        };
        let units = flipped(&flip.units, attribution);
        format!("without {units}: {} → {}{random}", decision(&flip.before), decision(&flip.after))
    };
    line("flip", figures, "the smallest top-ranked set whose removal changes the decision")
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

fn leave_one_out(weighed: &Weighed) -> Line<'static> {
    let units = count(weighed.units, "unit");
    let figures = match (weighed.tau, weighed.p_value) {
        (Some(tau), Some(p)) => format!("τ = {}, {}, over {units}", figure(tau), p_value(p)),
        (Some(tau), None) => format!("τ = {} over {units}", figure(tau)),
        (None, _) => format!("no τ: one side is all ties, over {units}"),
    };
    line("leave one out", figures, "agreement with removing one unit at a time; near 1 is good")
}

fn curve<'a>(name: &'static str, meaning: &'static str, curve: &'a Curve) -> Line<'a> {
    let figures = format!("area {}, random {}", figure(curve.area), figure(curve.random_area));
    Line { name, figures, meaning, chart: Some(Chart::Curve(curve)) }
}

fn sensitivity(sensitivity: &Sensitivity) -> Line<'static> {
    let Sensitivity { relative, absolute, radius, samples } = sensitivity;
    let figures = format!(
        "at most {} of the scores' size ({}) within {}, {}",
        percent(*relative),
        figure(*absolute),
        figure(*radius),
        count(*samples, "sample")
    );
    line("sensitivity", figures, "how far the scores move when the input hardly does; low is good")
}

fn infidelity(infidelity: &Infidelity) -> Line<'static> {
    let Infidelity { value, scaled, zero, samples } = infidelity;
    let figures = format!(
        "{}, best scaled {}, knowing nothing {}, {}",
        figure(*value),
        figure(*scaled),
        figure(*zero),
        count(*samples, "sample")
    );
    line("infidelity", figures, "how badly the scores foretell what perturbations do; low is good")
}

fn stability(stability: &Stability) -> Line<'static> {
    let Stability { correlation, worst, noise, samples, same_decision } = stability;
    let figures = format!(
        "rank correlation {}, worst {}; noise {}; {same_decision} of {samples} keep the decision",
        figure(*correlation),
        figure(*worst),
        percent(*noise)
    );
    line("stability", figures, "how alike the scores are under noise; near 1 is good")
}

fn randomisation(steps: &[Randomisation]) -> Line<'_> {
    let step = |step: &Randomisation| format!("{} {}", step.down_to, figure(step.correlation));
    let figures = match steps {
        [] => String::new(),
        [only] => step(only),
        [first, .., last] => format!("{}, … {}", step(first), step(last)),
    };
    let meaning = "rank correlation with the scores of a model made random from the top down; near 0 is good";
    Line { name: "randomisation", figures, meaning, chart: Some(Chart::Randomisation(steps)) }
}
