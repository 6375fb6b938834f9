//! Which rows of a data set a trigger is looked for on, and which it is tried on afterwards.

use super::search::{Aim, sample};
use exegete_core::task::Classes;
use exegete_core::{Driver, Encoded, Error, Example, Model, Open, Result, Row, class_index};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

/// Rows whose class is asked from the model where no row has a label.
const UNLABELLED: usize = 2000;

/// Examples with the class of each.
pub(super) struct Classed<'e> {
    pub(super) rows: Vec<(&'e Example, usize)>,
    /// Whether the classes are the model's own answers.
    pub(super) by_model: bool,
}

impl Classed<'_> {
    /// Whether any row is of this class.
    pub(super) fn has(&self, class: usize) -> bool {
        self.rows.iter().any(|(_, own)| *own == class)
    }
}

/// The class of each example: its label, or what the model says where no example has one. Rows without a label among
/// labelled ones are left out.
pub(super) fn classed<'e>(
    model: &dyn Model,
    driver: &Driver,
    examples: &'e [Example],
    random: &mut ChaCha8Rng,
) -> Result<Classed<'e>> {
    let card = model.card();
    if card.task.classes() != Classes::One {
        return Err(Error::Unsupported(format!(
            "{} has no classes; triggers are looked for in classifiers",
            card.name
        )));
    }
    let mut rows = Vec::new();
    for (number, example) in examples.iter().enumerate() {
        let Some(label) = example.label.as_deref() else { continue };
        let unknown = || {
            let known = card.labels.join(", ");
            Error::Input(format!(
                "row {}: '{label}' is no label of {}; one of {known}",
                number + 1,
                card.name
            ))
        };
        rows.push((example, class_index(&card.labels, label).ok_or_else(unknown)?));
    }
    if !rows.is_empty() {
        return Ok(Classed { rows, by_model: false });
    }
    let some: Vec<&Example> = sample(&examples.iter().collect::<Vec<_>>(), UNLABELLED, random);
    let open = model.require_open()?;
    let encoded =
        some.iter().map(|example| Ok(Row::new(open.encode(example)?))).collect::<Result<Vec<Row>>>()?;
    let logits = driver.read_all(model, &encoded, &exegete_core::Outputs)?;
    let class = |data: &[f64]| (0..data.len()).reduce(|best, i| if data[i] > data[best] { i } else { best });
    let rows =
        some.into_iter().zip(&logits).map(|(example, logits)| (example, class(&logits.data).unwrap_or(0)));
    Ok(Classed { rows: rows.collect(), by_model: true })
}

/// Some of the rows that an aim concerns, as the model reads them.
pub(super) fn chosen<'e>(
    open: &dyn Open,
    classed: &Classed<'e>,
    aim: Aim,
    count: usize,
    random: &mut ChaCha8Rng,
) -> Result<Vec<(&'e Example, Arc<Encoded>)>> {
    let concerned =
        classed.rows.iter().filter(|(_, class)| aim.concerns(*class)).map(|(example, _)| *example);
    let some = sample(&concerned.collect::<Vec<_>>(), count, random);
    some.into_iter().map(|example| Ok((example, Arc::new(open.encode(example)?)))).collect()
}
