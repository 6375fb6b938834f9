//! Scores of one text: in the text, as bars, and how far they can be trusted.

use super::{bars, card, compare, doubts, header, heat, params, verdict};
use crate::headline::asked;
use crate::sense::SharedSense;
use exegete_core::report::{Attribution, Provenance};

/// One method by itself, several side by side.
pub(super) fn attributions(members: &[&Attribution], provenance: &Provenance) -> String {
    let [attribution] = members else { return compare::compare(members, provenance) };
    let Attribution { subject, checks, .. } = attribution;
    [
        header(subject, &asked(members), provenance),
        verdict(checks.verdict.as_ref()),
        doubts(attribution),
        heat::passages(attribution),
        heat::legend(&subject.target, &SharedSense::Alike(subject.sense), heat::LINES),
        bars::bars(attribution),
        card::card(attribution),
        params(subject),
    ]
    .concat()
}
