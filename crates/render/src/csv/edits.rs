//! Changes as rows: one for each change of each text that was found.

use super::{Row, number, word};
use exegete_core::report::{Edited, Edits, Swap};

#[rustfmt::skip]
pub(super) const HEAD: [&str; 16] = [
    "item", "method", "target", "found", "reached", "answer", "prob", "value", "value_before",
    "change", "field", "start", "end", "before", "after", "text",
];

/// A text without changes has one row too; `text` is what the field became.
pub(super) fn rows(item: usize, edits: &Edits) -> Vec<Row> {
    edits.found.iter().enumerate().flat_map(|(index, edited)| found(item, edits, index, edited)).collect()
}

fn found(item: usize, edits: &Edits, index: usize, edited: &Edited) -> Vec<Row> {
    let subject = &edits.subject;
    let said = crate::headline::said(&edited.prediction);
    let head = [
        item.to_string(),
        word(&subject.method),
        word(&subject.target),
        index.to_string(),
        edited.reached.to_string(),
        word(&said.decision),
        said.probability.map_or_else(String::new, number),
        number(edited.value),
        number(subject.value),
    ];
    let row = |change: [String; 7]| head.iter().cloned().chain(change).collect::<Row>();
    if edited.swaps.is_empty() {
        return vec![row(Default::default())];
    }
    edited.swaps.iter().enumerate().map(|(at, swap)| row(change(edits, edited, at, swap))).collect()
}

fn change(edits: &Edits, edited: &Edited, index: usize, swap: &Swap) -> [String; 7] {
    let Swap { field, start, end, before, after } = swap;
    let name = edits.subject.input.get(*field).map_or_else(String::new, |field| word(&field.name));
    let text = edited.input.get(*field).map_or_else(String::new, |field| word(&field.text));
    [index.to_string(), name, start.to_string(), end.to_string(), word(before), word(after), text]
}
