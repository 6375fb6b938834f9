//! Running text with what a rule holds and what edits change.

use super::heat::between;
use super::paint::{Span, Tone};
use super::screen::{Atom, Join, Screen};
use crate::marked::{Mark, Marked, Stretch, excerpt};
use crate::visible::runs_left;

/// The fields of a text, apart and with their names where there are several. `whole` texts lose nothing; others are
/// shown as far as their marks reach.
pub(super) fn passages(screen: &mut Screen, lead: &str, fields: &[Marked<'_>], whole: bool) {
    let hang = crate::visible::width(lead);
    for (index, Marked { name, stretches }) in fields.iter().enumerate() {
        let lead = if index == 0 { lead.to_owned() } else { " ".repeat(hang) };
        let name = if fields.len() > 1 { format!("{name}: ") } else { String::new() };
        let mut atoms = super::screen::words(&[Span::faint(&name)]);
        let join = if atoms.is_empty() { Join::Glued } else { Join::Spaced };
        let stretches = if whole { stretches.clone() } else { excerpt(stretches) };
        atoms.extend(self::atoms(&stretches, join, screen.colour));
        let fenced = stretches.iter().any(|stretch| runs_left(stretch.text));
        if atoms.iter().all(|atom| atom.span.width() == 0) {
            atoms = super::screen::words(&[Span::faint("(no text)")]);
        }
        screen.fill(&lead, hang, &atoms, fenced);
    }
}

fn atoms(stretches: &[Stretch<'_>], join: Join, colour: bool) -> Vec<Atom> {
    let mut atoms = Vec::new();
    let (mut join, mut before) = (join, Mark::Plain);
    for stretch in stretches {
        // Colours alone would run a word into the one that replaces it.
        if colour && (before, stretch.mark) == (Mark::Removed, Mark::Added) && join == Join::Glued {
            atoms.push(Atom { span: Span::running("→", Tone::Faint), join });
        }
        join = match stretch.mark {
            Mark::Plain => between(&mut atoms, stretch.text, join),
            _ => marked(&mut atoms, stretch, join, colour),
        };
        before = stretch.mark;
    }
    atoms
}

/// The words of a stretch between its signs; space at its ends stays outside them.
fn marked(atoms: &mut Vec<Atom>, stretch: &Stretch<'_>, join: Join, colour: bool) -> Join {
    let (tone, signs) = match stretch.mark {
        Mark::Plain => (Tone::Plain, ["", ""]),
        Mark::Held => (Tone::Held, ["[", "]"]),
        Mark::Removed => (Tone::Removed, ["[-", "-]"]),
        Mark::Added => (Tone::Added, ["{+", "+}"]),
    };
    let [open, close] = if colour { ["", ""] } else { signs };
    let spaced =
        |edge: Option<char>| edge.is_some_and(char::is_whitespace) && !stretch.text.trim().is_empty();
    let mut words: Vec<&str> = stretch.text.split_whitespace().collect();
    if words.is_empty() {
        words.push("␣");
    }
    let last = words.len() - 1;
    let mut join =
        if join == Join::Glued && spaced(stretch.text.chars().next()) { Join::Spaced } else { join };
    for (index, word) in words.into_iter().enumerate() {
        let open = if index == 0 { open } else { "" };
        let close = if index == last { close } else { "" };
        atoms.push(Atom { span: Span::running(&format!("{open}{word}{close}"), tone), join });
        join = Join::Within;
    }
    if spaced(stretch.text.chars().next_back()) { Join::Spaced } else { Join::Glued }
}
