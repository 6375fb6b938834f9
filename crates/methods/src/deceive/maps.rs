//! The weights of the same text in several models, side by side.

use super::HiddenPlace;
use crate::layers::entropy;
use crate::matrix::of_target;
use exegete_core::report::{Item, Map, MapLayer, Sense, Subject, TokenText};
use exegete_core::{
    Array, Driver, Encoded, Model, Pass, Plan, Predictions, Readout, Result, Row, Scores, Site,
};
use std::collections::BTreeMap;

/// A trained model, and what its columns of a map are called.
pub struct DrawnModel<'a> {
    /// Such as `lambda 0.1`.
    pub name: String,
    /// The model, whose attention is the same place as that of the others.
    pub model: &'a dyn Model,
    /// What runs the model and counts its rows.
    pub driver: &'a Driver,
}

/// Maps of the weights of one text: one with a column a model; of models that write one a model, with a row for each target word.
/// `notes` are put beside each.
pub fn weight_maps(
    models: &[DrawnModel<'_>],
    place: HiddenPlace,
    encoded: &Encoded,
    notes: &[String],
) -> Result<Vec<Item>> {
    let row = Row::new(encoded.clone());
    let read = |drawn: &DrawnModel<'_>| {
        let weights = drawn.driver.read_one(drawn.model, &row, &Weights(place.weights))?;
        Ok((weights, drawn.driver.read_one(drawn.model, &row, &Predictions(drawn.model))?.scores))
    };
    let found = models.iter().map(read).collect::<Result<Vec<(Array, Scores)>>>()?;
    if place.is_aligned() {
        let one = |(drawn, (weights, prediction)): (&DrawnModel<'_>, (Array, Scores))| {
            let mut notes = notes.to_vec();
            notes.push(format!(
                "each row is the attention while that word is written, by the model of {}",
                drawn.name
            ));
            let subject = subject(format!("attention, {}", drawn.name), encoded, prediction, notes);
            of_target(subject, encoded, &weights)
        };
        return Ok(models.iter().zip(found).map(one).collect());
    }
    let mut notes = notes.to_vec();
    let said = |(drawn, (_, said)): (&DrawnModel<'_>, &(Array, Scores))| {
        let (label, prob) = said.decision()?;
        Some(format!("{}: {label} with probability {prob:.3}", drawn.name))
    };
    notes.extend(models.iter().zip(&found).filter_map(said));
    let layer = |(drawn, (weights, _)): (&DrawnModel<'_>, &(Array, Scores))| {
        let token_values = place.seen(weights, encoded);
        let (site, entropy) = (drawn.name.clone(), entropy(&token_values));
        MapLayer { site, token_values, spread: Vec::new(), entropy, completeness: None }
    };
    let layers = models.iter().zip(&found).map(layer).collect();
    let first = found.into_iter().next().map(|(_, prediction)| prediction);
    Ok(first
        .map(|prediction| {
            let subject = subject("attention".to_owned(), encoded, prediction, notes);
            Item::Map(Box::new(Map { subject, tokens: TokenText::of(encoded), layers, axes: None }))
        })
        .into_iter()
        .collect())
}

fn subject(method: String, encoded: &Encoded, prediction: Scores, notes: Vec<String>) -> Subject {
    Subject {
        method,
        params: BTreeMap::new(),
        input: encoded.fields.clone(),
        value: prediction.decision().map_or(0.0, |(_, prob)| prob),
        prediction,
        target: "predicted:prob".to_owned(),
        sense: Sense::SameForEveryClass,
        notes,
    }
}

/// The value at one site as it is.
struct Weights(Site);

impl Readout for Weights {
    type Value = Array;

    fn plan(&self) -> Plan {
        Plan::keep([self.0])
    }

    fn read(&self, rows: &[Row], pass: &dyn Pass) -> Result<Vec<Array>> {
        (0..rows.len()).map(|row| pass.value(self.0, row)).collect()
    }
}
