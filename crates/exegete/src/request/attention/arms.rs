//! Models trained beside the one that is tested: S. Wiegreffe and Y. Pinter, *Attention is not not explanation*, 2019.
//!
//! 1. `base` is the tested model: what `training.json` says of its training, its answers and its weights of every row.
//! 2. Each arm is a training request made from that of the base (`arm`), trained into a folder of its own and measured on the
//!    dev rows; its record lies beside the folder, so that a killed run goes on after the last record (`bench`).
//! 3. `imposed` has the weights that guides are trained and measured under.
//! 4. [`run`] trains the arms of the experiments that are asked for, in an order in which each has what it needs.

mod arm;
mod base;
mod bench;
mod imposed;

use super::super::{Listener, Resources, Stop};
use crate::methods::debate::training::{ADVERSARY_EPOCHS, LAMBDAS};
use crate::methods::debate::{Arm, ArmRecord, Experiment, PlaceChoice};
use anyhow::Result;
use arm::Planned;
use base::Base;
pub(crate) use base::refused;
use bench::Bench;
use std::path::{Path, PathBuf};

/// What is trained beside a model, and on what.
#[derive(Debug, Clone)]
pub(crate) struct ArmsRequest {
    /// The folder of the tested model, with its `training.json`.
    pub(crate) model: PathBuf,
    /// Rows to learn from.
    pub(crate) train: PathBuf,
    /// Rows to measure on, and to choose epochs by.
    pub(crate) dev: PathBuf,
    /// Which of the experiments that train are wanted; others are passed over.
    pub(crate) experiments: Vec<Experiment>,
    /// Which attention is tested, where there is more than one.
    pub(crate) choice: PlaceChoice,
    /// How many seeds, the model's own counted.
    pub(crate) seeds: usize,
    /// The folders of the same model with the seeds that follow, where they are trained already.
    pub(crate) again: Vec<PathBuf>,
    /// Dev rows with fewer words are not measured.
    pub(crate) min_words: usize,
    /// The λ that adversaries are trained with.
    pub(crate) lambdas: Vec<f64>,
    /// How often an adversary sees every row at most.
    pub(crate) adversary_epochs: usize,
    /// The folder that models and records are written below; whoever asks removes it when nothing more is wanted.
    pub(crate) work: PathBuf,
    /// What the runs may use.
    pub(crate) resources: Resources,
}

impl ArmsRequest {
    /// All experiments on a model as they are published, five seeds.
    pub(crate) fn new(model: &Path, train: &Path, dev: &Path, work: &Path) -> Self {
        Self {
            model: model.to_owned(),
            train: train.to_owned(),
            dev: dev.to_owned(),
            experiments: Experiment::ALL.to_vec(),
            choice: PlaceChoice::default(),
            seeds: 5,
            again: Vec::new(),
            min_words: 6,
            lambdas: LAMBDAS.to_vec(),
            adversary_epochs: ADVERSARY_EPOCHS,
            work: work.to_owned(),
            resources: Resources::default(),
        }
    }
}

/// What was trained, and what it is held against.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrainedArms {
    /// The tested model first, then every model that was trained.
    pub records: Vec<ArmRecord>,
    /// The tested model's weights of every text that was measured.
    pub alpha: Vec<Vec<f64>>,
    /// What was left out.
    pub notes: Vec<String>,
}

/// Trains the arms of the experiments that are asked for, and that the model can have, and holds each against the model.
pub(crate) fn run(asked: &ArmsRequest, stop: &Stop, tell: Listener<'_>) -> Result<TrainedArms> {
    let base = Base::open(asked, stop)?;
    let wants = |experiment| asked.experiments.contains(&experiment) && base.refused(experiment).is_none();
    let [uniform, seeds, guide, adversary] =
        [Experiment::Uniform, Experiment::Seeds, Experiment::Guide, Experiment::AdversarialTraining]
            .map(wants);
    // Guides need the adversary's weights where a model can have an adversary, whether that is asked for or not.
    let sweeps = adversary || (guide && base.refused(Experiment::AdversarialTraining).is_none());
    let own_seed = base.request.seed;
    let from = |first: u64| (first..).map(move |after| own_seed.wrapping_add(after));
    let own: Vec<u64> = from(0).take(asked.seeds).collect();
    let others: Vec<u64> = from(1).take(asked.seeds).collect();
    let (again, repeats) = (own.get(1..).unwrap_or_default(), others.get(1..).unwrap_or_default());
    let counts = [
        (sweeps, asked.lambdas.len()),
        (adversary, repeats.len()),
        (seeds, again.len()),
        (uniform, own.len()),
        (guide, own.len() * if sweeps { 4 } else { 3 }),
    ];
    let planned = counts.into_iter().filter(|(wanted, _)| *wanted).map(|(_, count)| count).sum();
    let mut bench = Bench::new(asked, base, planned, stop)?;
    if let (true, Some(&first)) = (sweeps, others.first()) {
        bench.adversaries(first, if adversary { repeats } else { &[] }, tell)?;
    }
    for &seed in again.iter().filter(|_| seeds) {
        bench.train(&Planned::new(Arm::Base, seed), None, tell)?;
    }
    for &seed in own.iter().filter(|_| uniform) {
        bench.train(&Planned::new(Arm::Uniform, seed), None, tell)?;
    }
    if guide {
        bench.guides(&own, tell)?;
    }
    Ok(bench.done())
}
