//! Training: any family as a classifier of texts or pairs, over the engine's parameter gradients.
//!
//! 1. [`Start`] says where the parameters come from; [`Trainer::new`] builds the model with the head that the data needs.
//! 2. [`Trainer::step`] takes one batch: loss, gradient, clipping, one step of the [`Optimiser`].
//! 3. [`fit`] goes through the epochs: order, schedule, evaluation, the best model kept, safe checkpoints, resuming.
//!
//! What is made small is a [`TrainingLoss`]: the supervised loss by default, or any function of the logits and of sites that
//! it asks for, written on the same tape.

mod class_weights;
mod defaults;
mod evaluate;
mod fit;
mod lock;
mod schedule;
mod settings;
mod start;
mod state;

pub use class_weights::ClassWeights;
pub use defaults::{Recipe, TrainingDefaults};
pub use evaluate::{Metric, Metrics, evaluate};
pub use fit::{Data, Epoch, Event, TrainingRun, fit};
pub use settings::{Keep, Reduction, Schedule, TrainingSettings};
pub use start::{Start, TrainedHead};

use crate::forward::cut;
use crate::learner::{LossBatch, Pulled};
use crate::loss::{Objective, supervised};
use crate::opened::{Opened, Parts};
use crate::run::Noise;
use crate::weights::Param;
use exegete_core::{Axis, Encoded, Error, Example, Label, Learner, Model, Open, Result, Row, Site, Token};
pub use exegete_engine::Optimiser;
use exegete_engine::{Context, Moments, ParamGrad, Tensor, Update};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What helps a run whose numbers grew without end.
const ADVICE: &str = "lower the rate, or clip gradients to a smaller length";

/// Below this many tokens a thread, the sum of gradients costs more than the waiting it saves.
const LEAST_TOKENS: usize = 64;

/// One text or pair with what the model should answer.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The tokens of the text or pair.
    pub row: Row,
    /// The right answer for the row.
    pub label: Label,
}

/// What training makes small.
pub struct TrainingLoss {
    /// What tells it from others, such as `lambda 0.1`; empty for the supervised loss. A run is only taken up again with the
    /// loss of the same name, and one that diverges says it.
    pub name: String,
    /// Sites whose values the losses read beside the logits.
    pub reads: Vec<Site>,
    /// The loss of every row.
    pub losses: Box<Objective<f32>>,
}

impl Default for TrainingLoss {
    fn default() -> Self {
        Self { name: String::new(), reads: Vec::new(), losses: Box::new(supervised::<f32>) }
    }
}

/// A model in training, with what its optimiser remembers.
pub struct Trainer {
    model: Opened<f32>,
    settings: TrainingSettings,
    goal: TrainingLoss,
    names: Vec<String>,
    /// All names but that of the word vectors, of which a batch touches few rows.
    dense: Vec<String>,
    /// What each parameter's rate is multiplied by, in the order of the names.
    shares: Vec<f64>,
    /// The weight decay of each parameter, in the order of the names.
    decays: Vec<f64>,
    /// The longest row of each parameter, in the order of the names.
    longest: Vec<Option<f64>>,
    moments: Vec<Moments<f32>>,
    steps: u64,
    /// Parameters that no file held and that start from random numbers.
    fresh: Vec<String>,
    /// Files that belong to the model beside its weights: the tokenizer's.
    companions: Vec<(String, Vec<u8>)>,
}

/// What one step did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrainingStep {
    /// The mean loss of the batch before the step.
    pub loss: f64,
    /// The length of the gradient before clipping.
    pub norm: f64,
    /// The rate it was taken with.
    pub rate: f64,
}

impl Trainer {
    /// A model at its start, with a head for these answers.
    pub fn new(
        start: &Start,
        head: &TrainedHead,
        settings: TrainingSettings,
        goal: TrainingLoss,
    ) -> Result<Self> {
        settings.check()?;
        let start::Started { model, fresh, companions } = start::open(start, head, &settings)?;
        let names: Vec<String> = model.parts.params.keys().cloned().collect();
        let moments = names.iter().map(|name| {
            let len = model.parts.params[name].value.data().len();
            settings.optimiser.moments(len)
        });
        let moments = moments.collect();
        settings.check_classes(model.parts.card.labels.len())?;
        let goal = goal.weighted(&settings.class_weights);
        let axes: Vec<usize> = names.iter().map(|name| model.parts.params[name].shape.len()).collect();
        let decays = settings.decays(&names, &axes)?;
        let longest = settings.longest_rows(&model.parts.groups, &names, &axes);
        let shares = settings.layer_shares(&model.parts.groups);
        let shares = names.iter().map(|name| shares[name.as_str()]).collect();
        let word = &model.parts.word.name;
        let dense = names.iter().filter(|name| ***name != **word).cloned().collect();
        Ok(Self {
            model,
            settings,
            goal,
            names,
            dense,
            shares,
            decays,
            longest,
            moments,
            steps: 0,
            fresh,
            companions,
        })
    }

