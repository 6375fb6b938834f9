//! Outputs of rows for everything that only predicts: open models and black boxes alike.

use super::memory::{self, Key};
use super::{Driver, Memory};
use crate::{Card, Error, Example, Logits, Model, Pass, Plan, Prediction, Result, Row, Scores};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{MutexGuard, PoisonError};

/// Below this a probability is taken for it, so that its logarithm is a number.
const LEAST: f64 = 1e-300;

impl Driver {
    /// The output of each row, in order. What was answered before is not run again, and equal rows are run once.
    ///
    /// A black box reads the row's tokens as text and gives probabilities; their logarithms stand for its logits.
    pub fn outputs(&self, model: &dyn Model, rows: &[Row]) -> Result<Vec<Logits>> {
        let plain = model.open().is_none();
        let keys: Vec<Option<Key>> =
            rows.iter().map(|row| memory::key(&model.card().fingerprint, plain, row)).collect();
        let mut found: Vec<Option<Logits>> = {
            let mut memory = self.memory();
            keys.iter().map(|key| key.and_then(|key| memory.get(key))).collect()
        };
        // Of equal rows the first is run.
        let mut first: HashMap<Key, usize> = HashMap::new();
        let missing = (0..rows.len()).filter(|&i| found[i].is_none());
        let new: Vec<usize> =
            missing.filter(|&i| keys[i].is_none_or(|key| *first.entry(key).or_insert(i) == i)).collect();
        let run: Vec<Row> = new.iter().map(|&i| rows[i].clone()).collect();
        self.run(model, &run, &mut |range, outputs| {
            let places = new.get(range).unwrap_or_default();
            let answers = places.iter().zip(&outputs).filter_map(|(&i, output)| Some((keys[i]?, output)));
            self.memory().add(&answers.collect::<Vec<_>>())?;
            places.iter().zip(outputs).for_each(|(&i, output)| found[i] = Some(output));
            Ok(())
        })?;
        self.remembered(rows.len() - new.len());
        let same = |i: usize| keys[i].and_then(|key| first.get(&key)).and_then(|&first| found[first].clone());
        let output = |i: usize| found[i].clone().or_else(|| same(i));
        let all =
            (0..rows.len()).map(|i| output(i).ok_or_else(|| Error::Model("the model left a row out".into())));
        all.collect()
    }

    /// Counts rows that were asked for and known already.
    pub fn remembered(&self, rows: usize) {
        self.counter().remembered_rows += rows;
    }

    /// Runs rows and hands on their outputs with their places, batch by batch: what came before an error is not lost.
    fn run(
        &self,
        model: &dyn Model,
        rows: &[Row],
        hand_on: &mut dyn FnMut(Range<usize>, Vec<Logits>) -> Result<()>,
    ) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        if let Some(open) = model.open() {
            let mut on = |range: Range<usize>, pass: &dyn Pass| hand_on(range, pass.logits().to_vec());
            return self.passes(open, rows, &Plan::default(), &mut on);
        }
        let examples = rows.iter().map(example).collect::<Result<Vec<Example>>>()?;
        model.predict_each(&examples, &mut |range, predictions| {
            self.counter().forward_rows += predictions.len();
            hand_on(range, predictions.iter().map(logits).collect::<Result<_>>()?)
        })
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A row as a text.
fn example(row: &Row) -> Result<Example> {
    match row.edits.first() {
        None => Ok(Example { fields: row.encoded.written(), label: None }),
        Some(edit) => Err(Error::Unsupported(format!(
            "a model that gives predictions only cannot be edited at {}",
            edit.site
        ))),
    }
}

fn logits(prediction: &Prediction) -> Result<Logits> {
    let data: Vec<f64> = match &prediction.scores {
        Scores::Classes(classes) => {
            classes.iter().map(|class| class.logit.unwrap_or_else(|| class.prob.max(LEAST).ln())).collect()
        }
        Scores::Labels(labels) => {
            let odds = |prob: f64| prob.max(LEAST).ln() - (1.0 - prob).max(LEAST).ln();
            labels.iter().map(|label| label.logit.unwrap_or_else(|| odds(label.prob))).collect()
        }
        Scores::Value(value) => vec![*value],
        _ => {
            return Err(Error::Unsupported(
                "a model that gives predictions only is explained where it gives classes, labels or a number"
                    .into(),
            ));
        }
    };
    Ok(Logits { shape: vec![data.len()], data })
}

/// What the output of a black box means.
pub fn plain_scores(card: &Card, logits: &Logits) -> Scores {
    card.task.plain_scores(card, logits)
}
