//! What a training run does: what was asked, and the kind of model's own defaults for the rest.

use super::rows::Rows;
use super::{TrainKeep, TrainLoss, TrainMetric, TrainOptimiser, TrainRequest, TrainSchedule};
use crate::class_index;
use crate::train::{
    ClassWeights, Epoch, Keep, Metric, Optimiser, Reduction, Schedule, TrainingDefaults, TrainingSettings,
};
use anyhow::{Result, anyhow, bail};
use serde_json::{Value, json};

/// Everything about a run that is decided before it starts.
pub(super) struct TrainPlan {
    pub(super) settings: TrainingSettings,
    pub(super) metric: Metric,
}

impl TrainPlan {
    /// Works out what applies to these rows; a metric from elsewhere goes before that of the request.
    pub(super) fn new(request: &TrainRequest, rows: &Rows, metric: Option<Metric>) -> Result<Self> {
        let defaults = request.small.recipe(request).defaults(rows.labels.len());
        let (optimiser, schedule) = (optimiser(request, &defaults), schedule(request, &defaults));
        let TrainingDefaults { settings: own, class_weights: weights, metric: usual } = defaults;
        let metric = metric.unwrap_or_else(|| request.metric.map_or(usual, read_metric));
        let measures = request.dev.is_some() || metric == Metric::TrainLoss;
        let weights = request.class_weights.as_deref().map_or(Ok(weights), class_weights)?;
        let settings = TrainingSettings {
            epochs: request.epochs.unwrap_or(own.epochs),
            batch: request.batch.unwrap_or(own.batch),
            optimiser,
            rate: request.rate.unwrap_or(own.rate),
            layer_decay: request.layer_decay.unwrap_or(own.layer_decay),
            warmup: request.warmup.unwrap_or(own.warmup),
            schedule,
            decay: request.decay.unwrap_or(own.decay),
            decay_attention: request.decay_attention.unwrap_or(own.decay_attention),
            class_weights: weights.of(&rows.labels, &rows.counts())?,
            positive: request.positive.as_deref().map(|name| positive(name, &rows.labels)).transpose()?,
            patience: request.patience.or(own.patience).filter(|_| measures),
            keep: match request.keep {
                TrainKeep::Best => Keep::Best,
                TrainKeep::Last => Keep::Last,
            },
            clip: request.clip.map_or(own.clip, |clip| (clip != 0.0).then_some(clip)),
            freeze_words: request.small.freeze_vectors,
            dropout: request.dropout.or(own.dropout),
            max_tokens: request.max_tokens,
            text_fields: rows.text_fields(),
            seed: request.seed,
            threads: request.resources.threads(),
            memory_bytes: request.resources.memory(),
            ..own
        };
        Ok(Self { settings, metric })
    }

    /// Everything that applies, in one line.
    pub(super) fn said(&self) -> String {
        let own = &self.settings;
        let optimiser = match own.optimiser {
            Optimiser::AdamW { .. } => "adamw".to_owned(),
            Optimiser::Adam { amsgrad: true, .. } => "adam with amsgrad".to_owned(),
            Optimiser::Adam { .. } => "adam".to_owned(),
            Optimiser::Sgd { momentum } => format!("sgd with momentum {momentum}"),
        };
        let schedule = match own.schedule {
            Schedule::Linear => format!("linear after a warm-up of {}", own.warmup),
            Schedule::Constant => "constant".to_owned(),
            Schedule::Halve => "halved where nothing improves".to_owned(),
        };
        let or_none = |value: Option<String>| value.unwrap_or_else(|| "none".to_owned());
        let weights = own.class_weights.iter().map(|weight| format!("{weight:.4}"));
        let weights = (!own.class_weights.is_empty()).then(|| weights.collect::<Vec<_>>().join(" "));
        format!(
            "epochs {}, batch {}{}, {optimiser}, rate {} {schedule}, decay {} and {} on attention, clip {}, class weights {}, loss {}, best by {}, patience {}, seed {}",
            own.epochs,
            own.batch,
            if own.bucketed { " of like lengths" } else { "" },
            own.rate,
            own.decay,
            own.decay_attention,
            or_none(own.clip.map(|clip| clip.to_string())),
            or_none(weights),
            match own.reduction {
                Reduction::Mean => "averaged over the rows of a batch",
                Reduction::Sum => "summed over a batch",
                Reduction::Places => "averaged over the words of a batch",
            },
            serde_json::to_value(self.metric)
                .ok()
                .and_then(|name| Some(name.as_str()?.to_owned()))
                .unwrap_or_default(),
            or_none(own.patience.map(|epochs| epochs.to_string())),
            own.seed,
        )
    }

