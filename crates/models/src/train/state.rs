//! The state of an unfinished run, so that a killed one loses minutes and not hours.

use super::schedule::Plateau;
use super::{Data, Epoch, Metric, Sample, Trainer};
use crate::checkpoint::{Checkpoint, Stored, write};
use crate::fault::fault;
use crate::partial;
use crate::weights::matrix;
use exegete_core::{ContentHash, Error, Result, sha256_hex};
use exegete_engine::{Moments, Tensor};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Of the state and of what is drawn from a seed: a state of another version cannot be taken up.
const FORMAT: u32 = 4;
const FILE: &str = "training_state.safetensors";
/// The note of the file that holds the progress.
const NOTE: &str = "exegete.training";

/// How far a run has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// What makes two runs the same run; a state is only taken up by the run that it belongs to.
    identity: RunParts,
    /// Epochs that are over.
    pub(super) epochs: Vec<Epoch>,
    /// Batches of the epoch at hand.
    pub(super) batch: usize,
    /// The sum of its rows' losses.
    pub(super) loss: f64,
    /// Spent in its steps.
    pub(super) seconds: f64,
    /// The best figure so far.
    pub(super) best: Option<f64>,
    /// The epoch of the best figure, from 1.
    pub(super) best_epoch: usize,
    /// The rate of the schedule that halves.
    pub(super) plateau: Plateau,
    /// Steps of the optimiser.
    steps: u64,
}

impl Progress {
    pub(super) fn new(identity: RunParts) -> Self {
        Self {
            identity,
            epochs: Vec::new(),
            batch: 0,
            loss: 0.0,
            seconds: 0.0,
            best: None,
            best_epoch: 0,
            plateau: Plateau::default(),
            steps: 0,
        }
    }
}

/// The parts of what makes two runs the same run, by name: contents, never names of files.
pub(super) type RunParts = BTreeMap<String, String>;

/// What makes two runs the same run.
pub(super) fn identity(trainer: &Trainer, data: &Data, metric: Metric) -> RunParts {
    // Threads and memory change roundings, not the run.
    let settings = super::TrainingSettings { threads: 0, memory_bytes: 0, ..trainer.settings.clone() };
    let parts = &trainer.model.parts;
    let start = format!("{} {}", parts.card.fingerprint, sha256_hex(parts.blueprint.source().as_bytes()));
    let parts = [
        ("version of the state", FORMAT.to_string()),
        ("settings", format!("{settings:?} {:?}", trainer.goal.reads)),
        ("metric", format!("{metric:?}")),
        ("what is made small", trainer.goal.name.clone()),
        ("start", start),
        ("training rows", contents(&data.train)),
        ("dev rows", contents(&data.dev)),
    ];
    parts.map(|(name, value)| (name.to_owned(), value)).into()
}

fn contents(samples: &[Sample]) -> String {
    let mut hash = ContentHash::default();
    for sample in samples {
        let tokens = &sample.row.encoded.tokens;
        hash.field(&tokens.iter().flat_map(|token| token.id.to_le_bytes()).collect::<Vec<u8>>());
        hash.field(&tokens.iter().flat_map(|token| token.type_id.to_le_bytes()).collect::<Vec<u8>>());
        // No weight has the bits of NaN.
        let weights = tokens.iter().map(|token| token.weight.unwrap_or(f32::NAN));
        hash.field(&weights.flat_map(f32::to_le_bytes).collect::<Vec<u8>>());
        hash.field(format!("{:?}", sample.label).as_bytes());
    }
    hash.hex()
}

/// Writes the state of a run.
pub(super) fn save(trainer: &Trainer, dir: &Path, progress: &Progress) -> Result<()> {
    fs::create_dir_all(dir).map_err(|e| fault(dir.display(), format!("cannot be made: {e}")))?;
    let mut tensors = Vec::new();
    for (name, moments) in trainer.names.iter().zip(&trainer.moments) {
        let param = &trainer.model.parts.params[name];
        let Moments { first, second, largest } = moments;
        let parts =
            [("value", param.value.data()), ("first", first), ("second", second), ("largest", largest)];
        for (kind, values) in parts.into_iter().filter(|(_, values)| !values.is_empty()) {
            tensors.push(Stored { name: format!("{kind}/{name}"), shape: &param.shape, values });
        }
    }
    let progress = Progress { steps: trainer.steps, ..progress.clone() };
    let text = serde_json::to_string(&progress).map_err(|e| Error::Request(e.to_string()))?;
    write(&dir.join(FILE), &tensors, &[(NOTE, &text)])
}

/// Takes up a saved state, where there is one of this very run.
pub(super) fn resume(trainer: &mut Trainer, dir: &Path, progress: &mut Progress) -> Result<bool> {
    let path = dir.join(FILE);
    [&path, &dir.join("model.safetensors")].into_iter().for_each(|path| partial::sweep(path));
    if !path.exists() {
        return Ok(false);
    }
    let broken = |what: &str| fault(path.display(), format!("{what}; remove it to start anew"));
    let state = Checkpoint::open_file(&path)?;
    let found: Progress = state
        .note(NOTE)
        .and_then(|text| serde_json::from_str(&text).ok())
        .ok_or_else(|| broken("is no state of a training run"))?;
    let others: Vec<&str> = progress
        .identity
        .iter()
        .filter(|(name, value)| found.identity.get(*name) != Some(value))
        .map(|(name, _)| name.as_str())
        .collect();
    if !others.is_empty() {
        let told = format!("belongs to a run with a difference in: {}; finish that run", others.join(", "));
        return Err(fault(path.display(), format!("{told}, or remove it to start anew")));
    }
    let read = |kind: &str, name: &str, expected: usize| -> Result<Vec<f32>> {
        let values = state.read(&format!("{kind}/{name}"))?;
        let values: &[f32] = values.as_ref();
        if values.len() == expected { Ok(values.to_vec()) } else { Err(broken("does not fit the model")) }
    };
    let mut values = BTreeMap::new();
    for (name, moments) in trainer.names.iter().zip(&mut trainer.moments) {
        let param = &trainer.model.parts.params[name];
        let (rows, cols) = matrix(&param.shape);
        values.insert(name.clone(), Tensor::new(rows, cols, read("value", name, rows * cols)?));
        moments.first = read("first", name, moments.first.len())?;
        if !moments.second.is_empty() {
            moments.second = read("second", name, moments.second.len())?;
        }
        if !moments.largest.is_empty() {
            moments.largest = read("largest", name, moments.largest.len())?;
        }
    }
    trainer.model = trainer.model.replaced(trainer.model.parts.card.clone(), values)?;
    trainer.steps = found.steps;
    *progress = found;
    Ok(true)
}

/// Removes the state of a run that is over.
pub(super) fn remove(dir: &Path) -> Result<()> {
    let path = dir.join(FILE);
    fs::remove_file(&path).map_err(|e| fault(path.display(), format!("cannot be removed: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A figure that came back a little lower would make a tie an improvement, and the resumed run keep another epoch.
    #[test]
    fn the_best_figure_survives_exactly() {
        for right in 0..=872 {
            let progress =
                Progress { best: Some(f64::from(right) / 872.0), ..Progress::new(RunParts::new()) };
            let text = serde_json::to_string(&progress).unwrap();
            assert_eq!(serde_json::from_str::<Progress>(&text).unwrap(), progress);
        }
    }
}
