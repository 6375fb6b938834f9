//! Scores of one text: in the text, and as bars.

use super::{Sheet, bars, head, passage};
use crate::groups::names;
use crate::headline::asked;
use crate::sense::{SharedSense, exceptions, reading, without_sign};
use exegete_core::report::Attribution;

/// One text, once for each method.
pub(super) fn attributions(sheet: &mut Sheet, members: &[&Attribution]) {
    let Some(first) = members.first() else { return };
    head(sheet, &first.subject, &asked(members));
    for (member, name) in members.iter().zip(names(members)) {
        if members.len() > 1 {
            sheet.skip(6.0);
            sheet.caption(&name, 12.0, "bold");
        }
        passage::passages(sheet, member);
        sheet.skip(6.0);
        bars::units(sheet, member);
    }
    sheet.skip(4.0);
    let side = reading(members);
    let unsigned = match &side {
        SharedSense::Alike(sense) => without_sign(*sense),
        SharedSense::Mixed(_) => None,
    };
    let read = unsigned.map_or_else(
        || "blue with a solid line: for; orange with a dashed line: against".to_owned(),
        |words| format!("blue with a solid line: {words}"),
    );
    sheet.caption(&format!("{read}{}", exceptions(&side)), 10.0, "normal");
}
