//! The evidence card as lines of text.

use super::paint::Span;
use super::screen::Screen;
use crate::evidence::{Chart, lines, others, random_mean};
use crate::figures::{figure, percent};
use exegete_core::report::{Attribution, Checks, Erasure};

/// Every check that was made.
pub(super) fn card(screen: &mut Screen, attribution: &Attribution) {
    let lines = lines(attribution);
    if lines.is_empty() {
        return;
    }
    screen.blank();
    screen.line(0, 2, &[Span::strong("evidence")]);
    let column = if screen.width >= 60 { 21 } else { 4 };
    for line in lines {
        let mut spans = vec![Span::plain(line.figures)];
        spans.extend(line.chart.as_ref().and_then(drawn).map(|drawn| Span::plain(format!(" {drawn}"))));
        let hints: Vec<&str> = [line.gloss, line.good].into_iter().filter(|hint| !hint.is_empty()).collect();
        // A hint breaks as a whole: a lonely last word looks like a figure.
        let hint = hints.join("; ").replace(' ', "\u{a0}");
        spans.extend((!hint.is_empty()).then(|| Span::faint(format!(" ({hint})"))));
        screen.entry(Span::plain(&*line.name).text(), column, &spans);
    }
    layers(screen, &attribution.checks, column);
}

/// What the scores sum to at each layer.
fn layers(screen: &mut Screen, checks: &Checks, column: usize) {
    let layers = checks.completeness.iter().flat_map(|completeness| &completeness.layers);
    let told: Vec<_> = layers.map(|l| format!("{} {} ({})", l.site, figure(l.sum), percent(l.gap))).collect();
    if !told.is_empty() {
        screen.entry("sums by layer", column, &[Span::plain(told.join(", "))]);
    }
}

/// Curves; the few bins of an erasure say no more than their mean.
fn drawn(chart: &Chart<'_>) -> Option<String> {
    match chart {
        Chart::Erasure(_) => None,
        Chart::Curve(curve) => Some(sparklines(&[&curve.values, &curve.random])),
        Chart::Randomisation(steps) => {
            Some(sparklines(&[&steps.iter().map(|step| step.correlation).collect::<Vec<_>>()]))
        }
    }
}

/// Lines of small bars on one scale that holds zero; the second is what random rankings give.
fn sparklines(series: &[&[f64]]) -> String {
    let finite = series.iter().flat_map(|values| values.iter()).filter(|v| v.is_finite());
    let (low, high) = finite.fold((0.0, 0.0), |(low, high), v| (f64::min(low, *v), f64::max(high, *v)));
    let bar = |value: &f64| match (value - low) / (high - low) {
        share if share.is_finite() => {
            ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'][(share * 7.0).round() as usize % 8]
        }
        _ => '·',
    };
    let lines: Vec<String> = series.iter().map(|values| thinned(values).iter().map(bar).collect()).collect();
    match lines.as_slice() {
        [own, random] if !random.is_empty() => format!("{own} random {random}"),
        [own, ..] => own.clone(),
        [] => String::new(),
    }
}

/// At most a dozen of the values, evenly taken.
fn thinned(values: &[f64]) -> Vec<f64> {
    const KEPT: usize = 12;
    if values.len() <= KEPT {
        return values.to_vec();
    }
    (0..KEPT).map(|i| values[i * (values.len() - 1) / (KEPT - 1)]).collect()
}

/// The checks in one line, for methods side by side.
pub(super) fn short(attribution: &Attribution) -> String {
    let Checks { completeness, comprehensiveness, sufficiency, flip, leave_one_out, .. } =
        &attribution.checks;
    let erasure = |name: &str, erasure: &Erasure| {
        let random =
            random_mean(erasure).map_or_else(String::new, |mean| format!(" (random {})", figure(mean)));
        format!("{name} {}{random}", figure(erasure.own.mean))
    };
    let sampled = crate::headline::sampled(&attribution.subject);
    let mut parts: Vec<String> = sampled.strip_prefix(", ").map(str::to_owned).into_iter().collect();
    parts.extend(completeness.as_ref().map(|c| format!("gap {}", percent(c.gap))));
    parts.extend(comprehensiveness.as_ref().map(|e| erasure("comprehensiveness", e)));
    parts.extend(sufficiency.as_ref().map(|e| erasure("sufficiency", e)));
    parts.extend(flip.as_ref().map(|flip| match flip.units.len() {
        0 => "no flip".to_owned(),
        units => format!("flips without {}", crate::figures::count(units, "unit")),
    }));
    parts.extend(
        leave_one_out.as_ref().and_then(|l| l.tau).map(|tau| format!("leave one out τ = {}", figure(tau))),
    );
    parts.extend(others(&attribution.checks).map(|line| format!("{} {}", line.name, line.figures)));
    parts.join(", ")
}
