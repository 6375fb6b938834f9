//! Tokens × sites as a grid.

use super::{MARGIN, ROW, SIZE, Sheet, fill, head};
use crate::figures::figure;
use crate::map::{Heads, Shown, asked, shown};
use crate::measure::width;
use crate::plot::matrix;
use crate::scale::Scale;
use crate::sense::without_sign;
use exegete_core::report::{Map, MapLayer};

/// How many tokens are shown, in the order of the text.
const LISTED: usize = 256;
/// Between the tokens' names and their cells.
const GAP: f64 = 8.0;

/// The places where cells stand.
struct Frame {
    left: f64,
    step: f64,
}

/// One row a token, one column a site, entropies below.
pub(super) fn map(sheet: &mut Sheet, map: &Map) {
    head(sheet, &map.subject, &asked(map));
    if let Some(plot) = matrix(map) {
        return super::plot::put(sheet, &plot);
    }
    let Shown { scale, tokens, left_out, heads: Heads { heads, key } } = shown(map, LISTED);
    let name = |token: &usize| crate::visible::clipped(&map.tokens[*token].piece, 18);
    let names: Vec<String> = tokens.iter().map(name).collect();
    let left =
        MARGIN + names.iter().map(|name| width(name, SIZE)).fold(width("entropy", SIZE), f64::max) + GAP;
    let step = ((sheet.width - MARGIN - left) / map.layers.len().max(1) as f64).min(36.0);
    let frame = Frame { left, step };
    sheet.skip(4.0);
    frame.row(sheet, "", heads.iter().map(|head| (head.clone(), None)));
    for (token, name) in tokens.iter().zip(&names) {
        frame.row(sheet, name, map.layers.iter().map(|layer| cell(layer, scale, *token)));
    }
    frame.row(sheet, "entropy", map.layers.iter().map(|layer| (format!("{:.1}", layer.entropy), None)));
    if !left_out.is_empty() {
        sheet.caption(&left_out, 10.0, "normal");
    }
    let largest = figure(scale.largest());
    let read = without_sign(map.subject.sense).unwrap_or("+ for, − against");
    sheet.caption(&format!("columns: {key}; largest score {largest}; {read}"), 10.0, "normal");
}

/// The mark and the strength of a cell.
fn cell(layer: &MapLayer, scale: Scale, token: usize) -> (String, Option<f64>) {
    let value = layer.token_values.get(token).copied().unwrap_or(f64::NAN);
    let mark = match scale.level(value) {
        0 => "",
        level if level < 0 => "−",
        _ => "+",
    };
    (mark.to_owned(), Some(scale.strength(value)))
}

impl Frame {
    fn row(&self, sheet: &mut Sheet, name: &str, cells: impl Iterator<Item = (String, Option<f64>)>) {
        sheet.skip(ROW);
        if !name.is_empty() {
            sheet.text(self.left - GAP, "end", name);
        }
        for (index, (mark, strength)) in cells.enumerate() {
            let x = self.left + self.step * index as f64;
            if let Some(strength) = strength {
                self.ground(sheet, x, strength);
            }
            if !mark.is_empty() {
                sheet.text(x + self.step / 2.0, "middle", &mark);
            }
        }
    }

    /// Every cell has an outline, so that the grid can be seen where scores are weak.
    fn ground(&self, sheet: &mut Sheet, x: f64, strength: f64) {
        let (top, wide, high, fill) = (sheet.y - ROW, self.step, ROW, fill(strength));
        sheet.out += &format!(
            "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{wide:.1}\" height=\"{high:.1}\" stroke=\"#d5dbe1\" {fill}/>\n"
        );
    }
}
