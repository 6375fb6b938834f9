//! The one way to run rows: a readout asks, the driver finds out, and nothing is run twice that can be remembered.

use super::memory::{self, Answer, Key};
use super::{Driver, Planned, PredictionCache, Spent};
use crate::readout::{Explaining, Explanation, OfOutput, Readout};
use crate::{Error, Example, Logits, Model, Pass, Prediction, Result, Row, Scores};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, MutexGuard, PoisonError};

/// Below this a probability is taken for it, so that its logarithm is a number.
const LEAST: f64 = 1e-300;

/// Rows are looked at in windows of about this many tokens: enough for large batches, few enough to hold.
const WINDOW_TOKENS: usize = 1 << 17;

impl Driver {
    /// Reads rows as they come and hands on what was read, in order.
    ///
    /// Rows are batched within the memory budget, resumed at cuts, and counted. Where the readout's answers can be
    /// remembered, equal rows are run once and what is known is not run again.
    pub fn read<R: Readout>(
        &self,
        model: &dyn Model,
        rows: impl IntoIterator<Item = Result<Row>>,
        readout: &R,
        sink: &mut dyn FnMut(R::Value) -> Result<()>,
    ) -> Result<()> {
        let mut rows = rows.into_iter();
        loop {
            let (mut window, mut tokens) = (Vec::new(), 0);
            while tokens < WINDOW_TOKENS
                && let Some(row) = rows.next().transpose()?
            {
                // Pairs stay together: every row of a window has its partner.
                tokens += row.encoded.len();
                window.push(row);
                if window.len() % 2 == 1 && tokens >= WINDOW_TOKENS {
                    window.extend(rows.next().transpose()?);
                }
            }
            if window.is_empty() {
                return Ok(());
            }
            self.read_all(model, &window, readout)?.into_iter().try_for_each(&mut *sink)?;
        }
    }

    /// The same for rows that are there already, and few.
    pub fn read_all<R: Readout>(
        &self,
        model: &dyn Model,
        rows: &[Row],
        readout: &R,
    ) -> Result<Vec<R::Value>> {
        if readout.of_output().is_none() && readout.key().is_none() {
            let mut found = Vec::with_capacity(rows.len());
            self.run(model, rows, readout, &mut |_, answers| {
                found.extend(answers.into_iter().map(|answer| answer.value));
                Ok(())
            })?;
            return Ok(found);
        }
        let known = Known { driver: self, by: readout.key().map(|key| memory::named(&key)), readout };
        let keys: Vec<Option<Key>> = rows.iter().map(|row| key_of(model, row)).collect();
        let recall = |(row, key): (&Row, &Option<Key>)| key.map_or(Ok(None), |key| known.recall(row, key));
        let mut found = rows.iter().zip(&keys).map(recall).collect::<Result<Vec<Option<R::Value>>>>()?;
        // Of equal rows the first is run.
        let mut first: HashMap<Key, usize> = HashMap::new();
        let missing = (0..rows.len()).filter(|&i| found[i].is_none());
        let new: Vec<usize> =
            missing.filter(|&i| keys[i].is_none_or(|key| *first.entry(key).or_insert(i) == i)).collect();
        let run: Vec<Row> = new.iter().map(|&i| rows[i].clone()).collect();
        self.run(model, &run, readout, &mut |range, answers| {
            let places = new.get(range).unwrap_or_default();
            known.remember(places.iter().map(|&i| keys[i]), &answers)?;
            places.iter().zip(answers).for_each(|(&i, answer)| found[i] = Some(answer.value));
            Ok(())
        })?;
        self.counter().remembered_rows += rows.len() - new.len();
        let same = |i: usize| keys[i].and_then(|key| first.get(&key)).and_then(|&first| found[first].clone());
        let value = |i: usize| found[i].clone().or_else(|| same(i));
        let left_out = || Error::Model("the model left a row out".into());
        (0..rows.len()).map(|i| value(i).ok_or_else(left_out)).collect()
    }

    /// The same for one row.
    pub fn read_one<R: Readout>(&self, model: &dyn Model, row: &Row, readout: &R) -> Result<R::Value> {
        let found = self.read_all(model, std::slice::from_ref(row), readout)?.pop();
        found.ok_or_else(|| Error::Model("the model left a row out".into()))
    }

    /// Takes over what another driver found for this text: a row's output, what was read of it by [`Explaining::name`], and the
    /// rows that this text's share of that run was. Operations and memory were those of many texts, and are booked there alone.
    pub fn take_over(
        &self,
        model: &dyn Model,
        (row, output): (&Row, &Logits),
        readings: Vec<(String, Explanation)>,
        spent: Spent,
    ) {
        let mut counter = self.counter();
        counter.forward_rows += spent.forward_rows;
        counter.backward_rows += spent.backward_rows;
        drop(counter);
        let Some(key) = key_of(model, row) else { return };
        let mut memory = self.memory();
        memory.recall(key, output.clone());
        for (name, found) in readings {
            let bytes = found.bytes();
            memory.insert(key ^ memory::named(&name), Answer::Read(Arc::new(found), bytes));
        }
    }

    /// What was taken over for such a reading of a row. The row was counted then, and is not again.
    pub fn taken_over(&self, model: &dyn Model, row: &Row, reading: &Explaining<'_>) -> Option<Explanation> {
        let key = key_of(model, row)? ^ memory::named(&reading.name());
        self.memory().read(key)?.downcast_ref().cloned()
    }

    /// Counts rows that were asked for and that the caller knew already.
    pub fn remembered(&self, rows: usize) {
        self.counter().remembered_rows += rows;
    }

