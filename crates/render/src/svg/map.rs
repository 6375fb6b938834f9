//! Tokens × sites as a grid.

use super::measure::width;
use super::{MARGIN, Sheet, fill};
use crate::figures::{count, figure};
use crate::markup::Escaped;
use crate::scale::{Scale, strongest};
use crate::sites::{Heads, heads};
use exegete_core::report::{Map, MapLayer};

/// How many tokens are shown, in the order of the text.
const LISTED: usize = 256;
const ROW: f64 = 20.0;
const SIZE: f64 = 12.0;

/// One row a token, one column a site, entropies below.
pub(super) fn map(sheet: &mut Sheet, map: &Map) {
    let sites: Vec<&str> = map.layers.iter().map(|layer| layer.site.as_str()).collect();
    let Heads { heads, key } = heads(&sites);
    let scale = Scale::new(map.layers.iter().flat_map(|layer| &layer.token_values));
    let listed = strongest(map.tokens.len(), LISTED, |token| {
        let value =
            |layer: &MapLayer| layer.token_values.get(token).map_or(0.0, |v| scale.strength(*v).abs());
        map.layers.iter().map(value).fold(0.0, f64::max)
    });
    let names: Vec<String> =
        listed.iter().map(|token| crate::visible::clipped(&map.tokens[*token].piece, 18)).collect();
    let left =
        MARGIN + names.iter().map(|name| width(name, SIZE)).fold(width("entropy", SIZE), f64::max) + 8.0;
    let step = ((sheet.width - MARGIN - left) / map.layers.len().max(1) as f64).min(36.0);
    row(sheet, "", left, step, heads.iter().map(|head| (head.clone(), 0.0)));
    for (token, name) in listed.iter().zip(&names) {
        row(sheet, name, left, step, map.layers.iter().map(|layer| cell(layer, scale, *token)));
    }
    row(sheet, "entropy", left, step, map.layers.iter().map(|layer| (format!("{:.1}", layer.entropy), 0.0)));
    if map.tokens.len() > listed.len() {
        sheet.caption(
            &format!("and {}", count(map.tokens.len() - listed.len(), "weaker token")),
            10.0,
            "normal",
        );
    }
    let largest = figure(scale.largest());
    sheet.caption(&format!("columns: {key}; largest score {largest}; + for, − against"), 10.0, "normal");
}

fn cell(layer: &MapLayer, scale: Scale, token: usize) -> (String, f64) {
    let value = layer.token_values.get(token).copied().unwrap_or(f64::NAN);
    let mark = match scale.level(value) {
        0 => "",
        level if level < 0 => "−",
        _ => "+",
    };
    (mark.to_owned(), scale.strength(value))
}

fn row(sheet: &mut Sheet, name: &str, left: f64, step: f64, cells: impl Iterator<Item = (String, f64)>) {
    sheet.y += ROW;
    let (y, middle) = (sheet.y, sheet.y - ROW / 2.0 + SIZE * 0.35);
    let text = |x: f64, anchor: &str, text: &str| {
        format!(
            "<text x=\"{x:.1}\" y=\"{middle:.1}\" font-size=\"{SIZE}\" text-anchor=\"{anchor}\" fill=\"#222\">{}</text>\n",
            Escaped(text)
        )
    };
    if !name.is_empty() {
        sheet.out += &text(left - 8.0, "end", name);
    }
    for (index, (mark, strength)) in cells.enumerate() {
        let x = left + step * index as f64;
        if strength.abs() >= 0.02 {
            let (top, wide, high) = (y - ROW + 0.5, step - 1.0, ROW - 1.0);
            sheet.out += &format!(
                "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{wide:.1}\" height=\"{high:.1}\" {}/>\n",
                fill(strength)
            );
        }
        if !mark.is_empty() {
            sheet.out += &text(x + step / 2.0, "middle", &mark);
        }
    }
}
