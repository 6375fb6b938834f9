//! The weights of the same text in several models, side by side.

use super::HiddenPlace;
use crate::layers::entropy;
use exegete_core::report::{Item, Map, MapLayer, Sense, Subject, TokenText};
use exegete_core::{Array, Driver, Encoded, Model, Pass, Plan, Predictions, Readout, Result, Row, Site};
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

/// A map of the weights of one text: a column a model, or of models that write one for each target word too. `notes` are put beside it.
pub fn weight_map(
    models: &[DrawnModel<'_>],
    place: HiddenPlace,
    encoded: &Encoded,
    mut notes: Vec<String>,
) -> Result<Option<Item>> {
    let row = Row::new(encoded.clone());
    let (mut layers, mut first) = (Vec::new(), None);
    for drawn in models {
        let weights = drawn.driver.read_one(drawn.model, &row, &Weights(place.weights))?;
        let columns = place.seen(&weights, encoded);
        for (i, token_values) in columns.iter().enumerate() {
            let site = match columns.len() {
                1 => drawn.name.clone(),
                _ => format!("{}, target word {}", drawn.name, i + 1),
            };
            let (token_values, entropy) = (token_values.clone(), entropy(token_values));
            layers.push(MapLayer { site, token_values, spread: Vec::new(), entropy, completeness: None });
        }
        let said = drawn.driver.read_one(drawn.model, &row, &Predictions(drawn.model))?.scores;
        if let Some((label, prob)) = said.decision() {
            notes.push(format!("{}: {label} with probability {prob:.3}", drawn.name));
        }
        first.get_or_insert(said);
    }
    Ok(first.map(|prediction| {
        let subject = Subject {
            method: "attention".to_owned(),
            params: BTreeMap::new(),
            input: encoded.fields.clone(),
            value: prediction.decision().map_or(0.0, |(_, prob)| prob),
            prediction,
            target: "predicted:prob".to_owned(),
            sense: Sense::SameForEveryClass,
            notes,
        };
        Item::Map(Box::new(Map { subject, tokens: TokenText::of(encoded), layers }))
    }))
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
