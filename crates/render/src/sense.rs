//! What scores say, in the words of legends.

use exegete_core::report::{Attribution, Sense};

/// What is explained, as people say it: a loss is shown with its sign turned, so that more is better as everywhere.
pub(crate) fn explained(target: &str) -> &str {
    if target == "loss" { "minus the loss" } else { target }
}

/// How scores are read that have no sign.
pub(crate) fn without_sign(sense: Sense) -> Option<&'static str> {
    match sense {
        Sense::ForAndAgainst => None,
        Sense::HowMuch => Some("how much, not which way"),
        Sense::SameForEveryClass => Some("how much, not which way; the same for every class"),
    }
}

/// The same for scores side by side: one reading that all share, or which of them have no sign.
pub(crate) enum SharedSense<'a> {
    /// All are read alike.
    Alike(Sense),
    /// Some speak for and against; these methods do not.
    Mixed(Vec<(&'a str, &'static str)>),
}

/// How scores side by side are read.
pub(crate) fn reading<'a>(members: &[&'a Attribution]) -> SharedSense<'a> {
    let first = members.first().map_or_else(Sense::default, |member| member.subject.sense);
    if members.iter().all(|member| member.subject.sense == first) {
        return SharedSense::Alike(first);
    }
    let mut unsigned: Vec<(&str, &str)> = Vec::new();
    for member in members {
        let told = without_sign(member.subject.sense).map(|words| (member.subject.method.as_str(), words));
        unsigned.extend(told.filter(|told| !unsigned.contains(told)));
    }
    SharedSense::Mixed(unsigned)
}

/// What a legend adds about those without a sign: `; attention: how much, not which way`.
pub(crate) fn exceptions(read: &SharedSense<'_>) -> String {
    match read {
        SharedSense::Alike(_) => String::new(),
        SharedSense::Mixed(unsigned) => {
            unsigned.iter().map(|(method, words)| format!("; {method}: {words}")).collect()
        }
    }
}
