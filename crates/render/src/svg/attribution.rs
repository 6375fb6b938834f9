//! Scores of one text: in the text, and as bars.

use super::{Sheet, bars, head, passage};
use crate::groups::names;
use crate::headline::asked;
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
    sheet.caption("blue with a solid line: for; orange with a dashed line: against", 10.0, "normal");
}
