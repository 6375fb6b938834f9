//! Outputs of rows for everything that only predicts: open models and black boxes alike.

use super::memory::{self, Key};
use super::{Driver, Memory};
use crate::{Card, ClassScore, Error, Example, Logits, Model, Plan, Prediction, Result, Row, Scores, Task};
use std::collections::HashMap;
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
        let mut at = new.iter();
        self.run(model, &run, &mut |outputs| {
            let places: Vec<usize> = at.by_ref().take(outputs.len()).copied().collect();
            let answers = places.iter().zip(&outputs).filter_map(|(&i, output)| Some((keys[i]?, output)));
            self.memory().add(&answers.collect::<Vec<_>>())?;
            places.into_iter().zip(outputs).for_each(|(i, output)| found[i] = Some(output));
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

    /// Runs rows and hands on their outputs, batch by batch and in order.
    fn run(
        &self,
        model: &dyn Model,
        rows: &[Row],
        hand_on: &mut dyn FnMut(Vec<Logits>) -> Result<()>,
    ) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        if let Some(open) = model.open() {
            return self.passes(open, rows, &Plan::default(), &mut |_, pass| hand_on(pass.logits().to_vec()));
        }
        let examples = rows.iter().map(example).collect::<Result<Vec<Example>>>()?;
        let predictions = model.predict(&examples)?;
        self.counter().forward_rows += predictions.len();
        hand_on(predictions.iter().map(logits).collect::<Result<_>>()?)
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
    let named = |(index, prob): (usize, f64)| ClassScore {
        label: card.labels.get(index).cloned().unwrap_or_else(|| index.to_string()),
        logit: None,
        prob,
    };
    let z = &logits.data;
    match card.task {
        Task::Regression => Scores::Value(z.first().copied().unwrap_or(f64::NAN)),
        Task::MultiLabel => {
            let probs = z.iter().map(|z| 1.0 / (1.0 + (-z).exp()));
            Scores::Labels(probs.enumerate().map(named).collect())
        }
        _ => {
            let total: f64 = z.iter().map(|z| z.exp()).sum();
            Scores::Classes(z.iter().map(|z| z.exp() / total).enumerate().map(named).collect())
        }
    }
}
