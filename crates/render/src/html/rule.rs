//! A rule: if … then …, how sure it is, how it grew, and texts under it.

use super::bars::Axis;
use super::{marked, tied};
use crate::figures::{count, interval, percent};
use crate::marked::{example, held};
use crate::markup::Escaped;
use crate::rule::{Examples, Measure, STEP_HEADS, SentencePart, Words, examples, measures, sentence, step};
use exegete_core::report::{Bounded, Provenance, Rule, RuleStep};

/// How many texts of each kind are shown.
const LISTED: usize = 10;

pub(super) fn rule(rule: &Rule, provenance: &Provenance) -> String {
    let subject = &rule.subject;
    let part = |SentencePart { text, words }: SentencePart| match words {
        Words::Ours => tied(&text),
        Words::Condition => format!("<mark><bdi>{}</bdi></mark>", Escaped(&text)),
        Words::Answer => format!("<b><bdi>{}</bdi></b>", Escaped(&text)),
    };
    let said: String = sentence(rule).into_iter().map(part).collect();
    [
        super::header(subject, &crate::headline::asked_of(subject), provenance),
        super::verdict(Some(&rule.verdict)),
        format!("<p class=\"rule\">{said}</p>\n"),
        marked::passages(&held(rule), true),
        measured(rule),
        steps(rule),
        texts(rule),
        super::params(subject),
    ]
    .concat()
}

/// Shares as bars from 0 to 100 %, with their intervals and the precision that was asked for.
fn measured(rule: &Rule) -> String {
    let row = |measure: &Measure| {
        let asked = if measure.name == "precision" { asked(rule.threshold) } else { String::new() };
        let told = if measure.told.is_empty() { measure.meaning } else { &measure.told };
        let bounds = interval(measure.share);
        let bounds = bounds.split_once('(').map_or("", |(_, bounds)| bounds.trim_end_matches(')'));
        let told = [bounds, told].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ");
        format!(
            "<tr title=\"{}\"><th scope=\"row\">{}</th><td class=\"number\">{}</td>\
             <td class=\"bar\"><div>{}{asked}</div><small>{}</small></td></tr>\n",
            measure.meaning,
            measure.name,
            percent(measure.share.value),
            bar(measure.share),
            tied(&told)
        )
    };
    let rows: String = measures(rule).iter().map(row).collect();
    format!("<table class=\"bars shares\">\n<tbody>\n{rows}</tbody>\n</table>\n")
}

fn bar(share: Bounded) -> String {
    let axis = Axis::SHARES;
    format!(
        "<i class=\"for\" style=\"--s:1;{}\"></i><i class=\"whisker\" style=\"{}\" title=\"{}\"></i>",
        axis.stretch(0.0, share.value),
        axis.stretch(share.low, share.high),
        interval(share)
    )
}

fn asked(threshold: f64) -> String {
    let at = Axis::SHARES.at(threshold);
    format!("<i class=\"asked\" style=\"left:{at:.1}%\" title=\"asked for {}\"></i>", percent(threshold))
}

fn steps(rule: &Rule) -> String {
    if rule.steps.is_empty() {
        return String::new();
    }
    let row = |at: &RuleStep| {
        let [conditions, precision, coverage] = step(rule, at);
        let number = |text: &str| format!("<td class=\"number\">{}</td>", bounded(text));
        format!(
            "<tr><td><bdi>{}</bdi></td>{}{}</tr>\n",
            Escaped(&conditions),
            number(&precision),
            number(&coverage)
        )
    };
    let rows: String = rule.steps.iter().map(row).collect();
    let [conditions, precision, coverage] = STEP_HEADS;
    format!(
        "<h2 class=\"part\">How it grew</h2>\n<div class=\"wide\"><table class=\"table\">\n<thead><tr><th>{conditions}</th>\
         <th class=\"number\">{precision}</th><th class=\"number\">{coverage}</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    )
}

/// The bounds are softer than the estimate.
fn bounded(text: &str) -> String {
    match text.split_once(" (") {
        Some((value, bounds)) => format!("{value} <span class=\"soft\">({bounds}</span>"),
        None => text.to_owned(),
    }
}

fn texts(rule: &Rule) -> String {
    let kind = |kind: Examples<'_>| {
        let shown: String = kind
            .texts
            .iter()
            .take(LISTED)
            .map(|text| format!("<li>{}</li>\n", marked::passages(&example(rule, text), false)))
            .collect();
        let more = match kind.texts.len().saturating_sub(LISTED) {
            0 => String::new(),
            more => format!("<p class=\"soft\">and {}</p>\n", count(more, "more text")),
        };
        format!("<div>\n<h2>{}</h2>\n<ul class=\"texts\">\n{shown}</ul>\n{more}</div>\n", capital(kind.title))
    };
    let kinds: String = examples(rule).into_iter().map(kind).collect();
    if kinds.is_empty() { kinds } else { format!("<div class=\"columns\">\n{kinds}</div>\n") }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
