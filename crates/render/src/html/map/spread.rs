//! Box plots: how a token's score is spread over the units of a site.

use crate::figures::figure;
use crate::markup::{Escaped, minus};
use exegete_core::report::{Map, MapLayer, Spread};

const STEP: f64 = 18.0;
const HEIGHT: f64 = 110.0;
const LEFT: f64 = 52.0;
/// Room for the tokens' names below.
const NAMES: f64 = 58.0;

/// One strip of boxes a layer; nothing where no layer has any.
pub(super) fn spreads(map: &Map, listed: &[usize]) -> String {
    let strips: String = map.layers.iter().map(|layer| strip(map, layer, listed)).collect();
    if strips.is_empty() {
        return strips;
    }
    format!(
        "<details>\n<summary>spread of each token’s score over the units of each site</summary>\n{strips}</details>\n"
    )
}

fn strip(map: &Map, layer: &MapLayer, listed: &[usize]) -> String {
    let spreads: Vec<(usize, &Spread)> =
        listed.iter().filter_map(|token| Some((*token, layer.spread.get(*token)?))).collect();
    let ends = spreads.iter().flat_map(|(_, spread)| [spread.min, spread.max]).filter(|v| v.is_finite());
    let (low, high) = ends.fold((0.0, 0.0), |(low, high), v| (f64::min(low, v), f64::max(high, v)));
    if high <= low {
        return String::new();
    }
    let y = |value: f64| 6.0 + (high - value.clamp(low, high)) / (high - low) * (HEIGHT - 12.0);
    let boxes: String = spreads
        .iter()
        .enumerate()
        .map(|(place, (token, spread))| {
            let x = LEFT + STEP * (place as f64 + 0.5);
            boxed(x, spread, &y) + &name(x, &map.tokens[*token].piece)
        })
        .collect();
    let (width, zero) = (LEFT + STEP * spreads.len() as f64 + 8.0, y(0.0));
    let tick = |value: f64| {
        format!(
            "<text class=\"end\" x=\"{}\" y=\"{:.1}\">{}</text>",
            LEFT - 6.0,
            y(value) + 3.5,
            minus(&figure(value))
        )
    };
    let ticks: String =
        [low, high].into_iter().filter(|v| (y(*v) - zero).abs() > 12.0).chain([0.0]).map(tick).collect();
    let total = HEIGHT + NAMES;
    format!(
        "<h3>{}</h3>\n<div class=\"wide\"><svg class=\"spread\" width=\"{width}\" height=\"{total}\" viewBox=\"0 0 {width} {total}\">\
         <line class=\"zero\" x1=\"{LEFT}\" y1=\"{zero:.1}\" x2=\"{width}\" y2=\"{zero:.1}\"/>{ticks}{boxes}</svg></div>\n",
        Escaped(&layer.site)
    )
}

fn boxed(x: f64, spread: &Spread, y: &dyn Fn(f64) -> f64) -> String {
    let Spread { min, lower, median, upper, max, entropy } = *spread;
    if [min, lower, median, upper, max].iter().any(|v| !v.is_finite()) {
        return String::new();
    }
    let numbers: Vec<String> = [min, lower, median, upper, max].iter().map(|v| minus(&figure(*v))).collect();
    let (top, middle, bottom) = (y(upper), y(median), y(lower));
    format!(
        "<g><title>{}; entropy {entropy:.1}</title><line class=\"stem\" x1=\"{x}\" y1=\"{:.1}\" x2=\"{x}\" y2=\"{:.1}\"/>\
         <rect x=\"{}\" y=\"{top:.1}\" width=\"10\" height=\"{:.1}\"/>\
         <line class=\"median\" x1=\"{}\" y1=\"{middle:.1}\" x2=\"{}\" y2=\"{middle:.1}\"/></g>",
        numbers.join(" … "),
        y(max),
        y(min),
        x - 5.0,
        (bottom - top).max(0.5),
        x - 5.0,
        x + 5.0
    )
}

fn name(x: f64, piece: &str) -> String {
    let y = HEIGHT + 10.0;
    let piece = crate::visible::clipped(piece, 10);
    format!("<text class=\"name\" transform=\"translate({x} {y}) rotate(-55)\">{}</text>", Escaped(&piece))
}
