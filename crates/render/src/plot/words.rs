//! Words on grounds by their weights, and beside them the same words by other weights.

use super::{Source, along};
use exegete_core::report::Picture;
use serde_json::Value;

/// How many texts are shown.
const TEXTS: usize = 6;

/// The words of one text with the weights of one side; more dark is more weight.
pub(crate) struct Weighed {
    /// What the weights are.
    pub(crate) name: String,
    /// Each word with its weight and its strength from −1 to 1, one for the largest of this side.
    pub(crate) words: Vec<(String, f64, f64)>,
}

/// The first texts of a picture, each by one or two weightings, and how many more there are.
pub(crate) fn weighed(picture: &Picture, source: Source<'_>) -> (Vec<Vec<Weighed>>, usize) {
    let words = source.lists(&picture.x);
    let sides = [(&picture.y, &picture.y_title), (&picture.of, &picture.x_title)];
    let sides: Vec<(String, Vec<&[Value]>)> = sides
        .iter()
        .filter_map(|(field, title)| {
            let field = field.as_deref()?;
            Some((along(title.as_ref(), field), source.lists(field)))
        })
        .collect();
    let text = |(row, words): (usize, &&[Value])| {
        let side = |(name, lists): &(String, Vec<&[Value]>)| Weighed::of(name, words, lists.get(row)?);
        sides.iter().filter_map(side).collect::<Vec<_>>()
    };
    let all: Vec<Vec<Weighed>> =
        words.iter().enumerate().map(text).filter(|sides| !sides.is_empty()).collect();
    let more = all.len().saturating_sub(TEXTS);
    (all.into_iter().take(TEXTS).collect(), more)
}

impl Weighed {
    /// None where there is no weight for each word.
    fn of(name: &str, words: &[Value], weights: &[Value]) -> Option<Self> {
        if words.is_empty() || words.len() != weights.len() {
            return None;
        }
        let weights: Vec<f64> = weights.iter().map(|weight| weight.as_f64().unwrap_or(f64::NAN)).collect();
        let scale = crate::scale::Scale::new(&weights);
        let word = |(word, weight): (&Value, &f64)| {
            let word = word.as_str().map_or_else(|| word.to_string(), str::to_owned);
            (word, *weight, scale.strength(*weight))
        };
        Some(Self { name: name.to_owned(), words: words.iter().zip(&weights).map(word).collect() })
    }
}
