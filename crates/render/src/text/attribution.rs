//! Scores of one text: in the text, of the strongest units, and how far they can be trusted.

use super::screen::Screen;
use super::{card, compare, heat, units};
use crate::headline::asked;
use exegete_core::report::{Attribution, Provenance};

/// One method by itself, several side by side.
pub(super) fn attributions(screen: &mut Screen, members: &[&Attribution], provenance: &Provenance) {
    let [attribution] = members else { return compare::compare(screen, members, provenance) };
    super::header(screen, &attribution.subject, &asked(members), provenance);
    super::verdict(screen, attribution.checks.verdict.as_ref());
    super::doubts(screen, 0, attribution);
    screen.blank();
    heat::passages(screen, attribution);
    screen.blank();
    units::top(screen, attribution);
    card::card(screen, attribution);
}
