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

/// The sites' varying part where they are alike but for one (`layer.3.out` → `3`), else the numbers of layers or letters, with a key.
pub(crate) struct Heads {
    /// The head of each site's column.
    pub(crate) heads: Vec<String>,
    /// What the heads stand for.
    pub(crate) key: String,
}

/// What is explained, how, and at how many sites.
pub(crate) fn asked(map: &Map) -> String {
    let Subject { target, value, method, .. } = &map.subject;
    format!(
        "{} = {} by {method} at {}",
        crate::sense::explained(target),
        figure(*value),
        count(map.layers.len(), "site")
    )
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

/// Heads for the columns of these sites. Layers have their own numbers, which begin with 0; letters stand for what has none.
fn heads(sites: &[&str]) -> Heads {
    one_varies(sites).or_else(|| layers(sites)).unwrap_or_else(|| {
        let heads: Vec<String> = (0..sites.len()).map(letters).collect();
        let key: Vec<_> = heads.iter().zip(sites).map(|(head, site)| format!("{head} {site}")).collect();
        Heads { heads, key: key.join(", ") }
    })
}

/// a to z, then aa, ab and so on.
fn letters(index: usize) -> String {
    let last = char::from(b'a' + (index % 26) as u8);
    match index / 26 {
        0 => last.to_string(),
        before => format!("{}{last}", letters(before - 1)),
    }
}

/// `layer.N.out` by their numbers, and what stands before and behind them by the last part of its name.
///
/// A report outlives the model and holds sites by their names alone, so that their spelling is read here, for the width of a column and
/// nothing else. A site that is spelled otherwise gets a letter.
fn layers(sites: &[&str]) -> Option<Heads> {
    let of_layer = |site: &str| {
        let (number, rest) = site.strip_prefix("layer.")?.split_once('.')?;
        number.parse::<usize>().ok().map(|_| (number.to_owned(), rest.to_owned()))
    };
    let numbered: Vec<(String, String)> = sites.iter().filter_map(|site| of_layer(site)).collect();
    let (_, rest) = numbered.first()?;
    if numbered.iter().any(|(_, other)| other != rest) {
        return None;
    }
    let name = |site: &&str| of_layer(site).map_or_else(|| last(site).to_owned(), |(number, _)| number);
    let heads: Vec<String> = sites.iter().map(name).collect();
    let unlike = |(at, head): (usize, &String)| head.chars().count() <= WIDEST && !heads[..at].contains(head);
    if !heads.iter().enumerate().all(unlike) {
        return None;
    }
    let mut key: Vec<String> = Vec::new();
    for (head, site) in heads.iter().zip(sites) {
        let told = match of_layer(site) {
            Some(_) => format!("N layer.N.{rest}"),
            None if head == site => head.clone(),
            None => format!("{head} {site}"),
        };
        if !key.contains(&told) {
            key.push(told);
        }
    }
    Some(Heads { heads, key: key.join(", ") })
}

/// The widest head of a column, in letters.
const WIDEST: usize = 5;

fn last(site: &str) -> &str {
    site.rsplit('.').next().unwrap_or(site)
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
            (&["embed", "layer.0.out"], &["embed", "0"], "embed, N layer.N.out"),
            (
                &["embed.word", "layer.0.out", "layer.1.out"],
                &["word", "0", "1"],
                "word embed.word, N layer.N.out",
            ),
            (&["embed"], &["a"], "a embed"),
            (&["layer.0.out", "layer.1.attn.out"], &["a", "b"], "a layer.0.out, b layer.1.attn.out"),
            (&["a.very", "a.longest"], &["a", "b"], "a a.very, b a.longest"),
            (&[], &[], ""),
        ] {
            let Heads { heads, key: found } = heads(sites);
            assert_eq!((heads, found.as_str()), (expected.iter().map(|s| (*s).to_owned()).collect(), key));
        }
        assert_eq!([0, 25, 26, 51, 52, 702].map(letters), ["a", "z", "aa", "az", "ba", "aaa"]);
    }
}
