//! A table has no picture; its title says that there is one.

use super::Sheet;
use exegete_core::report::Table;

pub(super) fn table(sheet: &mut Sheet, table: &Table) {
    sheet.caption(&format!("{} (a table has no picture)", table.title), 12.0, "normal");
}