    /// The settings as `training.json` has them.
    pub(super) fn report(&self, request: &TrainRequest) -> Value {
        let TrainingSettings { optimiser, .. } = &self.settings;
        let (name, momentum, amsgrad) = match optimiser {
            Optimiser::AdamW { .. } => ("Adamw", None, None),
            Optimiser::Adam { amsgrad, .. } => ("Adam", None, Some(amsgrad)),
            Optimiser::Sgd { momentum } => ("Sgd", Some(momentum), None),
        };
        let own = &self.settings;
        json!({
            "loss": format!("{:?}", request.loss), "reduction": match own.reduction {
                Reduction::Mean => "mean",
                Reduction::Sum => "sum",
                Reduction::Places => "places",
            },
            "epochs": own.epochs, "batch": own.batch, "optimiser": name, "momentum": momentum, "amsgrad": amsgrad,
            "rate": own.rate, "schedule": format!("{:?}", own.schedule), "layer_decay": own.layer_decay,
            "warmup": own.warmup, "decay": own.decay, "decay_attention": own.decay_attention,
            "clip": own.clip.unwrap_or(0.0),
            "teacher_forcing": (own.teacher_forcing < 1.0).then_some(own.teacher_forcing), "dropout": own.dropout, "class_weights": own.class_weights,
            "metric": self.metric, "positive": request.positive, "patience": own.patience,
            "keep": format!("{:?}", own.keep), "max_tokens": own.max_tokens, "seed": own.seed,
        })
    }

    /// The epoch with the best figure, from 1; none where nothing was measured.
    pub(super) fn best_epoch(&self, epochs: &[Epoch]) -> Option<usize> {
        let mut best: Option<(f64, usize)> = None;
        for epoch in epochs {
            if let Some(figure) =
                self.metric.read(epoch).filter(|&figure| best.is_none_or(|(most, _)| figure > most))
            {
                best = Some((figure, epoch.epoch));
            }
        }
        best.map(|(_, epoch)| epoch)
    }
}

/// The most epochs, rows a step, layers and numbers of a vector that are no slip.
const MOST_EPOCHS: usize = 1_000_000;
const MOST_ROWS: usize = 1 << 20;
const MOST_LAYERS: usize = 64;
const MOST_WIDTH: usize = 1 << 16;

/// Sizes that nobody means are told by their flag, before any row is read.
pub(super) fn refuse_absurd(request: &TrainRequest) -> Result<()> {
    let small = &request.small;
    let bounds = [
        ("--epochs", request.epochs, MOST_EPOCHS),
        ("--batch", request.batch, MOST_ROWS),
        ("--layers", small.layers, MOST_LAYERS),
        ("--embedding", small.embedding, MOST_WIDTH),
        ("--hidden", small.hidden, MOST_WIDTH),
        ("--attention-hidden", small.attention_hidden, MOST_WIDTH),
    ];
    for (flag, given, most) in bounds {
        if let Some(given) = given.filter(|given| !(1..=most).contains(given)) {
            bail!("{flag} {given}: expected a number from 1 to {}", crate::methods::parameter::grouped(most));
        }
    }
    Ok(())
}

