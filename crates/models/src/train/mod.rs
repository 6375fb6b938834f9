//! Training: any family as a classifier of texts or pairs, over the engine's parameter gradients.
//!
//! 1. [`Start`] says where the parameters come from; [`Trainer::new`] builds the model with the head that the data needs.
//! 2. [`Trainer::step`] takes one batch: loss, gradient, clipping, one step of the [`Optimiser`].
//! 3. [`fit`] goes through the epochs: order, schedule, evaluation, the best model kept, safe checkpoints, resuming.
//!
//! What is made small is a [`Goal`]: the supervised loss by default, or any function of the logits and of sites that
//! it asks for, written on the same tape.

mod evaluate;
mod fit;
mod save;
mod schedule;
mod settings;
mod start;
mod state;

pub use evaluate::{Metric, Metrics, evaluate};
pub use fit::{Data, Epoch, Event, Run, fit};
pub use settings::Settings;
pub use start::{Head, Start};

use crate::learner::Lesson;
use crate::loss::{Objective, supervised};
use crate::opened::Opened;
use crate::run::Noise;
use exegete_core::{Error, Example, Label, Model, Open, Plan, Record, Result, Row, Site};
pub use exegete_engine::Optimiser;
use exegete_engine::{Mode, Moments, Op, Tape, Tensor, Update, squared_norm};
use std::path::Path;

/// One text or pair with what the model should answer.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Its tokens.
    pub row: Row,
    /// The right answer.
    pub label: Label,
}

/// What training makes small.
pub struct Goal {
    /// Sites whose values the losses read beside the logits.
    pub reads: Vec<Site>,
    /// The loss of every row.
    pub losses: Box<Objective<f32>>,
}

impl Default for Goal {
    fn default() -> Self {
        Self { reads: Vec::new(), losses: Box::new(supervised::<f32>) }
    }
}

/// A model in training, with what its optimiser remembers.
pub struct Trainer {
    model: Opened<f32>,
    settings: Settings,
    goal: Goal,
    names: Vec<String>,
    moments: Vec<Moments<f32>>,
    steps: u64,
    /// Parameters that no file held and that start from random numbers.
    fresh: Vec<String>,
    /// Files that belong to the model beside its weights: the tokenizer's.
    companions: Vec<(String, Vec<u8>)>,
}

/// What one step did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The mean loss of the batch before the step.
    pub loss: f64,
    /// The length of the gradient before clipping.
    pub norm: f64,
    /// The rate it was taken with.
    pub rate: f64,
}

impl Trainer {
    /// A model at its start, with a head for these answers.
    pub fn new(start: &Start, head: &Head, settings: Settings, goal: Goal) -> Result<Self> {
        settings.check()?;
        let start::Started { model, fresh, companions } = start::open(start, head, &settings)?;
        let names: Vec<String> = model.parts.params.keys().cloned().collect();
        let moments = names.iter().map(|name| {
            let len = model.parts.params[name].value.data().len();
            settings.optimiser.moments(len)
        });
        let moments = moments.collect();
        Ok(Self { model, settings, goal, names, moments, steps: 0, fresh, companions })
    }

    /// The model as it is now.
    pub fn model(&self) -> &dyn Model {
        &self.model
    }

    /// Its settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Parameters that no file held and that started from random numbers.
    pub fn fresh(&self) -> &[String] {
        &self.fresh
    }

    /// An example with its label as a training sample.
    pub fn sample(&self, example: &Example, label: Label) -> Result<Sample> {
        Ok(Sample { row: Row::new(self.model.encode(example)?), label })
    }

    /// Writes the model as a Hugging Face folder.
    pub fn save(&self, dir: &Path) -> Result<()> {
        save::folder(&self.model, &self.companions, dir)
    }

