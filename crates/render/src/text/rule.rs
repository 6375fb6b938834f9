//! A rule: if … then …, how sure it is, how it grew, and texts under it.

use super::grid::{Column, Grid};
use super::marked;
use super::paint::{Span, Tone};
use super::screen::Screen;
use crate::figures::{count, interval};
use crate::marked::{example, held};
use crate::rule::{Examples, STEP_HEADS, SentencePart, Words, examples, measures, sentence, step};
use exegete_core::report::{Provenance, Rule};

/// How many texts of each kind are shown.
const LISTED: usize = 5;

pub(super) fn rule(screen: &mut Screen, rule: &Rule, provenance: &Provenance) {
    super::header(screen, &rule.subject, &crate::headline::asked_of(&rule.subject), provenance);
    super::verdict(screen, Some(&rule.verdict));
    screen.blank();
    let quoted = |SentencePart { text, words }: SentencePart| match words {
        Words::Ours => Span::plain(text),
        Words::Condition if screen.colour => Span::new(text, Tone::Held),
        Words::Condition => Span::plain(format!("“{text}”")),
        Words::Answer => Span::strong(text),
    };
    let said: Vec<Span> = sentence(rule).into_iter().map(quoted).collect();
    screen.line(2, 4, &said);
    screen.blank();
    marked::passages(screen, "  ", &held(rule), true);
    screen.blank();
    measured(screen, rule);
    steps(screen, rule);
    for kind in examples(rule) {
        texts(screen, rule, &kind);
    }
}

fn measured(screen: &mut Screen, rule: &Rule) {
    let column = if screen.width >= 60 { 16 } else { 4 };
    for measure in measures(rule) {
        let mut spans = vec![Span::plain(interval(measure.share))];
        if !measure.told.is_empty() {
            let unmet = measure.name == "precision" && !rule.met;
            spans.push(Span::plain("; "));
            spans.push(Span::new(&measure.told, if unmet { Tone::Failure } else { Tone::Plain }));
        }
        screen.entry(measure.name, column, &spans);
    }
}

fn steps(screen: &mut Screen, rule: &Rule) {
    if rule.steps.is_empty() {
        return;
    }
    screen.blank();
    screen.line(0, 2, &[Span::strong("how it grew")]);
    let mut grid = Grid::new(2, 2);
    let [conditions, precision, coverage] = STEP_HEADS;
    grid.columns.extend([Column::text(conditions), Column::number(precision), Column::number(coverage)]);
    grid.rows = rule.steps.iter().map(|at| step(rule, at).map(Span::plain).to_vec()).collect();
    grid.print(screen);
}

fn texts(screen: &mut Screen, rule: &Rule, kind: &Examples<'_>) {
    screen.blank();
    screen.line(0, 2, &[Span::strong(kind.title)]);
    for text in kind.texts.iter().take(LISTED) {
        marked::passages(screen, "  · ", &example(rule, text), false);
    }
    let more = kind.texts.len().saturating_sub(LISTED);
    if more > 0 {
        screen.line(2, 2, &[Span::faint(format!("and {}", count(more, "more text")))]);
    }
}
