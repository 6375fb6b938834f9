//! Tokens × sites as a heat map, with how each token's score is spread.

mod spread;

use super::heat::ground;
use crate::figures::{count, figure, percent, signed};
use crate::markup::{Escaped, minus};
use crate::scale::{Scale, strongest};
use crate::sites::{Heads, heads};
use exegete_core::report::{Map, MapLayer, Provenance};

/// How many tokens are shown, in the order of the text.
const LISTED: usize = 256;

/// Header, grid, and the spread of each layer.
pub(super) fn map(map: &Map, provenance: &Provenance) -> String {
    let subject = &map.subject;
    let scale = Scale::new(map.layers.iter().flat_map(|layer| &layer.token_values));
    let listed = strongest(map.tokens.len(), LISTED, |token| {
        let value =
            |layer: &MapLayer| layer.token_values.get(token).map_or(0.0, |v| scale.strength(*v).abs());
        map.layers.iter().map(value).fold(0.0, f64::max)
    });
    [
        super::header(subject, &crate::headline::asked_map(map), provenance),
        grid(map, scale, &listed),
        super::heat::legend(&subject.target),
        spread::spreads(map, &listed),
        super::params(subject),
    ]
    .concat()
}

fn grid(map: &Map, scale: Scale, listed: &[usize]) -> String {
    let sites: Vec<&str> = map.layers.iter().map(|layer| layer.site.as_str()).collect();
    let Heads { heads, key } = heads(&sites);
    let head =
        |(head, site): (&String, &&str)| format!("<th title=\"{}\">{}</th>", Escaped(site), Escaped(head));
    let heads: String = heads.iter().zip(&sites).map(head).collect();
    let row = |token: &usize| {
        let cells: String = map.layers.iter().map(|layer| cell(layer, scale, *token)).collect();
        format!("<tr><th scope=\"row\"><bdi>{}</bdi></th>{cells}</tr>\n", Escaped(&map.tokens[*token].piece))
    };
    let rows: String = listed.iter().map(row).collect();
    let more = match map.tokens.len() - listed.len() {
        0 => String::new(),
        more => format!("<p class=\"soft\">and {}</p>\n", count(more, "weaker token")),
    };
    format!(
        "<div class=\"wide\"><table class=\"map\">\n<thead><tr><th></th>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n\
         <tfoot>\n{}</tfoot>\n</table></div>\n{more}<p class=\"soft\">columns: {}; the largest score is {}; entropy in bits</p>\n",
        feet(map),
        Escaped(&key),
        figure(scale.largest())
    )
}

fn cell(layer: &MapLayer, scale: Scale, token: usize) -> String {
    let Some(value) = layer.token_values.get(token) else { return "<td></td>".to_owned() };
    let mark = match scale.level(*value) {
        0 => "",
        level if level < 0 => "−",
        _ => "+",
    };
    let title = format!("{}: {}", layer.site, minus(&signed(*value, 4)));
    let ground = ground(scale.strength(*value)).unwrap_or_default();
    format!("<td {ground} title=\"{}\">{mark}</td>", Escaped(&title))
}

/// Entropy, as a number over a bar, and gap of each layer.
fn feet(map: &Map) -> String {
    let most = map.layers.iter().map(|layer| layer.entropy).filter(|e| e.is_finite()).fold(0.0, f64::max);
    let entropy = |layer: &MapLayer| {
        let share = if most > 0.0 { (100.0 * layer.entropy / most).clamp(0.0, 100.0) } else { 0.0 };
        format!("<td>{:.1}<i class=\"level\" style=\"width:{share:.0}%\"></i></td>", layer.entropy)
    };
    let entropies: String = map.layers.iter().map(entropy).collect();
    let mut feet = format!("<tr><th scope=\"row\">entropy</th>{entropies}</tr>\n");
    if map.layers.iter().any(|layer| layer.completeness.is_some()) {
        let gap = |layer: &MapLayer| {
            let gap = layer.completeness.as_ref().map_or_else(String::new, |c| percent(c.gap));
            format!("<td>{gap}</td>")
        };
        let gaps: String = map.layers.iter().map(gap).collect();
        feet += &format!("<tr><th scope=\"row\">gap</th>{gaps}</tr>\n");
    }
    feet
}
