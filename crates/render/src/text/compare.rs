//! Several methods over one text, side by side.

use super::card::short;
use super::grid::{Column, Grid};
use super::paint::{Span, Tone};
use super::screen::Screen;
use crate::figures::{column_decimals, count, error, signed};
use crate::groups::{beside, names, own_notes};
use crate::scale::Scale;
use crate::sense::{SharedSense, exceptions, reading, without_sign};
use exegete_core::report::{Attribution, Provenance};

/// How many units are listed, in the order of the text.
const LISTED: usize = 40;

/// One header, a table of units and methods, and a short card for each.
pub(super) fn compare(screen: &mut Screen, members: &[&Attribution], provenance: &Provenance) {
    let Some(first) = members.first() else { return };
    let names = names(members);
    super::header(screen, &first.subject, &crate::headline::asked(members), provenance);
    screen.blank();
    table(screen, members, &names);
    let read = read(screen.colour, members);
    if !read.is_empty() {
        screen.line(2, 2, &[Span::faint(read)]);
    }
    screen.blank();
    for (member, name) in members.iter().zip(&names) {
        screen.line(0, 2, &[Span::strong(name)]);
        super::verdict_at(screen, 2, member.checks.verdict.as_ref());
        super::doubts(screen, 2, member);
        super::notes(screen, 2, &own_notes(member, first));
        screen.line(2, 4, &[Span::faint(short(member))]);
    }
}

/// What signs and colours say, where it is not plain.
fn read(colour: bool, members: &[&Attribution]) -> String {
    let read = reading(members);
    let usual = if colour { "blue: for, orange: against" } else { "+ for, - against" };
    let unsigned = match &read {
        SharedSense::Alike(sense) => without_sign(*sense),
        SharedSense::Mixed(_) => None,
    };
    let told = format!("{}{}", unsigned.unwrap_or(usual), exceptions(&read));
    match (colour, told == usual) {
        (true, _) => format!("{told}, by the largest score of each column"),
        (false, true) => String::new(),
        (false, false) => told,
    }
}

fn table(screen: &mut Screen, members: &[&Attribution], names: &[String]) {
    let units = &members[0].units;
    let (scales, listed) = beside(members, LISTED);
    let mut grid = Grid::new(2, 2);
    grid.columns.push(Column::word(""));
    grid.columns.extend(names.iter().map(|name| Column::number(name)));
    for &unit in &listed {
        let mut row = vec![Span::plain(&units[unit].text)];
        row.extend(members.iter().zip(&scales).map(|(member, scale)| cell(member, *scale, unit)));
        grid.rows.push(row);
    }
    grid.print(screen);
    if units.len() > listed.len() {
        screen.line(
            2,
            2,
            &[Span::faint(format!("and {}", count(units.len() - listed.len(), "weaker unit")))],
        );
    }
}

/// The colour is by the largest of each method, since their scales differ.
fn cell(member: &Attribution, scale: Scale, unit: usize) -> Span {
    match member.values.get(unit) {
        Some(value) => {
            let decimals = column_decimals(scale.largest());
            let error =
                member.errors.get(unit).map_or_else(String::new, |e| format!(" {}", error(*e, decimals)));
            Span::new(format!("{}{error}", signed(*value, decimals)), Tone::Heat(scale.strength(*value)))
        }
        None => Span::plain(""),
    }
}
