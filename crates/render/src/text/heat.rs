//! The text itself, each unit coloured or signed by its score.

use super::paint::{Span, Tone};
use super::screen::{Atom, Join, Screen};
use crate::passage::{Passage, PassagePiece, passages as of};
use crate::scale::Scale;
use crate::sense::{explained, without_sign};
use crate::visible::runs_left;
use exegete_core::report::{Attribution, Subject};

/// The fields of a text, apart and with their names where there are several, and how to read them.
pub(super) fn passages(screen: &mut Screen, attribution: &Attribution) {
    let scale = Scale::new(&attribution.values);
    let passages = of(&attribution.subject.input, &attribution.units);
    let named = passages.len() > 1;
    for passage in &passages {
        if named {
            screen.line(0, 2, &[Span::faint(format!("{}:", passage.name))]);
        }
        let atoms = atoms(passage, &attribution.values, scale, screen.colour);
        let fenced = passage.pieces.iter().any(|piece| runs_left(piece.text));
        screen.fill("  ", 2, &atoms, fenced);
    }
    if scale.largest() > 0.0 {
        screen.blank();
        legend(screen, &attribution.subject);
    }
}

fn legend(screen: &mut Screen, subject: &Subject) {
    let (target, unsigned) = (explained(&subject.target), without_sign(subject.sense));
    if !screen.colour {
        let signs = "one sign from 1/12 of the largest score, two from 1/3, three from 2/3";
        let read =
            unsigned.map_or_else(|| format!("+ for, - against {target}"), |words| format!("+ {words}"));
        return screen.line(2, 2, &[Span::faint(format!("{read}; {signs}"))]);
    }
    let step =
        |(label, strength): &(&str, f64)| Span::new(format!("\u{a0}{label}\u{a0}"), Tone::Heat(*strength));
    let steps = [("75%", 1.0), ("50%", 0.6), ("25%", 0.3), ("8%", 0.1)];
    let mut spans = Vec::new();
    if unsigned.is_none() {
        spans.push(Span::faint("against "));
        spans.extend(steps.iter().map(|(label, strength)| step(&(label, -strength))));
    }
    spans.extend(steps.iter().rev().map(step));
    let read = unsigned.map_or_else(|| format!(" for {target}"), |words| format!(" {words}"));
    spans.push(Span::faint(format!("{read}, from these shares of the largest score")));
    screen.line(2, 2, &spans);
}

/// Running text: what stands between units keeps its spaces and line breaks.
fn atoms(passage: &Passage<'_>, values: &[f64], scale: Scale, colour: bool) -> Vec<Atom> {
    let mut atoms = Vec::new();
    let mut join = Join::Glued;
    for piece in &passage.pieces {
        match piece.unit {
            Some(unit) => {
                let value = values.get(unit).copied().unwrap_or(f64::NAN);
                join = self::unit(&mut atoms, piece, join, value, scale, colour);
            }
            None => join = between(&mut atoms, piece.text, join),
        }
    }
    atoms
}

fn unit(
    atoms: &mut Vec<Atom>,
    piece: &PassagePiece<'_>,
    join: Join,
    value: f64,
    scale: Scale,
    colour: bool,
) -> Join {
    let tone = Tone::Heat(scale.strength(value));
    let mut join = join;
    for word in words(piece.text, if colour { 0 } else { scale.level(value) }) {
        atoms.push(Atom { span: Span::running(&word, tone), join });
        join = Join::Within;
    }
    Join::Glued
}

/// The words of a unit, between brackets with its signs: `[++ very good]`.
fn words(text: &str, level: i8) -> Vec<String> {
    let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    if words.is_empty() {
        words.push("␣".to_owned());
    }
    let signs = if level < 0 { "-" } else { "+" }.repeat(usize::from(level.unsigned_abs()));
    if let Some(first) = words.first_mut().filter(|_| level != 0) {
        *first = format!("[{signs} {first}");
    }
    if let Some(last) = words.last_mut().filter(|_| level != 0) {
        last.push(']');
    }
    words
}

/// Text that no unit covers.
pub(super) fn between(atoms: &mut Vec<Atom>, text: &str, join: Join) -> Join {
    let mut join = join;
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            join = Join::Broken;
        }
        for (index, word) in line.split(char::is_whitespace).enumerate() {
            if index > 0 && join == Join::Glued {
                join = Join::Spaced;
            }
            if !word.is_empty() {
                atoms.push(Atom { span: Span::running(word, Tone::Plain), join });
                join = Join::Glued;
            }
        }
    }
    join
}
