//! A map as rows: one for each token at each site.

use super::{Row, number, word};
use exegete_core::report::{Map, MapLayer, Spread, TokenText};

pub(super) const HEAD: [&str; 17] = [
    "item", "method", "target", "site", "token", "piece", "text", "field", "start", "end", "value", "min",
    "lower", "median", "upper", "max", "entropy",
];

/// Site by site, in the order of computation.
pub(super) fn rows(item: usize, map: &Map) -> Vec<Row> {
    map.layers.iter().flat_map(|layer| self::layer(item, map, layer)).collect()
}

fn layer(item: usize, map: &Map, layer: &MapLayer) -> Vec<Row> {
    let row = |(index, token): (usize, &TokenText)| {
        let subject = &map.subject;
        let head = [item.to_string(), word(&subject.method), word(&subject.target), word(&layer.site)];
        let name = token
            .field
            .and_then(|field| subject.input.get(field))
            .map_or_else(String::new, |f| word(&f.name));
        let [start, end] =
            [token.start, token.end].map(|at| at.map_or_else(String::new, |at| at.to_string()));
        let text = token.text.as_deref().map_or_else(String::new, word);
        let value = layer.token_values.get(index).map_or_else(String::new, |v| number(*v));
        let token = [index.to_string(), word(&token.piece), text, name, start, end, value];
        head.into_iter().chain(token).chain(spread(layer.spread.get(index))).collect()
    };
    map.tokens.iter().enumerate().map(row).collect()
}

fn spread(spread: Option<&Spread>) -> [String; 6] {
    spread
        .map_or_else(Default::default, |s| [s.min, s.lower, s.median, s.upper, s.max, s.entropy].map(number))
}