/// A flag that changes nothing is a misunderstanding, and told before any row is read.
pub(super) fn refuse_unused(request: &TrainRequest) -> Result<()> {
    // Neither depends on the number of classes.
    let defaults = request.small.recipe(request).defaults(0);
    let (optimiser, schedule) = (optimiser(request, &defaults), schedule(request, &defaults));
    if request.momentum.is_some() && !matches!(optimiser, Optimiser::Sgd { .. }) {
        bail!("--momentum is for --optimiser sgd; adam and adamw have constants of their own");
    }
    if request.amsgrad.is_some() && !matches!(optimiser, Optimiser::Adam { .. }) {
        bail!("--amsgrad is for --optimiser adam");
    }
    if request.warmup.is_some() && schedule != Schedule::Linear {
        bail!("--warmup is for --schedule linear; the others have none");
    }
    if schedule == Schedule::Halve && request.dev.is_none() {
        bail!("--schedule halve needs rows to measure on; give --dev FILE");
    }
    if request.dev.is_none() {
        if request.keep == TrainKeep::Last {
            bail!("--keep last is for --dev, without which the last epoch's model is kept anyway");
        }
        if request.positive.is_some() {
            bail!(
                "--positive is the class of f1 and auc, which are measured on --dev FILE; give one, or leave it out"
            );
        }
    }
    if request.small.writes() {
        refuse_classes(request)?;
    }
    let classes = matches!(request.loss, TrainLoss::CrossEntropy);
    if request.class_weights.as_deref().is_some_and(|weights| weights != "none") && !classes {
        bail!("--class-weights is for --loss cross_entropy, where a row has one class");
    }
    if request.loss == TrainLoss::Regression {
        if request.positive.is_some() {
            bail!("--positive names a class, and --loss regression has none");
        }
        if matches!(request.metric, Some(TrainMetric::F1 | TrainMetric::Auc)) {
            bail!("--metric f1 and auc are for classes; with --loss regression give loss");
        }
    }
    Ok(())
}

/// Flags about classes, where words are written.
fn refuse_classes(request: &TrainRequest) -> Result<()> {
    let by_class = matches!(request.metric, Some(TrainMetric::MacroF1 | TrainMetric::F1 | TrainMetric::Auc));
    let given = [
        (request.label_column.is_some(), "--label-column"),
        (request.labels.is_some(), "--labels"),
        (request.class_weights.is_some(), "--class-weights"),
        (request.positive.is_some(), "--positive"),
        (request.loss != TrainLoss::CrossEntropy, "--loss"),
        (by_class, "--metric macro_f1, f1 and auc"),
    ];
    match given.iter().find(|(given, _)| *given) {
        Some((_, flag)) => bail!(
            "{flag}: --kind seq2seq writes words and has no classes; its columns are source and target, its metrics \
             accuracy and loss"
        ),
        None => Ok(()),
    }
}

fn optimiser(request: &TrainRequest, defaults: &TrainingDefaults) -> Optimiser {
    let own = defaults.settings.optimiser;
    let amsgrad = request.amsgrad.unwrap_or(matches!(own, Optimiser::Adam { amsgrad: true, .. }));
    match (request.optimiser, own) {
        (Some(TrainOptimiser::Adam), _) | (None, Optimiser::Adam { .. }) => Optimiser::adam(amsgrad),
        (Some(TrainOptimiser::Adamw), _) => Optimiser::ADAM_W,
        (Some(TrainOptimiser::Sgd), _) => Optimiser::Sgd { momentum: request.momentum.unwrap_or(0.9) },
        (None, own) => own,
    }
}

fn schedule(request: &TrainRequest, defaults: &TrainingDefaults) -> Schedule {
    match request.schedule {
        Some(TrainSchedule::Linear) => Schedule::Linear,
        Some(TrainSchedule::Constant) => Schedule::Constant,
        Some(TrainSchedule::Halve) => Schedule::Halve,
        // A kind's own schedule that needs measurements gives way where there are none.
        None if defaults.settings.schedule == Schedule::Halve && request.dev.is_none() => Schedule::Constant,
        None => defaults.settings.schedule,
    }
}

fn read_metric(metric: TrainMetric) -> Metric {
    match metric {
        TrainMetric::Accuracy => Metric::Accuracy,
        TrainMetric::MacroF1 => Metric::MacroF1,
        TrainMetric::Loss => Metric::Loss,
        TrainMetric::F1 => Metric::F1,
        TrainMetric::Auc => Metric::Auc,
    }
}

fn class_weights(text: &str) -> Result<ClassWeights> {
    let number = |part: &str| {
        part.trim().parse::<f64>().map_err(|_| {
            anyhow!("--class-weights: '{part}' is no number; give none, balanced or a weight for each class")
        })
    };
    match text.trim() {
        "none" => Ok(ClassWeights::None),
        "balanced" => Ok(ClassWeights::Balanced),
        text => Ok(ClassWeights::Each(text.split(',').map(number).collect::<Result<_>>()?)),
    }
}

fn positive(name: &str, labels: &[String]) -> Result<usize> {
    class_index(labels, name.trim())
        .ok_or_else(|| anyhow!("--positive '{name}' is none of the labels {}", labels.join(", ")))
}
