//! The models that are trained: one request each, a folder each, and what they are called.

use super::rows::file;
use super::{AttentionDeceiveRequest, DeceivePenalty};
use crate::methods::deceive::{HiddenPlace, Impermissible, restricted_sites, restrictions};
use crate::request::train::{OtherGoal, OtherReading, SmallRequest, TrainRequest, run_reading};
use crate::request::{Listener, Stop};
use crate::train::{AttentionPenalty, Data, Metric, PenaltyOver, Reduction, TrainingLoss};
use crate::{Edit, Encoded, Model};
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a model is trained.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ArmKind {
    /// With the penalty times λ.
    Trained(f64),
    /// On texts without their impermissible words.
    Removed,
    /// With the same weight for every word.
    Uniform,
    /// Without attention, on states as they are.
    None,
}

/// A model that is trained.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Arm {
    pub(super) kind: ArmKind,
    pub(super) seed: u64,
}

impl Arm {
    /// All that are trained, those of one seed after the other.
    pub(super) fn all(request: &AttentionDeceiveRequest) -> Result<Vec<Self>> {
        let mut kinds: Vec<ArmKind> = request.lambdas()?.into_iter().map(ArmKind::Trained).collect();
        if !request.writes() {
            kinds.push(ArmKind::Removed);
        }
        kinds.push(ArmKind::Uniform);
        if request.kind.is_some() {
            kinds.push(ArmKind::None);
        }
        let seeds = request.seed..request.seed.saturating_add(request.seeds as u64);
        Ok(seeds.flat_map(|seed| kinds.iter().map(move |&kind| Self { kind, seed })).collect())
    }

    /// What it is called in the table.
    pub(super) fn name(&self) -> &'static str {
        match self.kind {
            ArmKind::Trained(_) => "trained",
            ArmKind::Removed => "removed",
            ArmKind::Uniform => "uniform",
            ArmKind::None => "none",
        }
    }

    /// λ, where it is trained with one.
    pub(super) fn lambda(&self) -> Option<f64> {
        match self.kind {
            ArmKind::Trained(lambda) => Some(lambda),
            _ => None,
        }
    }

    /// How people are told of it.
    pub(super) fn said(&self) -> String {
        let name = self.lambda().map_or_else(|| self.name().to_owned(), named);
        format!("{name}, seed {}", self.seed)
    }

    /// The folder of its model.
    pub(super) fn folder(&self, work: &Path) -> PathBuf {
        work.join(self.said().replace(", ", "-").replace(' ', "-"))
    }
}

/// λ by name, without more digits than it has.
pub(super) fn named(lambda: f64) -> String {
    if lambda == 0.0 || (1e-3..1e6).contains(&lambda) {
        format!("lambda {lambda}")
    } else {
        format!("lambda {lambda:e}")
    }
}

/// Trains a model into its folder, unless an earlier run did.
pub(super) fn train(
    request: &AttentionDeceiveRequest,
    arm: Arm,
    work: &Path,
    words: &Arc<Impermissible>,
    stop: &Stop,
    tell: Listener<'_>,
) -> Result<PathBuf> {
    let output = arm.folder(work);
    // The state of an unfinished run goes last, after the report of a finished one is written.
    let finished = output.join("training.json").exists();
    if finished && !output.join("training_state.safetensors").exists() {
        return Ok(output);
    }
    let asked = training(request, arm, work, &output);
    let lambda = arm.lambda().unwrap_or(0.0);
    let loss = |model: &dyn Model, data: &Data| goal(request, arm, lambda, words, model, data);
    let edits = |model: &dyn Model, encoded: &Encoded| edits(request, arm, words, model, encoded);
    let goal = OtherGoal { metric: Some(Metric::Goal), loss: &loss };
    let reading = OtherReading {
        // The published loss and its penalty are means over the batch.
        reduction: (!request.writes()).then_some(Reduction::Mean),
        edits: Some(&edits),
    };
    run_reading(&asked, &goal, &reading, stop, tell)?;
    Ok(output)
}

