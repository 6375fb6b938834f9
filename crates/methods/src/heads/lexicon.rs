//! What words are worth to attention over all their places in a corpus: the score before the softmax, and how far the word's
//! state speaks for a class. X. Sun, W. Lu, *Understanding attention for text classification*, 2020.

use crate::debate::look::{linear_heads, look};
use crate::debate::{Place, TestedText};
use crate::statistics::interval::{deviation, mean};
use exegete_core::{Array, Driver, Error, Model, Pass, Plan, Readout, Result, Row, Site};
use std::collections::BTreeMap;

/// The two scores of one place of a word.
#[derive(Debug, Clone, PartialEq)]
pub struct WordPlace {
    /// The word as the model's vocabulary has it.
    pub word: String,
    /// What the softmax takes.
    pub attention: f64,
    /// How far its state speaks for the class against the others; none of a transformer.
    pub polarity: Option<f64>,
}

/// The scores of a word over its places.
#[derive(Debug, Clone, PartialEq)]
pub struct WordScores {
    /// The word as the vocabulary writes it.
    pub word: String,
    /// Its mean attention score.
    pub attention: f64,
    /// The mean of its polarity over all places.
    pub polarity: Option<f64>,
    /// How many places it has.
    pub count: usize,
    /// The standard deviation of the attention score.
    pub sd_attention: f64,
    /// The standard deviation of the polarity.
    pub sd_polarity: Option<f64>,
}

/// Reads the scores before the softmax.
struct Scores(Site);

impl Readout for Scores {
    type Value = Array;

    fn plan(&self) -> Plan {
        Plan::keep([self.0])
    }

    fn read(&self, rows: &[Row], pass: &dyn Pass) -> Result<Vec<Array>> {
        (0..rows.len()).map(|row| pass.value(self.0, row)).collect()
    }
}

/// The scores of every word of some texts; `class` is the one that polarity speaks for.
pub fn places(
    model: &dyn Model,
    driver: &Driver,
    place: &Place,
    texts: &[TestedText],
    class: usize,
) -> Result<Vec<WordPlace>> {
    let site = scores_of(model, place)?;
    let rows: Vec<Row> = texts.iter().map(|text| Row::new(text.encoded.clone())).collect();
    let scores = driver.read_all(model, &rows, &Scores(site))?;
    let polarities = match place.is_transformer() {
        true => texts.iter().map(|text| vec![None; text.parts.names.len()]).collect(),
        false => polarities(model, driver, place, texts, class)?,
    };
    let mut found = Vec::new();
    for ((text, scores), polarities) in texts.iter().zip(&scores).zip(polarities) {
        for (w, polarity) in polarities.into_iter().enumerate() {
            let attention = score(place, scores, &text.parts.places[w], text.encoded.len());
            found.push(WordPlace { word: written(place, text, w), attention, polarity });
        }
    }
    Ok(found)
}

/// The site beside the weights where the scores are before the softmax.
fn scores_of(model: &dyn Model, place: &Place) -> Result<Site> {
    let none = || {
        Error::Unsupported(format!(
            "{} has no scores before the softmax of {}; attention words needs learned attention over words",
            model.card().name,
            place.site
        ))
    };
    if place.noun() != "words" {
        return Err(none());
    }
    model.require_open()?.sites().scores_of(place.site).ok_or_else(none)
}

/// The mean over a word's tokens, and over heads of the first token's row.
fn score(place: &Place, scores: &Array, places: &[usize], tokens: usize) -> f64 {
    let (rows, width) = if place.is_transformer() {
        (scores.len() / (tokens * tokens), tokens * tokens)
    } else {
        (1, scores.len())
    };
    let sum: f64 =
        (0..rows).flat_map(|row| places.iter().map(move |&t| f64::from(scores.data[row * width + t]))).sum();
    sum / (rows * places.len()).max(1) as f64
}

/// A small model's own word; of a transformer, which has pieces, what is written there.
fn written(place: &Place, text: &TestedText, word: usize) -> String {
    match &text.parts.tokens[word][..] {
        &[token] if !place.is_transformer() => text.encoded.tokens[token].piece.clone(),
        _ => text.parts.names[word].to_lowercase(),
    }
}

/// h_t·(w_c − the mean of the other rows), which is how the logits move with the weight of each word.
fn polarities(
    model: &dyn Model,
    driver: &Driver,
    place: &Place,
    texts: &[TestedText],
    class: usize,
) -> Result<Vec<Vec<Option<f64>>>> {
    let looks = look(model, driver, place, texts, true)?;
    let heads = linear_heads(model, driver, place, &looks)?;
    if heads.iter().any(Option::is_none) {
        return Err(Error::Unsupported(format!(
            "the logits of {} are not linear in what attention reads, so that words have no polarity; attention words needs a head of one layer",
            model.card().name
        )));
    }
    Ok(looks
        .iter()
        .map(|look| look.slopes.iter().map(|slopes| Some(polarity(slopes, class))).collect())
        .collect())
}

/// A class against the mean of the others.
fn polarity(slopes: &[f64], class: usize) -> f64 {
    let others: f64 = slopes.iter().sum::<f64>() - slopes[class];
    slopes[class] - others / (slopes.len() - 1).max(1) as f64
}

/// The words of at least so many places, those with the largest polarity or attention first.
pub fn words(places: &[WordPlace], least: usize) -> Vec<WordScores> {
    let mut by_word: BTreeMap<&str, Vec<&WordPlace>> = BTreeMap::new();
    places.iter().for_each(|place| by_word.entry(&place.word).or_default().push(place));
    let frequent = by_word.into_iter().filter(|(_, places)| places.len() >= least.max(1));
    let mut found: Vec<WordScores> = frequent.map(|(word, places)| scores(word, &places)).collect();
    found.sort_by(|a, b| b.attention.total_cmp(&a.attention));
    found
}

fn scores(word: &str, places: &[&WordPlace]) -> WordScores {
    let attention: Vec<f64> = places.iter().map(|place| place.attention).collect();
    let polarity: Option<Vec<f64>> = places.iter().map(|place| place.polarity).collect();
    WordScores {
        word: word.to_owned(),
        attention: mean(&attention),
        polarity: polarity.as_deref().map(mean),
        count: places.len(),
        sd_attention: deviation(&attention),
        sd_polarity: polarity.as_deref().map(deviation),
    }
}
