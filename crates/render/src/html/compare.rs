//! Several methods over one text, side by side.

use super::{card, doubts, heat, notes, params, verdict};
use crate::figures::{column_decimals, count, error, signed};
use crate::groups::{beside, names, own_notes};
use crate::markup::{Escaped, minus};
use crate::scale::Scale;
use crate::sense::reading;
use exegete_core::report::{Attribution, Provenance};

/// How many units are listed, in the order of the text.
const LISTED: usize = 100;

/// One header; the text, the verdict and the card of each method in a column; a table of units and methods.
pub(super) fn compare(members: &[&Attribution], provenance: &Provenance) -> String {
    let Some(first) = members.first() else { return String::new() };
    let names = names(members);
    let header = super::header(&first.subject, &crate::headline::asked(members), provenance);
    let columns = |part: &dyn Fn(&Attribution, &str) -> String| {
        let column =
            |(member, name): (&&Attribution, &String)| format!("<div>\n{}</div>\n", part(member, name));
        format!(
            "<div class=\"columns\">\n{}</div>\n",
            members.iter().zip(&names).map(column).collect::<String>()
        )
    };
    let texts = columns(&|member, name| {
        let name = format!("<h2>{}</h2>\n", Escaped(name));
        let notes = notes(&own_notes(member, first));
        let judged = verdict(member.checks.verdict.as_ref());
        [name, notes, judged, doubts(member), heat::passages(member)].concat()
    });
    let cards = columns(&|member, name| {
        let sampled = crate::headline::sampled(&member.subject);
        let sampled = sampled.strip_prefix(", ").map(|told| format!(" <small>{told}</small>"));
        let name = format!("<h2>{}{}</h2>\n", Escaped(name), sampled.unwrap_or_default());
        [name, card::card(member), params(&member.subject)].concat()
    });
    let legend = heat::legend(&first.subject.target, &reading(members), heat::LINES);
    [header, texts, legend, table(members, &names), cards].concat()
}

fn table(members: &[&Attribution], names: &[String]) -> String {
    let units = &members[0].units;
    let (scales, listed) = beside(members, LISTED);
    let heads: String =
        names.iter().map(|name| format!("<th class=\"number\">{}</th>", Escaped(name))).collect();
    let row = |unit: &usize| {
        let cells: String =
            members.iter().zip(&scales).map(|(member, scale)| cell(member, *scale, *unit)).collect();
        format!("<tr><td><bdi>{}</bdi></td>{cells}</tr>\n", Escaped(&units[*unit].text))
    };
    let rows: String = listed.iter().map(row).collect();
    let more = match units.len() - listed.len() {
        0 => String::new(),
        more => format!("<p class=\"soft\">and {}</p>\n", count(more, "weaker unit")),
    };
    format!(
        "<div class=\"wide\"><table class=\"compare\">\n<thead><tr><th>unit</th>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n\
         </table></div>\n{more}"
    )
}

/// The ground is by the largest of each method, since their scales differ.
fn cell(member: &Attribution, scale: Scale, unit: usize) -> String {
    let value = member.values.get(unit).copied().unwrap_or(f64::NAN);
    let decimals = column_decimals(scale.largest());
    let number = minus(&signed(value, decimals));
    let error = member
        .errors
        .get(unit)
        .map_or_else(String::new, |own| format!(" <span class=\"soft\">{}</span>", error(*own, decimals)));
    match heat::ground(scale.strength(value)) {
        Some(ground) => format!("<td class=\"number\"><span {ground}>{number}</span>{error}</td>"),
        None => format!("<td class=\"number\">{number}{error}</td>"),
    }
}