    /// The model as it is now.
    pub fn model(&self) -> &dyn Model {
        &self.model
    }

    /// Makes something else small from now on, as it may depend on the model at its start and on the rows as that reads them.
    pub fn pursue(&mut self, goal: TrainingLoss) {
        self.goal = goal.weighted(&self.settings.class_weights);
    }

    /// Parameters that no file held and that started from random numbers.
    pub fn fresh(&self) -> &[String] {
        &self.fresh
    }

    /// An example with its label to learn from, cut to the settings' length. The label of a model that writes is the example's
    /// second field, whatever is given.
    pub fn sample(&self, example: &Example, label: Label) -> Result<Sample> {
        let most = self.settings.max_tokens.unwrap_or(usize::MAX);
        let encoded = match &self.model.parts.tokenizer {
            Some(tokenizer) => tokenizer.encode_within(example, most)?,
            None => self.model.encode(example)?,
        };
        Ok(self.labelled(encoded, label))
    }

    /// A row with its label; where the model writes, that is the target that the row brings.
    fn labelled(&self, encoded: Encoded, label: Label) -> Sample {
        let label = if self.model.parts.blueprint.limits().target.is_some() {
            let written = encoded.tokens.iter().filter(|token| token.type_id == 1);
            Label::Tokens(written.map(|token| Some(token.id as usize)).collect())
        } else {
            label
        };
        Sample { row: Row::new(encoded), label }
    }

    /// An example with its label to be measured on, as whole as the model will read it.
    pub fn measured(&self, example: &Example, label: Label) -> Result<Sample> {
        Ok(self.labelled(self.model.encode(example)?, label))
    }

    /// A step can leave weights that no later step would notice.
    fn check_finite(&self) -> Result<()> {
        let bad = |(_, param): &(&String, &Param<f32>)| !param.value.data().iter().all(|x| x.is_finite());
        match self.model.parts.params.iter().find(bad) {
            Some((name, _)) => {
                let (step, rate) = (self.steps, self.settings.rate);
                let goal = self.of_goal();
                let what =
                    format!("'{name}' is not finite after step {step}{goal} at a rate of up to {rate:?}");
                Err(Error::Model(format!("training diverged: {what}; {ADVICE}")))
            }
            None => Ok(()),
        }
    }

    /// Writes the model as a Hugging Face folder.
    pub fn save(&self, dir: &Path) -> Result<()> {
        crate::save::folder(&self.model, &self.companions, dir)
    }

    /// Learns from one batch. `keys` are the random keys of the rows' dropout; the rate is multiplied by `share`.
    pub fn step(&mut self, batch: &[&Sample], keys: &[u64], share: f64) -> Result<TrainingStep> {
        let rate = self.settings.rate * share;
        let (losses, gradients) = self.gradient(batch, keys).map_err(|error| match error {
            // The files were sound when they were read: what a step finds wrong with the weights is its own doing.
            Error::Model(what) => self.diverged(rate, &what),
            other => other,
        })?;
        let labels = batch.iter().map(|sample| &sample.label);
        let loss = mean_loss(&losses, labels);
        let ctx = self.model.parts.ctx.clone();
        let norm = gradients.iter().map(|gradient| gradient.squared_norm(&ctx)).sum::<f64>().sqrt();
        if !loss.is_finite() || !norm.is_finite() {
            return Err(self.diverged(rate, &format!("loss {loss}, gradient {norm}")));
        }
        self.steps += 1;
        let scale = self.settings.clip.map_or(1.0, |most| (most / (norm + 1e-6)).min(1.0));
        let mut after = BTreeMap::new();
        for (at, (name, moments)) in self.names.iter().zip(&mut self.moments).enumerate() {
            if self.settings.freeze_words && **name == *self.model.parts.word.name {
                continue;
            }
            let param = &self.model.parts.params[name];
            let (rate, decay) = (rate * self.shares[at], self.decays[at]);
            let update = Update { rate, decay, scale, step: self.steps };
            let optimiser = &self.settings.optimiser;
            let value =
                ctx.install(|| optimiser.step(&ctx, &update, (&param.value, &gradients[at]), moments));
            let value = match self.longest[at] {
                Some(most) => shortened(&value, most),
                None => value,
            };
            after.insert(name.clone(), value);
        }
        self.model = self.model.replaced(self.model.parts.card.clone(), after)?;
        Ok(TrainingStep { loss, norm, rate })
    }

