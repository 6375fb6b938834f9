use exegete_core::{Error, ParameterGroup, Result};
use exegete_engine::Optimiser;
use std::collections::{BTreeMap, BTreeSet};

/// How the rate changes from step to step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schedule {
    /// It rises over the warm-up, then falls to zero in a line.
    Linear,
    /// It stays what it is.
    Constant,
    /// It is halved after every epoch whose figure is not better than the best before by a ten-thousandth of that.
    Halve,
}

/// Which epoch's model is written, where there are rows to measure on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// That of the best figure.
    Best,
    /// That of the last epoch.
    Last,
}

/// How a model is trained. Checked once, before any work.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingSettings {
    /// How often every row is seen.
    pub epochs: usize,
    /// Rows a step.
    pub batch: usize,
    /// The rule of a step.
    pub optimiser: Optimiser,
    /// η at its highest.
    pub rate: f64,
    /// Each layer's rate is that of the layer above times this; 1 for one rate everywhere.
    pub layer_decay: f64,
    /// With the linear schedule, the share of all steps over which the rate rises.
    pub warmup: f64,
    /// How the rate goes on after that.
    pub schedule: Schedule,
    /// λ for matrices, biases and norms having none; with coupled Adam for every parameter.
    pub decay: f64,
    /// λ for the parameters of groups whose name begins with `attention`.
    pub decay_attention: f64,
    /// What the loss of a row of each class is multiplied by; empty for 1 everywhere.
    pub class_weights: Vec<f64>,
    /// The class of F1 and AUC; the last where there is none.
    pub positive: Option<usize>,
    /// The run ends after this many epochs in a row without a better figure.
    pub patience: Option<usize>,
    /// Which epoch's model is written.
    pub keep: Keep,
    /// The longest gradient; longer ones are scaled down.
    pub clip: Option<f64>,
    /// Dropout in the place of the config's own rates.
    pub dropout: Option<f64>,
    /// Texts are cut to this many tokens while training, where it is less than the model reads.
    pub max_tokens: Option<usize>,
    /// Of order, dropout and fresh parameters.
    pub seed: u64,
    /// Threads; 0 for all.
    pub threads: usize,
    /// The most bytes of activations alive at once.
    pub memory_bytes: usize,
}

impl Default for TrainingSettings {
    fn default() -> Self {
        Self {
            epochs: 3,
            batch: 32,
            optimiser: Optimiser::ADAM_W,
            rate: 5e-5,
            layer_decay: 1.0,
            warmup: 0.06,
            schedule: Schedule::Linear,
            decay: 0.01,
            decay_attention: 0.0,
            class_weights: Vec::new(),
            positive: None,
            patience: None,
            keep: Keep::Best,
            clip: Some(1.0),
            dropout: None,
            max_tokens: None,
            seed: 0,
            threads: 0,
            memory_bytes: 2 << 30,
        }
    }
}

impl TrainingSettings {
    /// Whether the numbers make sense.
    pub(super) fn check(&self) -> Result<()> {
        let share = |x: f64| (0.0..1.0).contains(&x);
        let wrong = [
            (self.epochs == 0, "the number of epochs must be at least 1"),
            (self.batch == 0, "a batch needs at least 1 row"),
            (!(self.rate > 0.0 && self.rate.is_finite()), "the rate must be a positive number"),
            (
                !(self.layer_decay > 0.0 && self.layer_decay <= 1.0),
                "the layer decay must lie between 0 and 1",
            ),
            (!share(self.warmup), "the warm-up must be a share of the steps from 0 up to 1"),
            (!(self.decay >= 0.0 && self.decay.is_finite()), "the weight decay cannot be negative"),
            (
                !(self.decay_attention >= 0.0 && self.decay_attention.is_finite()),
                "the weight decay of attention cannot be negative",
            ),
            (
                self.class_weights.iter().any(|&weight| !(weight >= 0.0 && weight.is_finite())),
                "the weight of a class must be a number from 0 up",
            ),
            (self.patience == Some(0), "the patience must be at least 1 epoch"),
            (
                self.clip.is_some_and(|clip| clip.is_nan() || clip <= 0.0),
                "the clipping length must be positive",
            ),
            (
                matches!(self.optimiser, Optimiser::Sgd { momentum } if !share(momentum)),
                "the momentum must be a share from 0 up to 1",
            ),
            (self.dropout.is_some_and(|rate| !share(rate)), "the dropout must be a share from 0 up to 1"),
        ];
        match wrong.iter().find(|(wrong, _)| *wrong) {
            Some((_, what)) => Err(Error::Request((*what).into())),
            None => Ok(()),
        }
    }

    /// The weight decay of each of these parameters.
    pub(super) fn decays(&self, groups: &[ParameterGroup], names: &[String], shapes: &[usize]) -> Vec<f64> {
        let attention = groups.iter().filter(|group| group.name.starts_with("attention"));
        let attention: BTreeSet<&String> = attention.flat_map(|group| &group.parameters).collect();
        let all = matches!(self.optimiser, Optimiser::Adam { .. });
        let decay = |(name, &axes): (&String, &usize)| match (attention.contains(name), all || axes >= 2) {
            (true, _) => self.decay_attention,
            (false, true) => self.decay,
            // Biases and norms have no direction that shrinking would favour.
            (false, false) => 0.0,
        };
        names.iter().zip(shapes).map(decay).collect()
    }

    /// What each parameter's rate is multiplied by: 1 at the head and the group below it, less with every group below.
    pub(super) fn layer_shares<'a>(&self, groups: &'a [ParameterGroup]) -> BTreeMap<&'a str, f64> {
        let share = |at: usize| {
            let below = groups.len().saturating_sub(at + 2);
            self.layer_decay.powi(i32::try_from(below).unwrap_or(i32::MAX))
        };
        let shared = |(at, group): (usize, &'a ParameterGroup)| {
            group.parameters.iter().map(move |name| (name.as_str(), share(at)))
        };
        groups.iter().enumerate().flat_map(shared).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attention_has_a_decay_of_its_own_and_only_adam_shrinks_biases() {
        let group = |name: &str, parameter: &str| ParameterGroup {
            name: name.into(),
            parameters: vec![format!("{parameter}.bias"), format!("{parameter}.weight")],
        };
        let groups = [group("attention.hidden", "a"), group("head", "h")];
        let names: Vec<String> = groups.iter().flat_map(|group| group.parameters.clone()).collect();
        let of = |optimiser| {
            let settings = TrainingSettings {
                optimiser,
                decay: 0.1,
                decay_attention: 0.2,
                ..TrainingSettings::default()
            };
            settings.decays(&groups, &names, &[1, 2, 1, 2])
        };
        assert_eq!(of(Optimiser::adam(true)), [0.2, 0.2, 0.1, 0.1]);
        assert_eq!(of(Optimiser::ADAM_W), [0.2, 0.2, 0.0, 0.1]);
    }

    #[test]
    fn rates_fall_with_every_group_below_the_one_under_the_head() {
        let groups = ["embeddings", "layer.0", "layer.1", "head"]
            .map(|name| ParameterGroup { name: name.into(), parameters: vec![name.into()] });
        let settings = TrainingSettings { layer_decay: 0.5, ..TrainingSettings::default() };
        let expected = [("embeddings", 0.25), ("head", 1.0), ("layer.0", 0.5), ("layer.1", 1.0)];
        assert_eq!(settings.layer_shares(&groups), BTreeMap::from(expected));
    }
}