/// What is asked of training.
fn training(request: &AttentionDeceiveRequest, arm: Arm, work: &Path, output: &Path) -> TrainRequest {
    let prefix = if arm.kind == ArmKind::Removed { "removed." } else { "" };
    let rows = |name: &str| file(work, &format!("{prefix}{name}"));
    let (small, writes) = (request.kind.is_some(), request.writes());
    let attention = match arm.kind {
        ArmKind::Uniform if small => Some("uniform".to_owned()),
        ArmKind::None => Some("none".to_owned()),
        _ => request.attention.clone(),
    };
    let [classifier, transformer] = [small && !writes, !small];
    let kind = SmallRequest { kind: request.kind.clone(), ..SmallRequest::default() };
    TrainRequest {
        train: vec![rows("train")],
        dev: Some(rows("dev")),
        output: Some(output.to_owned()),
        model: request.model.clone(),
        small: SmallRequest {
            kind: request.kind.clone(),
            attention,
            embedding: request.embedding.or((classifier && request.vectors.is_none()).then_some(128)),
            hidden: request.hidden.or(classifier.then_some(64)).filter(|_| kind.reads_hidden()),
            vectors: request.vectors.clone(),
            ..SmallRequest::default()
        },
        text_column: Some("text".to_owned()),
        pair_column: (writes || request.pair_column.is_some()).then(|| "pair".to_owned()),
        class_weights: (!writes).then(|| "none".to_owned()),
        epochs: request.epochs.or(if transformer { Some(4) } else { classifier.then_some(30) }),
        batch: request.batch.or((!writes).then_some(16)),
        rate: request.rate.or(if transformer { Some(2e-5) } else { classifier.then_some(5e-3) }),
        amsgrad: classifier.then_some(false),
        decay: classifier.then_some(0.0),
        patience: request.patience.or(classifier.then_some(5)),
        seed: arm.seed,
        resources: request.resources,
        ..TrainRequest::default()
    }
}

/// The task's loss with the penalty.
fn goal(
    request: &AttentionDeceiveRequest,
    arm: Arm,
    lambda: f64,
    words: &Arc<Impermissible>,
    model: &dyn Model,
    data: &Data,
) -> Result<TrainingLoss> {
    let name = format!("{}, {:?}, restricted {}", arm.said(), request.penalty, request.restricted);
    if arm.lambda().is_none() {
        return Ok(TrainingLoss { name, ..TrainingLoss::default() });
    }
    let place = HiddenPlace::find(model)?;
    let scores = place.trained()?;
    if !data.train.iter().any(|sample| !place.rows(&sample.row.encoded, words).is_empty()) {
        bail!(
            "no row to learn from has both impermissible and other words, so that attention can hide nothing; \
             name other words with --impermissible"
        );
    }
    let words = words.clone();
    let marked = move |encoded: &Encoded| {
        place.rows(encoded, &words).into_iter().map(|row| (row.start, row.marked)).collect()
    };
    let over = match request.penalty {
        DeceivePenalty::Mean => PenaltyOver::Mean,
        DeceivePenalty::Worst => PenaltyOver::Worst,
    };
    let penalty = AttentionPenalty { scores, marked: Box::new(marked), over, weight: lambda };
    Ok(penalty.training_loss(name))
}

/// What is changed inside the model whenever it reads a row: nothing but for restricted and for uniform transformers.
pub(super) fn edits(
    request: &AttentionDeceiveRequest,
    arm: Arm,
    words: &Impermissible,
    model: &dyn Model,
    encoded: &Encoded,
) -> Result<Vec<Edit>> {
    let mut edits = Vec::new();
    if request.restricted {
        edits.extend(restrictions(&restricted_sites(model)?, &words.tokens(encoded)));
    }
    if arm.kind == ArmKind::Uniform && request.kind.is_none() {
        edits.push(HiddenPlace::find(model)?.evened(encoded));
    }
    Ok(edits)
}
