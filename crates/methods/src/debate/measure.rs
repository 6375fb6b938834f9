//! All experiments on some texts.

use super::adversary::{Search, search};
use super::correlation::{decisive, gradients, leave_one_out, tau};
use super::distance::{largest, softmax};
use super::head::{LinearHead, Reweighed, RunHead};
use super::look::{SeenText, TestedText, linear_heads, look, word_slopes};
use super::permutation::{PERMUTATIONS, median_tvd};
use super::{ErasureShares, Experiment, Place, TextRecord, concentration, erase, share};
use crate::Stream;
use exegete_core::{Driver, Encoded, Error, Model, Outputs, Result, Row};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What is measured, and with what.
#[derive(Clone, Copy)]
pub struct Measuring<'a> {
    /// The model that is tested.
    pub model: &'a dyn Model,
    /// Runs the rows and counts them.
    pub driver: &'a Driver,
    /// The attention that is tested.
    pub place: &'a Place,
    /// The experiments that are run.
    pub experiments: &'a [Experiment],
    /// The seed of everything random.
    pub seed: u64,
    /// How many texts are worked on at once, where the model need not run.
    pub threads: usize,
}

/// Runs the experiments on texts.
pub fn measure(asked: &Measuring<'_>, texts: &[TestedText]) -> Result<Vec<TextRecord>> {
    let Measuring { model, driver, place, .. } = *asked;
    if texts.iter().any(|text| text.parts.names.len() < 2) {
        return Err(Error::Input(format!(
            "a text has fewer than two {}; nothing of it can be tested",
            place.noun()
        )));
    }
    let replaces = place.can_be_replaced() && asked.experiments.iter().any(|known| known.replaces());
    let looks = look(model, driver, place, texts, replaces)?;
    let mut records: Vec<TextRecord> = looks.iter().map(started).collect();
    if asked.runs(Experiment::Correlation) {
        correlated(asked, &looks, &mut records)?;
    }
    if asked.runs(Experiment::Concentration) {
        records.iter_mut().for_each(|record| record.words_90 = Some(concentration::words_90(&record.alpha)));
    }
    if replaces {
        let heads = linear_heads(model, driver, place, &looks)?;
        replaced(asked, &looks, &heads, &mut records)?;
    }
    Ok(records)
}

impl Measuring<'_> {
    fn runs(&self, experiment: Experiment) -> bool {
        self.experiments.contains(&experiment)
    }
}

fn started(look: &SeenText) -> TextRecord {
    let (tokens, alpha) = (look.text.parts.names.clone(), look.alpha.clone());
    TextRecord { tokens, alpha, predicted: largest(&look.logits), ..TextRecord::default() }
}

/// Gradients and leaving out, with their correlations.
fn correlated(asked: &Measuring<'_>, looks: &[SeenText], records: &mut [TextRecord]) -> Result<()> {
    let Measuring { model, driver, place, .. } = *asked;
    let slopes = word_slopes(model, driver, place, looks)?;
    let shorter = looks.iter().flat_map(|look| {
        let shorter = |gone: &Vec<usize>| Ok(Row::new(without(&look.text.encoded, gone)));
        look.text.parts.removed.iter().map(shorter).collect::<Vec<_>>()
    });
    let mut answers = Vec::new();
    driver.read(model, shorter, &Outputs, &mut |output| {
        answers.push(softmax(&output.data));
        Ok(())
    })?;
    let mut answers = answers.as_slice();
    for ((look, (words, slopes)), record) in looks.iter().zip(slopes).zip(records) {
        let (own, rest) = answers.split_at(look.text.parts.removed.len().min(answers.len()));
        answers = rest;
        let gradient = gradients(&words, &slopes, &look.text.parts);
        let effects = leave_one_out(&softmax(&look.logits), own);
        record.tau_gradient = tau(&look.alpha, &gradient);
        record.tau_leave_one_out = tau(&look.alpha, &effects);
        record.decisive = decisive(&look.alpha, &effects);
        (record.gradient, record.leave_one_out) = (Some(gradient), Some(effects));
    }
    Ok(())
}

/// A text without some of its tokens.
fn without(encoded: &Encoded, gone: &[usize]) -> Encoded {
    let tokens = encoded.tokens.iter().enumerate();
    let tokens = tokens.filter(|(i, _)| !gone.contains(i)).map(|(_, token)| token.clone()).collect();
    Encoded { tokens, ..encoded.clone() }
}

/// The experiments with other weights: texts side by side where they are arithmetic alone, one after another where the
/// model runs.
fn replaced(
    asked: &Measuring<'_>,
    looks: &[SeenText],
    heads: &[Option<LinearHead>],
    records: &mut [TextRecord],
) -> Result<()> {
    if heads.iter().any(Option::is_none) {
        for (i, record) in records.iter_mut().enumerate() {
            let SeenText { text: TestedText { encoded, parts, .. }, spread, .. } = &looks[i];
            let (model, driver, place) = (asked.model, asked.driver, asked.place);
            let run = RunHead { model, driver, place, encoded: encoded.clone(), parts, spread };
            let head: &dyn Reweighed = heads[i].as_ref().map_or(&run, |head| head);
            reweighed(asked, head, &looks[i], record)?;
        }
        return Ok(());
    }
    let next = AtomicUsize::new(0);
    let done = Mutex::new((Vec::new(), None));
    let work = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let (Some(look), Some(Some(head))) = (looks.get(i), heads.get(i)) else { return };
            let mut record = records[i].clone();
            let outcome = asked.driver.check_stop();
            let outcome = outcome.and_then(|()| reweighed(asked, head, look, &mut record));
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            match outcome {
                Ok(()) => done.0.push((i, record)),
                Err(error) => {
                    done.1 = Some(error);
                    return;
                }
            }
        }
    };
    std::thread::scope(|scope| {
        (1..asked.threads.min(looks.len())).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    let (found, failed) = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.into_iter().for_each(|(i, record)| records[i] = record);
    failed.map_or(Ok(()), Err)
}

/// The experiments with other weights on one text.
fn reweighed(
    asked: &Measuring<'_>,
    head: &dyn Reweighed,
    look: &SeenText,
    record: &mut TextRecord,
) -> Result<()> {
    let (alpha, own) = (&look.alpha[..], &softmax(&look.logits)[..]);
    let random = |stream: Stream| stream.random(asked.seed, look.text.number);
    if asked.runs(Experiment::Permutation) {
        let random = &mut random(Stream::WeightOrders);
        record.median_tvd = Some(median_tvd(head, own, alpha.len(), PERMUTATIONS, random)?);
    }
    if asked.runs(Experiment::Adversary) {
        let settings = Search::published(look.text.encoded.fields.len() > 1);
        record.adversary = Some(search(head, alpha, own, &settings, &mut random(Stream::OtherWeights))?);
    }
    if asked.runs(Experiment::Erase) {
        record.erase = Some(erase::pair(head, alpha, own, &mut random(Stream::ErasedWords))?);
    }
    if asked.runs(Experiment::Share) {
        let random = &mut random(Stream::ErasureOrders);
        record.share = Some(ErasureShares(share::removed(head, alpha, own, &look.slopes, random)?));
        record.weight_gradient = Some(share::predicted_slopes(own, &look.slopes));
    }
    Ok(())
}
