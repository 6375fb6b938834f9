//! For a terminal: what the model says, what failed, the text with its scores, and the evidence.

mod attribution;
mod card;
mod compare;
mod edits;
mod grid;
mod heat;
mod judgement;
mod map;
mod marked;
mod paint;
mod plot;
mod rule;
mod screen;
mod table;
mod units;

use crate::RenderOptions;
use crate::evidence::undecided;
use crate::figures::percent;
use crate::groups::{Group, groups};
use crate::headline::{baseline, cost, said};
use crate::plot::Source;
use exegete_core::Brief;
use exegete_core::report::{Attribution, Item, Provenance, Report, Subject, Verdict};
use grid::{Column, Grid};
use paint::{Span, Tone};
use screen::Screen;

/// A report for a terminal.
pub(crate) fn render(report: &Report, options: &RenderOptions) -> String {
    let mut screen = Screen::new(options.colour, options.columns());
    for Group { item, members } in groups(report) {
        let made = &report.provenance;
        match item {
            Item::Attribution(_) => attribution::attributions(&mut screen, &members, made),
            Item::Map(map) => map::map(&mut screen, map, made),
            Item::Rule(rule) => rule::rule(&mut screen, rule, made),
            Item::Edits(edits) => edits::edits(&mut screen, edits, made),
            Item::Table(table) => {
                table::table(&mut screen, table);
                plot::plots(&mut screen, &table.pictures, Source::Table(table));
            }
            Item::Rows(rows) => {
                table::table(&mut screen, &crate::rows::for_reading(rows));
                plot::plots(&mut screen, &rows.pictures, Source::Rows(rows));
            }
            Item::Verdict(judgement) => judgement::judgement(&mut screen, judgement),
        }
        screen.blank();
    }
    provenance(&mut screen, &report.provenance);
    screen.finish()
}

/// Rows in aligned columns, however long the lines; columns counted in `right` stand right. No newline at the end.
pub(crate) fn columns(header: &[&str], rows: &[Vec<String>], right: &[usize]) -> String {
    let mut screen = Screen::new(false, usize::MAX);
    let mut grid = Grid::new(0, 2);
    let count = rows.iter().map(Vec::len).fold(header.len(), usize::max);
    let column = |place: usize| {
        let head = header.get(place).copied().unwrap_or_default();
        if right.contains(&place) { Column::number(head) } else { Column::word(head) }
    };
    grid.columns = (0..count).map(column).collect();
    grid.rows = rows.iter().map(|row| row.iter().map(Span::plain).collect()).collect();
    grid.print(&mut screen);
    screen.finish().trim_end().to_owned()
}

/// What the model says, what is explained, and what the reader must know of it.
fn header(screen: &mut Screen, subject: &Subject, asked: &str, provenance: &Provenance) {
    let Brief { decision, probability, others } = said(&subject.prediction);
    let probability = probability.map_or_else(String::new, |p| format!(" {}", percent(p)));
    let others = if others.is_empty() { others } else { format!(" ({others})") };
    screen.line(0, 2, &[Span::strong(decision), Span::strong(probability), Span::faint(others)]);
    screen.line(0, 2, &[Span::faint(format!("{asked}, model {}", provenance.model.name))]);
    notes(screen, 0, &subject.notes);
}

fn notes(screen: &mut Screen, indent: usize, notes: &[String]) {
    for note in notes {
        screen.line(indent, indent + 2, &[Span::new("note: ", Tone::Warning), Span::plain(note)]);
    }
}

/// Failures come before everything that they put in doubt.
fn verdict(screen: &mut Screen, verdict: Option<&Verdict>) {
    verdict_at(screen, 0, verdict);
}

fn verdict_at(screen: &mut Screen, indent: usize, verdict: Option<&Verdict>) {
    let Some(Verdict { sentence, failures, .. }) = verdict else { return };
    for failure in failures {
        screen.line(indent, indent + 2, &[Span::new("✗ ", Tone::Failure), Span::new(failure, Tone::Failure)]);
    }
    if !sentence.is_empty() {
        screen.line(indent, indent, &[Span::plain(sentence)]);
    }
}

/// What the evidence could not decide, and what the model says without the text.
fn doubts(screen: &mut Screen, indent: usize, attribution: &Attribution) {
    if let Some(undecided) = undecided(&attribution.checks) {
        let spans = [Span::new("? ", Tone::Warning), Span::plain(undecided)];
        screen.line(indent, indent + 2, &spans);
    }
    if let Some(baseline) = baseline(attribution) {
        screen.line(indent, indent, &[Span::faint(baseline)]);
    }
}

fn provenance(screen: &mut Screen, provenance: &Provenance) {
    let Provenance { version, model, seed, .. } = provenance;
    let fingerprint: String = model.fingerprint.chars().take(12).collect();
    let mut made =
        format!("{}; exegete {version}, seed {seed}, {} {}", cost(provenance), model.family, model.name);
    if !fingerprint.is_empty() {
        made += &format!(" ({fingerprint})");
    }
    screen.line(0, 0, &[Span::faint(made)]);
}
