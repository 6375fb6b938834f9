//! The pictures of a table. One that has none is named, so that nobody looks for it.

use super::{Sheet, plot};
use crate::plot::Source;
use exegete_core::report::{Picture, Table};

pub(super) fn table(sheet: &mut Sheet, table: &Table, source: Source<'_>, pictures: &[Picture]) {
    if !plot::plots(sheet, pictures, source) {
        sheet.caption(&format!("{} (a table has no picture)", table.title), 12.0, "normal");
    }
}
