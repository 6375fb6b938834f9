//! How far F falls with nothing but the top-ranked units: low is good (`erasure` has the definition).

use super::Level;
use super::check::{Check, Judged, Look, Ruling};
use super::erasure::{Compared, Hide, figure, measured, sets};
use exegete_core::Result;
use exegete_core::report::{Checks, Erasure};

pub(super) const CHECK: Check = Check {
    name: "sufficiency",
    level: Level::Default,
    sets: |look| sets(&look.rankings, Hide::Rest),
    measure,
};

fn measure(look: &mut Look<'_, '_>, checks: &mut Checks) -> Result<Ruling> {
    let found = measured(look.masked, &look.rankings, Hide::Rest)?;
    let judged = judged(&found, &look.noun(2));
    checks.sufficiency = Some(found);
    Ok(judged.into())
}

fn judged(found: &Erasure, nouns: &str) -> Judged {
    let Some(Compared { own, random, .. }) = Compared::of(found) else {
        return Judged::shown(Some(found.own.mean));
    };
    let failure = (own >= random).then(|| {
        let (own, random) = (figure(own), figure(random));
        format!("F falls by {own} with nothing but the top {nouns}, by {random} with random {nouns}: they do not suffice")
    });
    Judged::new(own, random, failure)
}