    /// Runs rows and hands on what was read with their places, batch by batch: what came before an error is not lost.
    fn run<R: Readout>(
        &self,
        model: &dyn Model,
        rows: &[Row],
        readout: &R,
        hand_on: HandOn<'_, R::Value>,
    ) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let small = |output: &Logits| memory::is_small(output).then(|| output.clone());
        if let Some(open) = model.open() {
            let rows = asking(rows, readout.places());
            let (plan, read) = (readout.plan(), &mut |range: Range<usize>, pass: &dyn Pass| {
                let values = readout.read(&rows[range.clone()], pass)?;
                let by_output = readout.of_output().is_some();
                let output = |i: usize| pass.logits().get(i).filter(|_| by_output).and_then(small);
                let answer = |(i, value)| Answered { value, output: output(i) };
                hand_on(range, values.into_iter().enumerate().map(answer).collect())
            });
            return match readout.along() {
                Some(along) => self.moves(Planned { open, rows: &rows, plan: &plan }, along, read),
                None => self.passes(open, &rows, &plan, read),
            };
        }
        let Some(reader) = readout.of_output() else { return model.require_open().map(|_| ()) };
        let examples = rows.iter().map(example).collect::<Result<Vec<Example>>>()?;
        self.check_stop()?;
        model.predict_each(&examples, &mut |range, predictions| {
            self.counter().forward_rows += predictions.len();
            let rows = rows.get(range.clone()).unwrap_or_default();
            let answer = |(row, prediction): (&Row, &Prediction)| {
                let output = logits(prediction)?;
                Ok(Answered { value: reader.of(row, &output)?, output: small(&output) })
            };
            hand_on(range, rows.iter().zip(&predictions).map(answer).collect::<Result<_>>()?)?;
            self.tell();
            // What was answered is kept, and nothing more is asked for.
            self.check_stop()
        })
    }

    pub(super) fn memory(&self) -> MutexGuard<'_, PredictionCache> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an answer of a model about a row is remembered by.
fn key_of(model: &dyn Model, row: &Row) -> Option<Key> {
    memory::key(&model.card().fingerprint, model.open().is_none(), row)
}

/// Rows that ask for the outputs of some tokens only.
fn asking(rows: &[Row], places: Option<Vec<usize>>) -> Cow<'_, [Row]> {
    let Some(places) = places.map(Arc::<[usize]>::from) else { return Cow::Borrowed(rows) };
    rows.iter().map(|row| Row { outputs: Some(places.clone()), ..row.clone() }).collect()
}

/// Takes what was read of some rows, with their places among those that run.
type HandOn<'a, V> = &'a mut dyn FnMut(Range<usize>, Vec<Answered<V>>) -> Result<()>;

/// What was read of a row, and its output where that is small enough to be remembered.
struct Answered<V> {
    value: V,
    output: Option<Logits>,
}

/// What is known of rows to one readout.
struct Known<'a, R> {
    driver: &'a Driver,
    /// What its own answers are called in the memory.
    by: Option<Key>,
    readout: &'a R,
}

impl<R: Readout> Known<'_, R> {
    fn recall(&self, row: &Row, key: Key) -> Result<Option<R::Value>> {
        let reader: Option<&dyn OfOutput<R::Value>> = self.readout.of_output();
        if let Some(reader) = reader
            && let Some(output) = self.driver.memory().output(key)
        {
            return reader.of(row, &output).map(Some);
        }
        let own = self.by.and_then(|by| self.driver.memory().read(key ^ by));
        Ok(own.and_then(|own| own.downcast_ref::<R::Value>().cloned()))
    }

    fn remember(
        &self,
        keys: impl Iterator<Item = Option<Key>>,
        answers: &[Answered<R::Value>],
    ) -> Result<()> {
        let new = keys.zip(answers).filter_map(|(key, answer)| Some((key?, answer)));
        let new: Vec<(Key, &Answered<R::Value>)> = new.collect();
        let outputs = new.iter().filter_map(|(key, answer)| Some((*key, answer.output.as_ref()?)));
        let mut memory = self.driver.memory();
        memory.add(&outputs.collect::<Vec<_>>())?;
        for (key, answer) in new.iter().filter(|(_, answer)| answer.output.is_none()) {
            if let Some(by) = self.by {
                let bytes = size_of::<R::Value>();
                memory.insert(key ^ by, Answer::Read(Arc::new(answer.value.clone()), bytes));
            }
        }
        Ok(())
    }
}

/// A row as a text.
fn example(row: &Row) -> Result<Example> {
    match row.edits.first() {
        None => Ok(Example { fields: row.encoded.written(), label: None, weights: None }),
        Some(edit) => Err(Error::Unsupported(format!(
            "a model that gives predictions only cannot be edited at {}",
            edit.site
        ))),
    }
}

fn logits(prediction: &Prediction) -> Result<Logits> {
    let data: Vec<f64> = match &prediction.scores {
        Scores::Classes { scores: classes, .. } => {
            classes.iter().map(|class| class.logit.unwrap_or_else(|| class.prob.max(LEAST).ln())).collect()
        }
        Scores::Labels { scores: labels, .. } => {
            let odds = |prob: f64| prob.max(LEAST).ln() - (1.0 - prob).max(LEAST).ln();
            labels.iter().map(|label| label.logit.unwrap_or_else(|| odds(label.prob))).collect()
        }
        Scores::Value { value } => vec![*value],
        _ => {
            return Err(Error::Unsupported(
                "a model that gives predictions only is explained where it gives classes, labels or a number"
                    .into(),
            ));
        }
    };
    Ok(Logits::new(vec![data.len()], data))
}
