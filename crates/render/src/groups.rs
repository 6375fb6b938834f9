//! Which items of a report are shown together.

use crate::scale::{Scale, strongest};
use exegete_core::report::{Attribution, Item, Report};

/// What is shown as one thing.
pub(crate) struct Group<'a> {
    /// The first item of it.
    pub(crate) item: &'a Item,
    /// Where that is an attribution: it, and others of the same text to be shown beside it.
    pub(crate) members: Vec<&'a Attribution>,
}

/// The items in order; scores over the same units of the same text stand where the first of them does.
pub(crate) fn groups(report: &Report) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for item in &report.items {
        let Item::Attribution(attribution) = item else {
            groups.push(Group { item, members: Vec::new() });
            continue;
        };
        match groups.iter_mut().find(|group| companions(group, attribution)) {
            Some(group) => group.members.push(attribution),
            None => groups.push(Group { item, members: vec![attribution] }),
        }
    }
    groups
}

fn companions(group: &Group<'_>, new: &Attribution) -> bool {
    group.members.first().is_some_and(|first| {
        first.subject.input == new.subject.input
            && first.units == new.units
            && first.subject.prediction == new.subject.prediction
    })
}

/// The scale of each of some attributions over the same units, and at most `limit` units in the order of the text: those
/// that are strong in any of them.
pub(crate) fn beside(members: &[&Attribution], limit: usize) -> (Vec<Scale>, Vec<usize>) {
    let scales: Vec<Scale> = members.iter().map(|member| Scale::new(&member.values)).collect();
    let units = members.first().map_or(0, |first| first.units.len());
    let strongest = strongest(units, limit, |unit| {
        let value = |member: &Attribution| member.values.get(unit).copied().unwrap_or(0.0);
        members
            .iter()
            .zip(&scales)
            .map(|(member, scale)| scale.strength(value(member)).abs())
            .fold(0.0, f64::max)
    });
    (scales, strongest)
}

/// What the reader must know of one attribution that the first, whose notes stand above all, does not say.
pub(crate) fn own_notes(member: &Attribution, first: &Attribution) -> Vec<String> {
    let said = &first.subject.notes;
    member.subject.notes.iter().filter(|note| !said.contains(note)).cloned().collect()
}

/// What tells attributions of one text apart: the method, and the target or the site where those differ.
pub(crate) fn names(members: &[&Attribution]) -> Vec<String> {
    let differ = |key: &dyn Fn(&Attribution) -> &str| members.iter().any(|m| key(m) != key(members[0]));
    let method = differ(&|m| &m.subject.method);
    let target = differ(&|m| &m.subject.target);
    let site = differ(&|m| &m.site);
    let name = |member: &&Attribution| {
        let mut parts = Vec::new();
        if method || !(target || site) {
            parts.push(member.subject.method.as_str());
        }
        parts.extend(target.then_some(member.subject.target.as_str()));
        parts.extend(site.then_some(member.site.as_str()));
        parts.join(" ")
    };
    let names: Vec<String> = members.iter().map(name).collect();
    let numbered = |(index, name): (usize, &String)| {
        let twins = names.iter().filter(|other| *other == name).count();
        if twins > 1 { format!("{name} {}", index + 1) } else { name.clone() }
    };
    names.iter().enumerate().map(numbered).collect()
}
