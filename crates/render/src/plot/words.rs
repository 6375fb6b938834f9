//! Words on grounds by their weights, and beside them the same words by other weights.

use super::data::label;
use super::{Source, along};
use crate::scale::Scale;
use exegete_core::report::{Cell, Picture};
use serde_json::Value;

/// How many texts are shown.
const TEXTS: usize = 6;

/// One text by one or two weightings.
pub(crate) struct WeighedText {
    /// What the item says of the text; empty where the picture names nothing.
    pub(crate) name: String,
    /// Its words by each weighting.
    pub(crate) sides: Vec<Weighed>,
}

/// The words of one text with the weights of one side; more dark is more weight, alike on both sides.
pub(crate) struct Weighed {
    /// What the weights are.
    pub(crate) name: String,
    /// Each word with its weight and its strength from −1 to 1, one for the largest of the text's weights.
    pub(crate) words: Vec<(String, f64, f64)>,
}

/// The first texts of a picture, and how many more there are.
pub(crate) fn weighed(picture: &Picture, source: Source<'_>) -> (Vec<WeighedText>, usize) {
    let words = source.lists(&picture.x);
    let names = picture.series.as_ref().map(|series| source.column(series));
    let sides = [(&picture.y, &picture.y_title), (&picture.of, &picture.x_title)];
    let sides: Vec<(String, Vec<&[Value]>)> = sides
        .iter()
        .filter_map(|(field, title)| {
            let field = field.as_deref()?;
            Some((along(title.as_ref(), field), source.lists(field)))
        })
        .collect();
    let text = |(row, words): (usize, &&[Value])| {
        let name = match names.as_ref().map(|names| names.get(row)) {
            None => String::new(),
            Some(None | Some(Cell::Empty)) => return None,
            Some(Some(name)) => label(name),
        };
        let own = sides.iter().filter_map(|(name, lists)| {
            let weights = *lists.get(row)?;
            // Without a weight for each word there is nothing to show.
            (!words.is_empty() && words.len() == weights.len()).then_some((name, numbers(weights)))
        });
        let own: Vec<(&String, Vec<f64>)> = own.collect();
        let scale = Scale::new(own.iter().flat_map(|(_, weights)| weights));
        let sides: Vec<Weighed> =
            own.iter().map(|(name, weights)| Weighed::of(name, words, weights, scale)).collect();
        (!sides.is_empty()).then_some(WeighedText { name, sides })
    };
    let all: Vec<WeighedText> = words.iter().enumerate().filter_map(text).collect();
    let more = all.len().saturating_sub(TEXTS);
    (all.into_iter().take(TEXTS).collect(), more)
}

fn numbers(weights: &[Value]) -> Vec<f64> {
    weights.iter().map(|weight| weight.as_f64().unwrap_or(f64::NAN)).collect()
}

impl Weighed {
    fn of(name: &str, words: &[Value], weights: &[f64], scale: Scale) -> Self {
        let word = |(word, weight): (&Value, &f64)| {
            let word = word.as_str().map_or_else(|| word.to_string(), str::to_owned);
            (word, *weight, scale.strength(*weight))
        };
        Self { name: name.to_owned(), words: words.iter().zip(weights).map(word).collect() }
    }
}