    /// Learns from one batch. `keys` are the random keys of the rows' dropout; the rate is multiplied by `share`.
    pub fn step(&mut self, batch: &[&Sample], keys: &[u64], share: f64) -> Result<Step> {
        let (losses, gradients) = self.gradient(batch, keys)?;
        let loss = losses.iter().sum::<f64>() / losses.len() as f64;
        let ctx = self.model.parts.ctx.clone();
        let squares: Vec<f64> = gradients.iter().map(|gradient| squared_norm(&ctx, gradient)).collect();
        let norm = squares.iter().sum::<f64>().sqrt();
        if !loss.is_finite() || !norm.is_finite() {
            return Err(Error::Model(format!(
                "training diverged in step {}: loss {loss}, gradient {norm}; lower the rate or the clipping",
                self.steps + 1
            )));
        }
        self.steps += 1;
        let scale = self.settings.clip.map_or(1.0, |most| (most / (norm + 1e-6)).min(1.0));
        let layers = self.model.parts.config.num_hidden_layers;
        let mut after = std::collections::BTreeMap::new();
        for ((name, moments), gradient) in self.names.iter().zip(&mut self.moments).zip(&gradients) {
            let param = &self.model.parts.params[name];
            let rate = self.settings.rate * share * self.settings.layer_share(name, layers);
            // Biases and norms have no direction that shrinking would favour.
            let decay = if param.shape.len() >= 2 { self.settings.decay } else { 0.0 };
            let update = Update { rate, decay, scale, step: self.steps };
            let optimiser = &self.settings.optimiser;
            let value = ctx.install(|| optimiser.step(&ctx, &update, (&param.value, gradient), moments));
            after.insert(name.clone(), value);
        }
        self.model = self.model.replaced(self.model.parts.card.clone(), after)?;
        Ok(Step { loss, norm, rate: self.settings.rate * share })
    }

    /// The loss of each row, and the gradient of their mean for every parameter.
    pub fn gradient(&self, batch: &[&Sample], keys: &[u64]) -> Result<(Vec<f64>, Vec<Tensor<f32>>)> {
        let ctx = &self.model.parts.ctx;
        let rows: Vec<Row> = batch.iter().map(|sample| sample.row.clone()).collect();
        let labels: Vec<Label> = batch.iter().map(|sample| sample.label.clone()).collect();
        let weight = 1.0 / batch.len().max(1) as f64;
        let mut losses = Vec::with_capacity(batch.len());
        let mut totals: Vec<Option<Tensor<f32>>> = vec![None; self.names.len()];
        for part in self.parts(&rows) {
            let noise = self.settings.noise(&self.model.parts.config, &keys[part.clone()]);
            let lesson = Lesson {
                rows: &rows[part.clone()],
                labels: &labels[part],
                select: &self.names,
                keep: &self.goal.reads,
                objective: &*self.goal.losses,
                noise,
            };
            let (lost, found) = self.model.pulled(ctx, &self.model.parts.network, &lesson, weight)?;
            losses.extend(lost.value.data().iter().map(|&loss| f64::from(loss)));
            for (total, found) in totals.iter_mut().zip(found) {
                *total = match (total.take(), found) {
                    (Some(total), Some(found)) => {
                        let mut tape = Tape::new(ctx.clone(), Mode::Off);
                        Some(ctx.install(|| tape.apply(Op::Add, [total.into(), found.into()]).value))
                    }
                    (total, found) => total.or(found),
                };
            }
        }
        let filled = |(total, name): (Option<Tensor<f32>>, &String)| {
            total.unwrap_or_else(|| {
                let value = &self.model.parts.params[name].value;
                Tensor::new(value.rows(), value.cols(), vec![0.0; value.data().len()])
            })
        };
        Ok((losses, totals.into_iter().zip(&self.names).map(filled).collect()))
    }

    /// Cuts a batch so that the activations of each part fit the memory.
    fn parts(&self, rows: &[Row]) -> Vec<std::ops::Range<usize>> {
        let plan = Plan { keep: vec![Site::EmbedWord], start: None, record: Record::Gradient };
        let (mut parts, mut first, mut bytes) = (Vec::new(), 0, 0);
        for (i, row) in rows.iter().enumerate() {
            let own = self.model.bytes(row, &plan);
            if bytes + own > self.settings.memory_bytes && i > first {
                parts.push(first..i);
                (first, bytes) = (i, 0);
            }
            bytes += own;
        }
        parts.push(first..rows.len());
        parts
    }
}

impl Settings {
    fn noise<'a>(&self, config: &crate::config::Config, keys: &'a [u64]) -> Option<Noise<'a>> {
        let rates = self.dropout.map_or(config.dropout, |rate| config.dropout.all(rate));
        (rates != crate::config::Rates::default()).then_some(Noise { rates, keys })
    }
}
