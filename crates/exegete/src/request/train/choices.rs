//! What a training run can be told to be, by name.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What training makes small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
#[schemars(inline)]
pub enum TrainLoss {
    /// One right class a row.
    #[default]
    CrossEntropy,
    /// Any number of labels a row: binary cross-entropy, summed over labels.
    MultiLabel,
    /// A number: half the squared error.
    Regression,
    /// Cross-entropy against given shares of the classes, as for distillation.
    Soft,
}

/// What the best epoch is chosen by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
#[schemars(inline)]
pub enum TrainMetric {
    /// The highest accuracy; for numbers the lowest loss.
    #[default]
    Accuracy,
    /// The highest macro-F1; for numbers the lowest loss.
    MacroF1,
    /// The lowest loss on the rows of `--dev`.
    Loss,
    /// The highest F1 of the positive class.
    F1,
    /// The highest area under the curve of the positive class.
    Auc,
}

/// The rule by which weights move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum TrainOptimiser {
    /// Adam with decoupled weight decay.
    #[default]
    Adamw,
    /// Gradient descent with momentum.
    Sgd,
    /// Adam with weight decay that is part of the gradient.
    Adam,
}

/// How the rate changes from step to step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum TrainSchedule {
    /// It rises over the warm-up, then falls in a line to zero.
    #[default]
    Linear,
    /// It stays what it is.
    Constant,
    /// It is halved after every epoch whose metric is not better than the best by a ten-thousandth.
    Halve,
}

/// Which epoch's model is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum TrainKeep {
    /// That of the best metric.
    #[default]
    Best,
    /// That of the last epoch.
    Last,
}

/// Reads a switch that has a default of its own.
pub(super) fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(format!("'{text}' is neither yes nor no")),
    }
}
