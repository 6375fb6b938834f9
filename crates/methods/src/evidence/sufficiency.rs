//! How far F falls with nothing but the top-ranked units: low is good (`erasure` has the definition).

use super::Level;
use super::check::{Check, Look, Ruling};
use super::erasure::{Compared, Hide, figure, measured, sets};
use exegete_core::Result;
use exegete_core::report::{Checks, Erasure};

pub(super) const CHECK: Check =
    Check { level: Level::Default, sets: |look| sets(&look.rankings, Hide::Rest), measure };

fn measure(look: &mut Look<'_, '_>, checks: &mut Checks) -> Result<Ruling> {
    let found = measured(look.masked, &look.rankings, Hide::Rest)?;
    let failure = failure(&found, &look.noun(2));
    checks.sufficiency = Some(found);
    Ok(failure.into())
}

fn failure(found: &Erasure, nouns: &str) -> Option<String> {
    let Compared { own, random, .. } = Compared::of(found)?;
    (own >= random).then(|| {
        let (own, random) = (figure(own), figure(random));
        format!("F falls by {own} with nothing but the top {nouns}, by {random} with random {nouns}: they do not suffice")
    })
}
