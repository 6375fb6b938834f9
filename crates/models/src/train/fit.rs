use super::evaluate::{Metric, Metrics, measure, right_classes};
use super::lock::Lock;
use super::schedule::{batches, key, share};
use super::settings::{Keep, Schedule, TrainingSettings};
use super::state::{self, Progress};
use super::{Sample, Trainer, TrainingStep};
use exegete_core::{Error, Label, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// What a run learns from and what it is measured on.
#[derive(Debug, Clone, Default)]
pub struct Data {
    /// Rows to learn from.
    pub train: Vec<Sample>,
    /// Rows to choose the best epoch by; may be empty.
    pub dev: Vec<Sample>,
}

/// Where a run leaves its results.
#[derive(Debug, Clone)]
pub struct TrainingRun<'a> {
    /// The folder that will hold the model, and the state while the run lasts.
    pub output: &'a Path,
    /// Steps between two saved states; 0 for none but at the end of an epoch.
    pub save_every: usize,
    /// What the best epoch is chosen by.
    pub metric: Metric,
    /// Set from anywhere, it stops the run after the step at hand, with its state saved.
    pub stop: Arc<AtomicBool>,
}

/// One pass over the training rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Which epoch, from 1.
    pub epoch: usize,
    /// The mean loss over the epoch, each batch before its step, with dropout.
    pub train_loss: f64,
    /// What was measured on the rows held out, where there are any.
    pub dev: Option<Metrics>,
    /// Whether the model was written: it was the best so far, or the last one is to be kept.
    pub kept: bool,
    /// Seconds that were spent in training steps.
    pub seconds: f64,
}

/// What a run tells while it goes on.
#[derive(Debug)]
pub enum Event<'a> {
    /// It begins, and nothing was written yet; an error leaves the folder as it was.
    Started {
        /// How many steps there will be.
        total: usize,
    },
    /// It continues from a saved state.
    Resumed {
        /// How many steps were already taken.
        steps: usize,
        /// How many there will be.
        total: usize,
    },
    /// One step was taken.
    Step {
        /// How many so far.
        done: usize,
        /// How many there will be.
        total: usize,
        /// What the step measured.
        step: &'a TrainingStep,
    },
    /// An epoch ended, with these measurements.
    Epoch(&'a Epoch),
}

