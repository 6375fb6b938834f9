//! One model of the debate: trained, kept, and run through the experiments.

use super::super::arms::{self, ArmsRequest, TrainedArms};
use super::super::test::{self, AttentionTestRequest};
use super::{AttentionDebateRequest, DebatedKind};
use crate::Spent;
use crate::methods::debate::{Experiment, TextRecord};
use crate::request::train::{self, SmallRequest, TrainRequest};
use crate::request::{Listener, Stop};
use crate::train::{Epoch, Trainer};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// What was found about one trained model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DebatedModel {
    /// How well the model of the best epoch answers the tested rows: F1, above two classes accuracy.
    pub figure: f64,
    /// Every experiment on the model of the best epoch, one record a text.
    pub best: Vec<TextRecord>,
    /// The correlations of the model of the last epoch.
    pub last: Vec<TextRecord>,
    /// Rows that were run forward for all of it, but for training.
    pub forward_rows: usize,
    /// Rows that were run backward.
    pub backward_rows: usize,
}

/// Where models are trained, and from what.
pub(super) struct ModelFolder<'a> {
    pub(super) request: &'a AttentionDebateRequest,
    pub(super) folder: &'a Path,
    pub(super) train: PathBuf,
    pub(super) dev: PathBuf,
}

/// What a model of the debate is.
#[derive(Debug, Clone, Copy)]
pub(super) struct ModelChoice<'a> {
    pub(super) kind: &'a DebatedKind,
    pub(super) seed: u64,
}

/// Sizes of the models of generated rows.
const GENERATED_EMBEDDING: usize = 50;
const GENERATED_HIDDEN: usize = 32;
/// The adversaries of generated rows: few, so that a newcomer need not wait.
const GENERATED_LAMBDAS: [f64; 2] = [0.005, 0.02];
const GENERATED_EPOCHS: usize = 10;

