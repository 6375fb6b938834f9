//! Running text with what a rule holds and what edits change.

use super::Sheet;
use super::passage::{Look, PLAIN, text};
use crate::marked::{Mark, Marked, Stretch, excerpt};

/// The fields of a text, with their names where there are several. `whole` texts lose nothing; others are shown as
/// far as their marks reach.
pub(super) fn passages(sheet: &mut Sheet, fields: &[Marked<'_>], whole: bool) {
    for Marked { name, stretches } in fields {
        if fields.len() > 1 {
            sheet.caption(name, 11.0, "normal");
            sheet.skip(4.0);
        }
        let stretches = if whole { stretches.clone() } else { excerpt(stretches) };
        if stretches.is_empty() {
            sheet.caption("(no text)", 11.0, "normal");
        }
        text(sheet, parts(&stretches).into_iter());
    }
}

/// What replaces something follows it after an arrow.
fn parts<'a>(stretches: &[Stretch<'a>]) -> Vec<(&'a str, Look)> {
    let mut parts = Vec::new();
    let mut before = Mark::Plain;
    for Stretch { text, mark } in stretches {
        if (before, *mark) == (Mark::Removed, Mark::Added) {
            parts.push(("→", PLAIN));
        }
        parts.push((*text, look(*mark)));
        before = *mark;
    }
    parts
}

/// Blue with a solid line: held or put in; orange, dashed and struck through: taken out.
pub(super) fn look(mark: Mark) -> Look {
    match mark {
        Mark::Plain => PLAIN,
        Mark::Held | Mark::Added => Look { strength: 0.5, struck: false },
        Mark::Removed => Look { strength: -0.5, struck: true },
    }
}
