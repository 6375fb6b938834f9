//! How far F falls with nothing but the top-ranked units: low is good (`erasure` has the definition).

use super::Level;
use super::check::{Check, Judged, Look, Ruling};
use super::erasure::{Hide, measured, sets};
use exegete_core::Result;
use exegete_core::report::Checks;

pub(super) const CHECK: Check = Check {
    name: "sufficiency",
    level: Level::Default,
    sets: |look| sets(&look.rankings, Hide::Rest),
    measure,
};

fn measure(look: &mut Look<'_, '_>, checks: &mut Checks) -> Result<Ruling> {
    let pool = look.pool()?;
    let found = measured(look.masked, &look.rankings, &pool, Hide::Rest)?;
    let judged = Judged::shown(Some(found.own.mean));
    checks.sufficiency = Some(found);
    Ok(judged.into())
}