impl ModelFolder<'_> {
    /// Trains a model, unless an earlier run did, and runs the experiments on it.
    pub(super) fn find(
        &self,
        choice: ModelChoice<'_>,
        stop: &Stop,
        tell: Listener<'_>,
    ) -> Result<DebatedModel> {
        let ModelChoice { kind, seed } = choice;
        let figure = self.trained(kind, seed, stop, tell)?;
        let (best, first) = self.measured(&self.best(kind, seed), None, seed, stop, tell)?;
        let correlation = Some(vec![Experiment::Correlation.name().to_owned()]);
        let (last, second) = self.measured(&self.last(kind, seed), correlation, seed, stop, tell)?;
        let forward_rows = first.forward_rows + second.forward_rows;
        let backward_rows = first.backward_rows + second.backward_rows;
        Ok(DebatedModel { figure, best, last, forward_rows, backward_rows })
    }

    /// The experiments on a model that was trained.
    pub(super) fn test(&self, model: PathBuf, only: Option<Vec<String>>, seed: u64) -> AttentionTestRequest {
        let AttentionDebateRequest {
            text_column,
            pair_column,
            no_header,
            delimiter,
            min_words,
            resources,
            ..
        } = self.request;
        AttentionTestRequest {
            input: Some(self.dev.clone()),
            text_column: text_column.clone(),
            pair_column: pair_column.clone(),
            no_header: *no_header,
            delimiter: delimiter.clone(),
            model: Some(model),
            only,
            min_words: *min_words,
            seed,
            resources: *resources,
            ..AttentionTestRequest::default()
        }
    }

    /// The folder of a model as its best epoch left it.
    pub(super) fn best(&self, kind: &DebatedKind, seed: u64) -> PathBuf {
        self.folder.join(format!("{}-{}-{seed}", kind.kind, kind.attention))
    }

    /// The folder of a model as its last epoch left it.
    pub(super) fn last(&self, kind: &DebatedKind, seed: u64) -> PathBuf {
        self.folder.join(format!("{}-{}-{seed}-last", kind.kind, kind.attention))
    }

    /// Trains models beside the base's, and holds them against its first.
    pub(super) fn arms(&self, base: &DebatedKind, stop: &Stop, tell: Listener<'_>) -> Result<TrainedArms> {
        let (AttentionDebateRequest { seeds, min_words, resources, .. }, seed) =
            (self.request, self.request.seed);
        let published =
            ArmsRequest::new(&self.best(base, seed), &self.train, &self.dev, &self.folder.join("beside"));
        let few = self.request.generates();
        let again = (1..*seeds as u64).map(|i| self.best(base, seed + i)).collect();
        let asked = ArmsRequest {
            seeds: *seeds,
            again,
            min_words: *min_words,
            lambdas: if few { GENERATED_LAMBDAS.to_vec() } else { published.lambdas.clone() },
            adversary_epochs: if few { GENERATED_EPOCHS } else { published.adversary_epochs },
            resources: *resources,
            ..published
        };
        arms::run(&asked, stop, tell)
    }

    fn measured(
        &self,
        model: &Path,
        only: Option<Vec<String>>,
        seed: u64,
        stop: &Stop,
        tell: Listener<'_>,
    ) -> Result<(Vec<TextRecord>, Spent)> {
        let request = self.test(model.to_owned(), only, seed);
        let test = test::open(&request, stop, tell)?;
        let records = test.measure(Vec::new(), tell, &mut |_| Ok(()))?;
        Ok((records, test.spent()))
    }

    /// Trains a model, unless that was done; what its best epoch reached.
    fn trained(&self, kind: &DebatedKind, seed: u64, stop: &Stop, tell: Listener<'_>) -> Result<f64> {
        let output = self.best(kind, seed);
        let described = output.join("training.json");
        if !described.exists() {
            let request = self.training(kind, seed, output);
            let mut ended = |trainer: &Trainer| Ok(trainer.save(&self.last(kind, seed))?);
            train::run_then(&request, &mut ended, stop, tell)?;
        }
        let damaged = || format!("{}: is damaged; remove it to train again", described.display());
        let training: Training = serde_json::from_slice(&fs::read(&described)?).with_context(damaged)?;
        training.figure().with_context(damaged)
    }

    fn training(&self, kind: &DebatedKind, seed: u64, output: PathBuf) -> TrainRequest {
        let AttentionDebateRequest { text_column, pair_column, label_column, positive, .. } =
            self.request.clone();
        let AttentionDebateRequest {
            embedding,
            hidden,
            epochs,
            vectors,
            no_header,
            delimiter,
            resources,
            ..
        } = self.request.clone();
        let own = |size: usize| self.request.generates().then_some(size);
        // It is for the kinds that have states, and others beside them have none.
        let reads = SmallRequest { kind: Some(kind.kind.clone()), ..SmallRequest::default() }.reads_hidden();
        TrainRequest {
            train: vec![self.train.clone()],
            dev: Some(self.dev.clone()),
            output: Some(output),
            overwrite: true,
            small: SmallRequest {
                kind: Some(kind.kind.clone()),
                attention: Some(kind.attention.clone()),
                embedding: embedding.or(own(GENERATED_EMBEDDING).filter(|_| vectors.is_none())),
                hidden: hidden.or(own(GENERATED_HIDDEN)).filter(|_| reads),
                vectors,
                ..SmallRequest::default()
            },
            text_column,
            pair_column,
            label_column,
            no_header,
            delimiter,
            positive,
            epochs,
            seed,
            resources,
            ..TrainRequest::default()
        }
    }
}

/// What is read of `training.json`.
#[derive(Deserialize)]
struct Training {
    labels: Vec<String>,
    best_epoch: usize,
    epochs: Vec<Epoch>,
}

impl Training {
    /// F1 of the best epoch on the tested rows, above two classes accuracy.
    fn figure(&self) -> Option<f64> {
        let best = self.epochs.iter().find(|epoch| epoch.epoch == self.best_epoch)?.dev?;
        if self.labels.len() == 2 { best.f1 } else { best.accuracy }
    }
}
