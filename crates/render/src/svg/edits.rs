//! Changes of a text, each with what the model says then.

use super::{Sheet, failures, head, marked};
use crate::edits::{ChangedAnswer, lines, outcome};
use crate::figures::count;
use crate::marked::changed;
use exegete_core::report::Edits;

/// How many changed texts are shown.
const LISTED: usize = 5;

pub(super) fn edits(sheet: &mut Sheet, edits: &Edits) {
    head(sheet, &edits.subject, &crate::headline::asked_of(&edits.subject));
    failures(sheet, &edits.verdict);
    sheet.told(&format!("goal: {}", edits.goal), 12.0);
    for (index, edited) in edits.found.iter().take(LISTED).enumerate() {
        let ChangedAnswer { answers, figures, left, missed } = outcome(edits, edited);
        let missed = if missed.is_empty() { String::new() } else { format!(", {missed}") };
        let sign = if edited.reached { "✓" } else { "✗" };
        sheet.skip(8.0);
        sheet.caption(&format!("{sign} {answers}{missed}"), 13.0, "bold");
        sheet.caption(&figures, 11.0, "normal");
        if !left.is_empty() {
            sheet.told(&format!("what is left: {left}"), 12.0);
        }
        marked::passages(sheet, &changed(&edits.subject, edited), index == 0);
        sheet.skip(6.0);
    }
    if edits.found.is_empty() {
        sheet.caption("no text was found", 12.0, "normal");
    }
    let more = edits.found.len().saturating_sub(LISTED);
    if more > 0 {
        sheet.caption(&format!("and {}", count(more, "more text")), 10.0, "normal");
    }
    sheet.skip(4.0);
    for (name, told) in lines(edits) {
        sheet.caption(&format!("{name}: {told}"), 11.0, "normal");
    }
    sheet.caption("struck through on orange: taken out; on blue with a solid line: put in", 10.0, "normal");
}
