//! What every picture of a map needs: its scale, the tokens that are shown, short heads for its columns.

use crate::figures::{count, figure};
use crate::scale::{Scale, strongest};
use exegete_core::report::{Map, MapLayer, Subject};

/// A map as it is shown.
pub(crate) struct Shown {
    /// Of all its scores.
    pub(crate) scale: Scale,
    /// Tokens in the order of the text.
    pub(crate) tokens: Vec<usize>,
    /// Says how many tokens are left out; empty where none is.
    pub(crate) left_out: String,
    /// The heads of the columns.
    pub(crate) heads: Heads,
}

/// The sites' varying part where they are alike but for one (`layer.3.out` → `3`), else numbers from 1 with a key.
pub(crate) struct Heads {
    /// The head of each site's column.
    pub(crate) heads: Vec<String>,
    /// What the heads stand for.
    pub(crate) key: String,
}

/// What is explained, how, and at how many sites.
pub(crate) fn asked(map: &Map) -> String {
    let Subject { target, value, method, .. } = &map.subject;
    format!("{target} = {} by {method} at {}", figure(*value), count(map.layers.len(), "site"))
}

/// The map with at most `limit` tokens, the strongest.
pub(crate) fn shown(map: &Map, limit: usize) -> Shown {
    let scale = Scale::new(map.layers.iter().flat_map(|layer| &layer.token_values));
    let tokens = strongest(map.tokens.len(), limit, |token| {
        let size = |layer: &MapLayer| layer.token_values.get(token).map_or(0.0, |v| scale.strength(*v).abs());
        map.layers.iter().map(size).fold(0.0, f64::max)
    });
    let left_out = match map.tokens.len() - tokens.len() {
        0 => String::new(),
        more => format!("and {}", count(more, "weaker token")),
    };
    let sites: Vec<&str> = map.layers.iter().map(|layer| layer.site.as_str()).collect();
    Shown { scale, tokens, left_out, heads: heads(&sites) }
}

/// Heads for the columns of these sites.
fn heads(sites: &[&str]) -> Heads {
    one_varies(sites).unwrap_or_else(|| {
        let numbered = |(index, site): (usize, &&str)| format!("{} {site}", index + 1);
        let key: Vec<_> = sites.iter().enumerate().map(numbered).collect();
        Heads { heads: (1..=sites.len()).map(|n| n.to_string()).collect(), key: key.join(", ") }
    })
}

fn one_varies(sites: &[&str]) -> Option<Heads> {
    let split: Vec<Vec<&str>> = sites.iter().map(|site| site.split('.').collect()).collect();
    let first = split.first()?;
    if split.len() < 2 || split.iter().any(|parts| parts.len() != first.len()) {
        return None;
    }
    let varies = |at: &usize| split.iter().any(|parts| parts[*at] != first[*at]);
    let varying: Vec<usize> = (0..first.len()).filter(varies).collect();
    let &[at] = varying.as_slice() else { return None };
    let heads: Vec<String> = split.iter().map(|parts| parts[at].to_owned()).collect();
    if heads.iter().any(|head| head.chars().count() > 4) {
        return None;
    }
    let mut pattern = first.clone();
    pattern[at] = "N";
    Some(Heads { heads, key: pattern.join(".") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_what_varies() {
        for (sites, expected, key) in [
            (&["layer.0.out", "layer.11.out"][..], &["0", "11"][..], "layer.N.out"),
            (&["embed", "layer.0.out"], &["1", "2"], "1 embed, 2 layer.0.out"),
            (&["embed"], &["1"], "1 embed"),
            (&["layer.0.out", "layer.1.attn.out"], &["1", "2"], "1 layer.0.out, 2 layer.1.attn.out"),
            (&["a.very", "a.longest"], &["1", "2"], "1 a.very, 2 a.longest"),
            (&[], &[], ""),
        ] {
            let Heads { heads, key: found } = heads(sites);
            assert_eq!((heads, found.as_str()), (expected.iter().map(|s| (*s).to_owned()).collect(), key));
        }
    }
}