    /// What messages say of a goal that has a name.
    fn of_goal(&self) -> String {
        if self.goal.name.is_empty() { String::new() } else { format!(" of {}", self.goal.name) }
    }

    fn diverged(&self, rate: f64, what: &str) -> Error {
        let step = self.steps + 1;
        let goal = self.of_goal();
        Error::Model(format!(
            "training diverged in step {step}{goal} at learning rate {rate:?}: {what}; {ADVICE}"
        ))
    }

    /// The loss of each row, and the gradient of their mean or sum for every parameter, in the order of their names.
    pub fn gradient(&self, batch: &[&Sample], keys: &[u64]) -> Result<(Vec<f64>, Vec<ParamGrad<f32>>)> {
        let rows: Vec<Row> = batch.iter().map(|sample| sample.row.clone()).collect();
        let labels: Vec<Label> = batch.iter().map(|sample| sample.label.clone()).collect();
        if keys.len() != batch.len() {
            return Err(Error::Request(format!("{} rows but {} keys", batch.len(), keys.len())));
        }
        let Parts { ctx, params, word, network, .. } = &self.model.parts;
        let axes = network.sites().get(network.sites().words()?)?.axes.clone();
        let has_vector = |token: &Token| match axes.first() {
            Some(Axis::FieldToken(field)) => token.type_id == *field,
            _ => true,
        };
        let mut losses = Vec::with_capacity(batch.len());
        let zero = |param: &Param<f32>| ParamGrad::zero(param.value.rows(), param.value.cols());
        let mut words = zero(word);
        let mut slopes: Vec<ParamGrad<f32>> = self.dense.iter().map(|name| zero(&params[name])).collect();
        for part in self.parts(&rows) {
            for (piece, pulled) in self.pull(&rows, &labels, keys, part) {
                let Pulled { losses: lost, gradients, words: vectors } = pulled?;
                losses.extend(lost.value.data().iter().map(|&loss| f64::from(loss)));
                let tokens =
                    rows[piece].iter().flat_map(|row| &row.encoded.tokens).filter(|token| has_vector(token));
                let vectors = vectors.iter().flat_map(|vectors| vectors.data().chunks_exact(vectors.cols()));
                let own = tokens.zip(vectors).filter(|(token, _)| network.reads_words(token));
                own.for_each(|(token, vector)| words.add_row(token.id as usize, vector));
                let found = slopes.iter_mut().zip(gradients);
                let found = found.filter_map(|(slope, gradient)| Some((slope, gradient?)));
                ctx.install(|| found.for_each(|(slope, gradient)| slope.add(ctx, gradient)));
            }
        }
        // The words' place among the names, which are sorted.
        let at = self.dense.partition_point(|name| **name < *word.name);
        slopes.insert(at, words);
        Ok((losses, slopes))
    }

    /// The mean over rows of what training makes small, without dropout.
    pub(crate) fn goal_of(&self, samples: &[Sample], stop: &AtomicBool) -> Result<f64> {
        let Parts { ctx, network, .. } = &self.model.parts;
        let mut losses = Vec::with_capacity(samples.len());
        for batch in samples.chunks(self.settings.batch) {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            let (rows, labels): (Vec<Row>, Vec<Label>) =
                batch.iter().map(|sample| (sample.row.clone(), sample.label.clone())).unzip();
            for part in self.parts(&rows) {
                let (keep, objective) = (&*self.goal.reads, &*self.goal.losses);
                let (rows, labels) = (&rows[part.clone()], &labels[part]);
                let batch =
                    LossBatch { rows, labels, select: &[], words: false, keep, objective, noise: None };
                let found = self.model.pulled(ctx, &**network, &batch, |_| 1.0)?.losses;
                losses.extend(found.value.data().iter().map(|&loss| f64::from(loss)));
            }
        }
        Ok(mean_loss(&losses, samples.iter().map(|sample| &sample.label)))
    }