/// Trains for the settings' number of epochs and leaves the best model in the output folder.
///
/// A run that was killed is taken up again from its last saved state and reaches the same weights, one that was stopped
/// ([`Error::Stopped`], by [`TrainingRun::stop`] or by `watch`) from where it was; a state left by other settings or data is refused,
/// and so are a folder that another process is training into and a row that the memory cannot hold. Loss functions cannot be
/// compared; the names of a [`TrainingLoss`](super::TrainingLoss) are.
pub fn fit(
    trainer: &mut Trainer,
    data: &Data,
    run: &TrainingRun<'_>,
    watch: &mut dyn FnMut(&Event<'_>) -> Result<()>,
) -> Result<Vec<Epoch>> {
    check(trainer, data, run.metric)?;
    let _lock = Lock::take(run.output)?;
    let settings = trainer.settings.clone();
    let identity = state::identity(trainer, data, run.metric);
    let lengths: Vec<usize> = data.train.iter().map(|sample| sample.row.encoded.len()).collect();
    let each = data.train.len().div_ceil(settings.batch);
    let total = each * settings.epochs;
    let mut progress = Progress::new(identity);
    if state::resume(trainer, run.output, &mut progress)? {
        watch(&Event::Resumed { steps: progress.epochs.len() * each + progress.batch, total })?;
    } else {
        watch(&Event::Started { total })?;
        // A folder that cannot be written, or a full disk, shows now and not after an hour.
        state::save(trainer, run.output, &progress)?;
    }
    while progress.epochs.len() < settings.epochs && !out_of_patience(&progress, settings.patience) {
        let epoch = progress.epochs.len();
        for batch in batches(&lengths, &settings, epoch).iter().skip(progress.batch) {
            let started = Instant::now();
            let done = epoch * each + progress.batch;
            let keys: Vec<u64> =
                batch.iter().map(|&row| key(settings.seed, done as u64 + 1, row as u64)).collect();
            let samples: Vec<&Sample> = batch.iter().map(|&row| &data.train[row]).collect();
            let share = match settings.schedule {
                Schedule::Linear => share(done, total, settings.warmup),
                Schedule::Constant => 1.0,
                Schedule::Halve => progress.plateau.share,
            };
            let step = trainer.step(&samples, &keys, share)?;
            progress.batch += 1;
            progress.loss += step.loss * batch.len() as f64;
            progress.seconds += started.elapsed().as_secs_f64();
            let told = watch(&Event::Step { done: done + 1, total, step: &step });
            let stopped = run.stop.load(Ordering::Relaxed) || told == Err(Error::Stopped);
            if stopped || (run.save_every > 0 && (done + 1).is_multiple_of(run.save_every)) {
                state::save(trainer, run.output, &progress)?;
            }
            told?;
            if stopped {
                return Err(Error::Stopped);
            }
        }
        let ended = end_epoch(trainer, data, run, &mut progress);
        if matches!(ended, Ok(()) | Err(Error::Stopped)) {
            state::save(trainer, run.output, &progress)?;
        }
        ended?;
        if let Some(epoch) = progress.epochs.last() {
            watch(&Event::Epoch(epoch))?;
        }
    }
    state::remove(run.output)?;
    Ok(progress.epochs)
}

/// What would only show after the first epoch, or not at all.
fn check(trainer: &Trainer, data: &Data, metric: Metric) -> Result<()> {
    let Trainer { settings, .. } = trainer;
    if data.train.is_empty() {
        return Err(Error::Input("there are no rows to learn from".into()));
    }
    data.train.iter().try_for_each(|sample| trainer.check_fits(&sample.row))?;
    let watched =
        settings.schedule == Schedule::Halve || settings.patience.is_some() || metric == Metric::Goal;
    if data.dev.is_empty() && metric.needs_dev() && watched {
        let what =
            "halving the rate, patience and the goal as metric need rows to measure on; give a dev file";
        return Err(Error::Request(what.into()));
    }
    let classes = trainer.model().card().labels.len();
    let positive = settings.positive.unwrap_or(classes.saturating_sub(1));
    let numbers = data.dev.iter().any(|sample| matches!(sample.label, Label::Value(_)));
    let rows = data.dev.iter().filter(|sample| right_classes(&sample.label).contains(&positive)).count();
    if metric == Metric::Auc && !data.dev.is_empty() && !numbers && (rows == 0 || rows == data.dev.len()) {
        let what = "the area under the curve needs dev rows with and without the positive class";
        return Err(Error::Request(format!("{what}; choose another metric")));
    }
    Ok(())
}

/// Whether so many epochs in a row brought nothing better that the run ends.
fn out_of_patience(progress: &Progress, patience: Option<usize>) -> bool {
    patience.is_some_and(|most| progress.epochs.len() - progress.best_epoch >= most)
}

/// Measures the model, and keeps it where it is the best so far; without anything to compare by, the last one is kept.
fn end_epoch(trainer: &Trainer, data: &Data, run: &TrainingRun<'_>, progress: &mut Progress) -> Result<()> {
    trainer.check_finite()?;
    let mut epoch = Epoch {
        epoch: progress.epochs.len() + 1,
        train_loss: progress.loss / data.train.len() as f64,
        dev: (!data.dev.is_empty()).then(|| measured(trainer, data, run)).transpose()?,
        kept: false,
        seconds: progress.seconds,
    };
    let figure = run.metric.read(&epoch);
    let better = figure.is_none() || figure > progress.best;
    epoch.kept = better || trainer.settings.keep == Keep::Last;
    if epoch.kept {
        trainer.save(run.output)?;
    }
    if better {
        (progress.best, progress.best_epoch) = (figure, epoch.epoch);
    }
    if let Some(figure) = figure {
        progress.plateau.see(figure);
    }
    progress.epochs.push(epoch);
    (progress.batch, progress.loss, progress.seconds) = (0, 0.0, 0.0);
    Ok(())
}

/// The figures of the rows held out.
fn measured(trainer: &Trainer, data: &Data, run: &TrainingRun<'_>) -> Result<Metrics> {
    let TrainingSettings { positive, memory_bytes, .. } = trainer.settings;
    let metrics = measure(trainer.model(), &data.dev, positive, memory_bytes, &run.stop)?;
    if run.metric != Metric::Goal {
        return Ok(metrics);
    }
    match trainer.goal_of(&data.dev, &run.stop)? {
        goal if goal.is_finite() => Ok(Metrics { goal: Some(goal), ..metrics }),
        goal => Err(trainer.diverged(trainer.settings.rate, &format!("loss {goal} on the rows held out"))),
    }
}
