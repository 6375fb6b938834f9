//! Brackets that match, or all but one pair of which do.

use super::{GeneratedRow, GeneratedSet, Grammar, LabelledRow, RowDraws, TEXT, half_length};
use crate::{Arguments, Parameter};
use exegete_core::Result;

/// Whether brackets are balanced.
pub(super) const BRACKETS: GeneratedSet = GeneratedSet {
    name: "brackets",
    summary: "brackets of several kinds: 1 if all match, 0 if one is of another kind than its partner",
    columns: TEXT,
    has_lines: true,
    parameters: &PARAMETERS,
    new: brackets,
};

const PARAMETERS: [Parameter; 4] = {
    let [least, most] = super::lengths(2, 1000, (4, 30));
    [
        least,
        most,
        Parameter::count(
            "kinds",
            1..=3,
            Some(2),
            "how many kinds of brackets there are; with one all texts match",
        ),
        Parameter::count("depth", 1..=1000, Some(8), "how many brackets may be open at once"),
    ]
};

/// Opening and closing brackets of each kind.
const KINDS: [[&str; 2]; 3] = [["(", ")"], ["[", "]"], ["{", "}"]];

fn brackets(arguments: &mut Arguments) -> Result<Grammar> {
    let pairs = half_length(arguments)?;
    let (kinds, depth) = (arguments.count("kinds")?, arguments.count("depth")?);
    Ok(Box::new(move |draws| {
        let count = 2 * draws.between(pairs);
        let matching = balanced(draws, count, kinds, depth);
        let mut written: Vec<&str> = matching.iter().map(|bracket| bracket.text()).collect();
        let line = Some(written.concat());
        if draws.side || kinds == 1 {
            return GeneratedRow::Labelled(LabelledRow { line, ..LabelledRow::of_words(&written, "1", &[]) });
        }
        let at = draws.below(count);
        let Bracket { kind, closing, partner } = matching[at];
        let other = (kind + 1 + draws.below(kinds - 1)) % kinds;
        written[at] = Bracket { kind: other, closing, partner }.text();
        let pair = [at.min(partner), at.max(partner)];
        GeneratedRow::Labelled(LabelledRow { line, ..LabelledRow::of_words(&written, "0", &pair) })
    }))
}

#[derive(Debug, Clone, Copy)]
struct Bracket {
    kind: usize,
    closing: bool,
    /// The place of the one that it matches.
    partner: usize,
}

impl Bracket {
    fn text(self) -> &'static str {
        KINDS[self.kind][usize::from(self.closing)]
    }
}

/// So many brackets that match: a coin decides what comes next wherever both an opening and a closing one may.
fn balanced(draws: &mut RowDraws, count: usize, kinds: usize, depth: usize) -> Vec<Bracket> {
    let mut brackets: Vec<Bracket> = Vec::with_capacity(count);
    let mut open: Vec<usize> = Vec::new();
    for at in 0..count {
        let must_close = open.len() == depth || open.len() == count - at;
        let closed = if must_close || (!open.is_empty() && draws.coin()) { open.pop() } else { None };
        if let Some(partner) = closed {
            let Bracket { kind, .. } = brackets[partner];
            brackets[partner].partner = at;
            brackets.push(Bracket { kind, closing: true, partner });
        } else {
            open.push(at);
            brackets.push(Bracket { kind: draws.below(kinds), closing: false, partner: at });
        }
    }
    brackets
}