    /// Losses and gradients of some rows of a batch: one piece for each thread where there is enough to do, since
    /// threads that need not wait for each other are faster by more than the sum of their gradients costs.
    fn pull(
        &self,
        rows: &[Row],
        labels: &[Label],
        keys: &[u64],
        part: Range<usize>,
    ) -> Vec<(Range<usize>, Result<Pulled<f32>>)> {
        let ctx = &self.model.parts.ctx;
        let shares = self.settings.reduction.shares(labels);
        let pull = |ctx: &Arc<Context<f32>>, piece: Range<usize>| {
            let batch = LossBatch {
                rows: &rows[piece.clone()],
                labels: &labels[piece.clone()],
                select: &self.dense,
                words: !self.settings.freeze_words,
                keep: &self.goal.reads,
                objective: &*self.goal.losses,
                noise: self.settings.noise(&self.model.parts.blueprint, &keys[piece.clone()], self.steps),
            };
            let share = |row: usize| shares[piece.start + row];
            let pulled = self.model.pulled(ctx, &*self.model.parts.network, &batch, share);
            (piece, pulled)
        };
        let tokens: usize = rows[part.clone()].iter().map(|row| row.encoded.len()).sum();
        // Each piece has a gradient of its own, which must fit the memory as well.
        let bytes = self.model.parts.card.parameters * size_of::<f32>();
        let most = (self.settings.memory_bytes / bytes.max(1)).clamp(1, ctx.threads());
        if most == 1 || tokens < ctx.threads() * LEAST_TOKENS {
            return vec![pull(ctx, part)];
        }
        let pieces = cut(&rows[part.clone()], most, 1);
        let serial = ctx.serial(pieces.len());
        ctx.map(&pieces, |piece| pull(&serial, part.start + piece.start..part.start + piece.end))
    }

    /// Refuses a row that the memory cannot hold even by itself.
    fn check_fits(&self, row: &Row) -> Result<()> {
        let (needed, allowed) = (self.model.learning_bytes(row), self.settings.memory_bytes);
        if needed <= allowed {
            return Ok(());
        }
        let tokens = row.encoded.len();
        Err(Error::Request(format!(
            "learning from one text of {tokens} tokens needs {needed} bytes of activations, {allowed} are allowed; raise --memory, \
             shorten it or lower --max-tokens"
        )))
    }

    /// Cuts a batch so that the activations of each part fit the memory, or of a single row in the part.
    fn parts(&self, rows: &[Row]) -> Vec<Range<usize>> {
        let (mut parts, mut first, mut bytes) = (Vec::new(), 0, 0);
        for (i, row) in rows.iter().enumerate() {
            let own = self.model.learning_bytes(row);
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

impl Reduction {
    /// What each row's loss counts in that of a batch.
    fn shares(self, labels: &[Label]) -> Vec<f64> {
        match self {
            Self::Mean => vec![1.0 / labels.len() as f64; labels.len()],
            Self::Sum => vec![1.0; labels.len()],
            Self::Places => {
                let all: usize = labels.iter().map(places).sum();
                labels.iter().map(|label| places(label) as f64 / all as f64).collect()
            }
        }
    }
}

/// How many places a label is about: where a model answers for each, those that count.
fn places(label: &Label) -> usize {
    match label {
        Label::Tokens(classes) => classes.iter().flatten().count(),
        _ => 1,
    }
}

/// The mean loss over all places of some rows.
fn mean_loss<'a>(losses: &[f64], labels: impl Iterator<Item = &'a Label>) -> f64 {
    let (mut sum, mut count) = (0.0, 0);
    for (loss, label) in losses.iter().zip(labels) {
        sum += loss * places(label) as f64;
        count += places(label);
    }
    sum / count.max(1) as f64
}

/// The same matrix, rows that are longer than this scaled down to it.
fn shortened(value: &Tensor<f32>, most: f64) -> Tensor<f32> {
    let (rows, cols) = (value.rows(), value.cols());
    let mut data = value.data().to_vec();
    for row in data.chunks_exact_mut(cols.max(1)) {
        let length = row.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        if length > most {
            row.iter_mut().for_each(|x| *x *= (most / length) as f32);
        }
    }
    Tensor::new(rows, cols, data)
}

impl TrainingSettings {
    /// What is random in the step after so many others.
    fn noise<'a>(
        &self,
        blueprint: &crate::blueprint::Blueprint,
        keys: &'a [u64],
        steps: u64,
    ) -> Option<Noise<'a>> {
        let (rates, forcing) = (blueprint.dropout(self.dropout), self.teacher_forcing);
        let any = rates != crate::config::Rates::default() || forcing < 1.0;
        // No row has this number: the draws of a batch are its own, and those of its step wherever it is cut.
        let batch = schedule::key(self.seed, steps + 1, u64::MAX);
        any.then_some(Noise { rates, keys, forcing, batch })
    }
}
