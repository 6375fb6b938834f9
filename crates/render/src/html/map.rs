//! Tokens × sites as a heat map, with how each token's score is spread.

mod spread;

use super::heat::ground;
use crate::figures::{figure, percent, signed};
use crate::map::{Heads, Shown, shown};
use crate::markup::{Escaped, minus};
use crate::plot::matrix;
use crate::scale::Scale;
use exegete_core::report::{Map, MapLayer, Provenance};

/// How many tokens are shown, in the order of the text.
const LISTED: usize = 256;

/// Header, grid, and the spread of each layer.
pub(super) fn map(map: &Map, provenance: &Provenance) -> String {
    let subject = &map.subject;
    if let Some(plot) = matrix(map) {
        return [
            super::header(subject, &crate::map::asked(map), provenance),
            format!("<div class=\"plots\">\n{}</div>\n", super::plot::figure_of(&plot)),
            super::params(subject),
        ]
        .concat();
    }
    let shown = shown(map, LISTED);
    [
        super::header(subject, &crate::map::asked(map), provenance),
        grid(map, &shown),
        super::heat::legend(&subject.target, &crate::sense::SharedSense::Alike(subject.sense), ["−", "+"]),
        spread::spreads(map, &shown.tokens),
        super::params(subject),
    ]
    .concat()
}

fn grid(map: &Map, shown: &Shown) -> String {
    let Shown { scale, tokens, left_out, heads: Heads { heads, key } } = shown;
    let head = |(head, layer): (&String, &MapLayer)| {
        format!("<th title=\"{}\">{}</th>", Escaped(&layer.site), Escaped(head))
    };
    let heads: String = heads.iter().zip(&map.layers).map(head).collect();
    let row = |token: &usize| {
        let cells: String = map.layers.iter().map(|layer| cell(layer, *scale, *token)).collect();
        format!("<tr><th scope=\"row\"><bdi>{}</bdi></th>{cells}</tr>\n", Escaped(&map.tokens[*token].piece))
    };
    let rows: String = tokens.iter().map(row).collect();
    let more =
        if left_out.is_empty() { String::new() } else { format!("<p class=\"soft\">{left_out}</p>\n") };
    format!(
        "<div class=\"wide\"><table class=\"map\">\n<thead><tr><th></th>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n\
         <tfoot>\n{}</tfoot>\n</table></div>\n{more}\
         <p class=\"soft\">columns: {}; the largest score is {}; entropy in bits</p>\n",
        feet(map),
        Escaped(key),
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
