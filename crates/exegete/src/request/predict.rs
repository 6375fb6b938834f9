//! The request of `exegete predict`: examples in, predictions out, a chunk at a time.

use super::input::TextReader;
use super::{AddressOptions, Listener, Resources, Stop, TextInput, check_stop, model, say_going_on, unused};
use crate::task::Classes;
use crate::{Card, Driver, Error, Example, Model, Prediction};
use anyhow::{Result, bail};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// How many rows are read, predicted and written together. Packed batches need no sorting by length, so this only
/// has to be large enough to fill the driver's batches.
const CHUNK_ROWS: usize = 256;

/// What `exegete predict` is asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct PredictRequest {
    /// The texts to answer for, and how to read them.
    #[serde(flatten)]
    #[command(flatten)]
    pub texts: TextInput,
    /// A Hugging Face folder, or a black box: http://… or "cmd: COMMAND" [default: the model for English sentiment that
    /// is part of the program].
    #[arg(long, value_name = "MODEL")]
    pub model: Option<PathBuf>,
    /// What the run may use.
    #[serde(flatten)]
    #[command(flatten)]
    pub resources: Resources,
    /// How a model at an address is asked.
    #[serde(flatten)]
    #[command(flatten)]
    pub remote: AddressOptions,
}

/// Some texts in their order, with what the model says of each.
#[derive(Debug)]
pub struct PredictedTexts<'a> {
    /// The card of the model that is asked.
    pub card: &'a Card,
    /// The texts that were asked about, in order.
    pub examples: &'a [Example],
    /// One prediction a text.
    pub predictions: &'a [Prediction],
}

/// A request with its model open.
pub struct Predictor<'a> {
    request: &'a PredictRequest,
    model: Arc<dyn Model>,
    stop: Stop,
}

/// Predicts every text; the sink gets some at a time, in order.
pub fn run(
    request: &PredictRequest,
    stop: &Stop,
    tell: Listener<'_>,
    sink: &mut dyn FnMut(&PredictedTexts<'_>) -> Result<()>,
) -> Result<()> {
    open(request, stop, tell)?.each(&[], tell, sink)
}

/// Opens the model of a request.
pub fn open<'a>(request: &'a PredictRequest, stop: &Stop, tell: Listener<'_>) -> Result<Predictor<'a>> {
    let PredictRequest { texts, model, resources, remote } = request;
    texts.check()?;
    unused::of_predict(texts, model.as_deref())?;
    let model = model::load(model.as_deref(), resources, remote, texts.pairs(), tell)?;
    let (card, named) = (model.card(), texts.label_column.is_some());
    let labels = Some(card).filter(|card| named && card.task.classes() == Classes::One);
    TextReader::check_file(texts, card.task, labels)?;
    Ok(Predictor { request, model, stop: stop.clone() })
}

impl Predictor<'_> {
    /// The model that is asked.
    pub fn model(&self) -> &dyn Model {
        &*self.model
    }

    /// Predicts every text after those that an earlier run finished, which are known by their SHA-256
    /// ([`text_sha256`](super::text_sha256)); the sink gets some at a time, in order.
    pub fn each(
        &self,
        finished: &[String],
        tell: Listener<'_>,
        sink: &mut dyn FnMut(&PredictedTexts<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut source = TextReader::open_until(&self.request.texts, self.model.card().task, &self.stop)?;
        // How a text is rounded may depend on the texts beside it, so a chunk that was finished in part is run whole again.
        let parts = if self.model.open().is_some() { finished.len() % CHUNK_ROWS } else { 0 };
        let (whole, mut part) = finished.split_at(finished.len() - parts);
        source.skip(whole)?;
        say_going_on(finished.len(), tell);
        tell(source.progress(finished.len()));
        let mut texts = finished.len();
        loop {
            check_stop(&self.stop)?;
            let mut examples = source.skipped(part)?;
            examples.extend(source.chunk(CHUNK_ROWS - part.len())?);
            if examples.is_empty() {
                break;
            }
            let (predictions, outcome) = self.predict(&examples);
            let (card, known) = (self.model.card(), part.len().min(predictions.len()));
            let (examples, predictions) = (&examples[known..predictions.len()], &predictions[known..]);
            let predicted = predictions.len();
            sink(&PredictedTexts { card, examples, predictions })?;
            outcome?;
            part = &[];
            texts += predicted;
            tell(source.progress(texts));
        }
        if texts == 0 { bail!("{}: holds no text", source.name()) } else { Ok(()) }
    }

    /// What the model says of some texts. What a black box answered before it failed or was to stop is not lost, as far as
    /// it is the beginning.
    fn predict(&self, examples: &[Example]) -> (Vec<Prediction>, crate::Result<()>) {
        // A driver of its own: what a chunk gives does not depend on what was remembered before a run was stopped.
        let mut driver = Driver::new(self.request.resources.memory());
        driver.stop = self.stop.clone();
        if self.model.open().is_some() {
            return match crate::predict(&driver, &*self.model, examples) {
                Ok(predictions) => (predictions, Ok(())),
                Err(error) => (Vec::new(), Err(error)),
            };
        }
        let mut answers: Vec<Option<Prediction>> = vec![None; examples.len()];
        let outcome = self.model.predict_each(examples, &mut |range, predictions| {
            let places = answers.get_mut(range).into_iter().flatten();
            places.zip(predictions).for_each(|(place, answer)| *place = Some(answer));
            driver.check_stop()
        });
        let predictions: Vec<Prediction> = answers.into_iter().map_while(|answer| answer).collect();
        let whole = predictions.len() == examples.len();
        let left_out = || Err(Error::Model("the model left a row out".into()));
        (predictions, outcome.and_then(|()| if whole { Ok(()) } else { left_out() }))
    }
}
