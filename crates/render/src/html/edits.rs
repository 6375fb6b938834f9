//! Changes of a text, each with what the model says then.

use super::{marked, tied};
use crate::edits::{ChangedAnswer, closer, lines, outcome};
use crate::figures::count;
use crate::marked::changed;
use crate::markup::Escaped;
use exegete_core::report::{Edited, Edits, Provenance};

/// How many changed texts are shown.
const LISTED: usize = 20;

pub(super) fn edits(edits: &Edits, provenance: &Provenance) -> String {
    let subject = &edits.subject;
    let texts: String =
        edits.found.iter().take(LISTED).enumerate().map(|(index, text)| edited(edits, index, text)).collect();
    let texts = match texts.is_empty() {
        true => "<p class=\"soft\">no text was found</p>\n".to_owned(),
        false => format!("<div class=\"found\">\n{texts}</div>\n"),
    };
    let more = match edits.found.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!("<p class=\"soft\">and {}</p>\n", count(more, "more text")),
    };
    [
        super::header(subject, &crate::headline::asked_of(subject), provenance),
        super::verdict(Some(&edits.verdict)),
        format!("<p class=\"rule\">Goal: <b>{}</b></p>\n", Escaped(&edits.goal)),
        texts,
        more,
        known(edits),
        super::params(subject),
    ]
    .concat()
}

/// The best is shown whole; of the others, what stands around the changes. The numbers of every class are a hover away.
fn edited(edits: &Edits, index: usize, edited: &Edited) -> String {
    let ChangedAnswer { answers, figures, left, missed } = outcome(edits, edited);
    let number = if edits.found.len() > 1 { format!("{}. ", index + 1) } else { String::new() };
    let (class, sign) = if edited.reached { ("reached", "✓") } else { ("missed", "✗") };
    let missed =
        if missed.is_empty() { String::new() } else { format!(" <span class=\"{class}\">{missed}</span>") };
    let left = match left.is_empty() {
        true => left,
        false => format!("<p class=\"left\">What is left: <b><bdi>{}</bdi></b></p>\n", Escaped(&left)),
    };
    format!(
        "<div>\n<h2 title=\"{}\">{number}<span class=\"{class}\">{sign}</span> {}{missed} <small>{}</small></h2>\n{left}{}</div>\n",
        Escaped(&closer(&edits.subject.prediction, &edited.prediction)),
        tied(&answers),
        tied(&figures),
        marked::passages(&changed(&edits.subject, edited), index == 0)
    )
}

/// How to read the marks, and what is known of the changes.
fn known(edits: &Edits) -> String {
    let rows: String =
        lines(edits).iter().map(|(name, told)| format!("<dt>{name}</dt><dd>{}</dd>\n", tied(told))).collect();
    format!(
        "<p class=\"legend\"><del>taken out</del> <ins>put in</ins></p>\n<dl class=\"known\">\n{rows}</dl>\n"
    )
}
