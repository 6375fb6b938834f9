//! Changes of a text, each with what the model says then.

use super::marked;
use super::paint::{Span, Tone};
use super::screen::Screen;
use crate::edits::{ChangedAnswer, lines, outcome};
use crate::figures::count;
use crate::marked::changed;
use exegete_core::report::{Edited, Edits, Provenance};

/// How many changed texts are shown.
const LISTED: usize = 5;

pub(super) fn edits(screen: &mut Screen, edits: &Edits, provenance: &Provenance) {
    super::header(screen, &edits.subject, &crate::headline::asked_of(&edits.subject), provenance);
    super::verdict(screen, Some(&edits.verdict));
    screen.blank();
    screen.line(0, 2, &[Span::strong("goal: "), Span::plain(&edits.goal)]);
    for (index, edited) in edits.found.iter().take(LISTED).enumerate() {
        screen.blank();
        self::edited(screen, edits, index, edited);
    }
    if edits.found.is_empty() {
        screen.line(2, 2, &[Span::faint("no text was found")]);
    }
    let more = edits.found.len().saturating_sub(LISTED);
    if more > 0 {
        screen.line(2, 2, &[Span::faint(format!("and {}", count(more, "more text")))]);
    }
    screen.blank();
    legend(screen, edits);
    screen.blank();
    let column = if screen.width >= 60 { 18 } else { 4 };
    for (name, told) in lines(edits) {
        screen.entry(name, column, &[Span::plain(told)]);
    }
}

/// The best is shown whole; of the others, what stands around the changes.
fn edited(screen: &mut Screen, edits: &Edits, index: usize, edited: &Edited) {
    let ChangedAnswer { answers, figures, left, missed } = outcome(edits, edited);
    let number = if edits.found.len() > 1 { format!("{}. ", index + 1) } else { String::new() };
    let (sign, tone) = if edited.reached { ("✓ ", Tone::Plain) } else { ("✗ ", Tone::Failure) };
    let mut head = vec![Span::faint(number), Span::new(sign, tone), Span::strong(answers)];
    if !missed.is_empty() {
        head.extend([Span::plain(", "), Span::new(missed, Tone::Failure)]);
    }
    head.push(Span::faint(format!(" ({figures})")));
    screen.line(0, 2, &head);
    if !left.is_empty() {
        screen.line(2, 4, &[Span::faint("what is left: "), Span::new(left, Tone::Held)]);
    }
    marked::passages(screen, "  ", &changed(&edits.subject, edited), index == 0);
}

/// How to read the marks that occur.
fn legend(screen: &mut Screen, edits: &Edits) {
    let swaps = || edits.found.iter().take(LISTED).flat_map(|edited| &edited.swaps);
    let (out, into) =
        (swaps().any(|swap| !swap.before.is_empty()), swaps().any(|swap| !swap.after.is_empty()));
    let mark = |text: &str, signs: [&str; 2], tone| {
        let [open, close] = if screen.colour { ["", ""] } else { signs };
        Span::new(format!("{open}{text}{close}"), tone)
    };
    let mut spans = Vec::new();
    if out {
        spans.extend([mark("text", ["[-", "-]"], Tone::Removed), Span::faint(" taken out ")]);
    }
    if into {
        spans.extend([mark("text", ["{+", "+}"], Tone::Added), Span::faint(" put in")]);
    }
    screen.line(2, 2, &spans);
}
