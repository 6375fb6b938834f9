//! Text with marks: the words that a rule holds on to, and what edits took out and put in.

mod carried;
mod excerpt;

use crate::passage::{Passage, passages};
use carried::carried;
pub(crate) use excerpt::excerpt;
use exegete_core::Field;
use exegete_core::report::{Edited, Rule, Subject, Swap};

/// What a stretch of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Text as it was.
    Plain,
    /// A condition of a rule.
    Held,
    /// What was taken out.
    Removed,
    /// What was put in.
    Added,
}

/// A stretch of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch<'a> {
    /// The text that is marked.
    pub(crate) text: &'a str,
    /// The mark that it bears.
    pub(crate) mark: Mark,
}

/// One field of a text.
pub(crate) struct Marked<'a> {
    /// The name of the field.
    pub(crate) name: &'a str,
    /// In the order of the text.
    pub(crate) stretches: Vec<Stretch<'a>>,
}

impl<'a> Stretch<'a> {
    pub(crate) fn new(text: &'a str, mark: Mark) -> Self {
        Self { text, mark }
    }
}

/// The text of a rule with its conditions.
pub(crate) fn held(rule: &Rule) -> Vec<Marked<'_>> {
    let passage = |Passage { name, pieces }| {
        let mark = |unit: Option<usize>| match unit {
            Some(unit) if rule.conditions.contains(&unit) => Mark::Held,
            _ => Mark::Plain,
        };
        let stretches = pieces
            .iter()
            .map(|piece: &crate::passage::PassagePiece<'_>| Stretch::new(piece.text, mark(piece.unit)));
        Marked { name, stretches: stretches.collect() }
    };
    passages(&rule.subject.input, &rule.units).into_iter().map(passage).collect()
}

/// A text under a rule with what it has of the rule's conditions.
pub(crate) fn example<'a>(rule: &'a Rule, text: &'a [Field]) -> Vec<Marked<'a>> {
    let field = |(index, new): (usize, &'a Field)| {
        let old = rule.subject.input.get(index).map_or("", |field| field.text.as_str());
        let units = rule.conditions.iter().filter_map(|unit| rule.units.get(*unit));
        let spans: Vec<_> =
            units.filter(|unit| unit.field == index).map(|unit| unit.start..unit.end).collect();
        Marked { name: &new.name, stretches: carried(old, &spans, &new.text) }
    };
    text.iter().enumerate().map(field).collect()
}

/// The original text with what became of it.
pub(crate) fn changed<'a>(subject: &'a Subject, edited: &'a Edited) -> Vec<Marked<'a>> {
    let field = |(index, field): (usize, &'a Field)| {
        let swaps = edited.swaps.iter().filter(|swap| swap.field == index).collect();
        Marked { name: &field.name, stretches: swapped(&field.text, swaps) }
    };
    subject.input.iter().enumerate().map(field).collect()
}

/// What was taken out word after word is one stretch. Swaps that overlap an earlier one or lie outside the text are
/// passed over; `read` refuses them.
fn swapped<'a>(text: &'a str, mut swaps: Vec<&'a Swap>) -> Vec<Stretch<'a>> {
    swaps.sort_by_key(|swap| (swap.start, swap.end));
    let mut stretches: Vec<Stretch<'a>> = Vec::new();
    let mut done = 0;
    for swap in swaps {
        let (Some(between), Some(before)) = (text.get(done..swap.start), text.get(swap.start..swap.end))
        else {
            continue;
        };
        let more = between.trim().is_empty() && !before.is_empty() && swap.after.is_empty();
        match stretches.last_mut().filter(|last| more && last.mark == Mark::Removed) {
            Some(last) => last.text = &text[done - last.text.len()..swap.end],
            None => {
                let parts = [(between, Mark::Plain), (before, Mark::Removed), (&swap.after, Mark::Added)];
                let parts = parts.into_iter().filter(|(text, _)| !text.is_empty());
                stretches.extend(parts.map(|(text, mark)| Stretch::new(text, mark)));
            }
        }
        done = swap.end;
    }
    let rest = text.get(done..).filter(|rest| !rest.is_empty());
    stretches.extend(rest.map(|rest| Stretch::new(rest, Mark::Plain)));
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stretches with signs.
    pub(super) fn signed(stretches: &[Stretch<'_>]) -> String {
        let sign = |Stretch { text, mark }: &Stretch<'_>| match mark {
            Mark::Plain => (*text).to_owned(),
            Mark::Held => format!("[{text}]"),
            Mark::Removed => format!("[-{text}-]"),
            Mark::Added => format!("{{+{text}+}}"),
        };
        stretches.iter().map(sign).collect()
    }

    #[test]
    fn swaps_become_marks() {
        let swap = |start, end, after: &str| Swap {
            field: 0,
            start,
            end,
            before: String::new(),
            after: after.to_owned(),
        };
        for (swaps, expected) in [
            (vec![], "un ça va"),
            (vec![swap(3, 6, "")], "un [-ça-] va"),
            (vec![swap(3, 6, "ce")], "un [-ça-]{+ce+} va"),
            (vec![swap(0, 0, "so "), swap(9, 9, "!")], "{+so +}un ça va{+!+}"),
            (vec![swap(7, 9, ""), swap(0, 2, "")], "[-un-] ça [-va-]"),
            (vec![swap(0, 2, ""), swap(3, 6, ""), swap(7, 9, "x")], "[-un ça-] [-va-]{+x+}"),
            (vec![swap(0, 2, "x"), swap(3, 6, "")], "[-un-]{+x+} [-ça-] va"),
            (vec![swap(0, 2, ""), swap(2, 2, "x"), swap(3, 6, "")], "[-un-]{+x+} [-ça-] va"),
            // Within a character, beyond the end, backwards, twice the same.
            (vec![swap(4, 6, "x"), swap(7, 99, "x"), swap(6, 3, "x")], "un ça va"),
            (vec![swap(0, 6, "a"), swap(3, 6, "b")], "[-un ça-]{+a+} va"),
        ] {
            assert_eq!(signed(&swapped("un ça va", swaps.iter().collect())), expected);
        }
    }
}
