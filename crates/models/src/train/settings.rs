use exegete_core::{Error, ParameterGroup, Result};
use exegete_engine::Optimiser;
use std::collections::BTreeMap;

/// What the names of small models' attention parameters begin with.
const ATTENTION: &str = "attention.";
/// What stands before that in networks with more than one attention.
const LEVELS: [&str; 4] = ["", "word.", "sentence.", "decoder."];

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

/// How the losses of a batch's rows become the one number whose gradient a step follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// Their mean: the size of a batch leaves the gradient's length as it is.
    Mean,
    /// Their sum, as Jain and Wallace 2019 train.
    Sum,
    /// Their mean, each row counting as often as it has labelled places: the mean over all places of the batch.
    Places,
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
    /// How many rows make a step.
    pub batch: usize,
    /// Whether a batch holds texts of about the same length.
    pub bucketed: bool,
    /// How the losses of a batch's rows become one.
    pub reduction: Reduction,
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
    /// λ for the parameters whose name begins with `attention.`, as those of small models' attention do.
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
    /// The longest row of the head's matrices; longer ones are scaled down after each step (Kim 2014).
    pub head_norm: Option<f64>,
    /// Whether word vectors stay as they start.
    pub freeze_words: bool,
    /// The share of steps in which a model that writes reads what it should have written before, and not what it would have:
    /// one draw a batch and step.
    pub teacher_forcing: f64,
    /// Dropout in the place of the config's own rates.
    pub dropout: Option<f64>,
    /// Texts are cut to this many tokens while training, where it is less than the model reads.
    pub max_tokens: Option<usize>,
    /// How many texts a row has, which a folder's config then says: a model of one text refuses a second.
    pub text_fields: Option<usize>,
    /// The seed of order, dropout and fresh parameters.
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
            bucketed: false,
            reduction: Reduction::Mean,
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
            head_norm: None,
            freeze_words: false,
            teacher_forcing: 1.0,
            dropout: None,
            max_tokens: None,
            text_fields: None,
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
                self.head_norm.is_some_and(|most| most.is_nan() || most <= 0.0),
                "the longest row of the head must be positive",
            ),
            (
                matches!(self.optimiser, Optimiser::Sgd { momentum } if !share(momentum)),
                "the momentum must be a share from 0 up to 1",
            ),
            (
                !(0.0..=1.0).contains(&self.teacher_forcing),
                "teacher forcing must be a share of steps from 0 to 1",
            ),
            (self.dropout.is_some_and(|rate| !share(rate)), "the dropout must be a share from 0 up to 1"),
        ];
        match wrong.iter().find(|(wrong, _)| *wrong) {
            Some((_, what)) => Err(Error::Request((*what).into())),
            None => Ok(()),
        }
    }

    /// Whether they fit a model of so many classes.
    pub(super) fn check_classes(&self, classes: usize) -> Result<()> {
        let weights = self.class_weights.len();
        if weights > 0 && weights != classes {
            let what = format!("{weights} class weights for {classes} classes; give one a class");
            return Err(Error::Request(what));
        }
        match self.positive.filter(|&class| class >= classes) {
            Some(class) => {
                let what = format!("class {class} of a model with {classes} cannot be the positive one");
                Err(Error::Request(what))
            }
            None => Ok(()),
        }
    }

    /// The weight decay of each of these parameters, which have so many axes.
    pub(super) fn decays(&self, names: &[String], axes: &[usize]) -> Result<Vec<f64>> {
        let attends = |name: &String| {
            LEVELS
                .iter()
                .any(|level| name.strip_prefix(level).is_some_and(|name| name.starts_with(ATTENTION)))
        };
        if self.decay_attention != 0.0 && !names.iter().any(attends) {
            let what = format!("the model has no parameters '{ATTENTION}*' for a decay of their own");
            return Err(Error::Request(format!("{what}; leave the decay of attention out")));
        }
        let all = matches!(self.optimiser, Optimiser::Adam { .. });
        let decay = |(name, &axes): (&String, &usize)| match (attends(name), all || axes >= 2) {
            (true, _) => self.decay_attention,
            (false, true) => self.decay,
            // Biases and norms have no direction that shrinking would favour.
            (false, false) => 0.0,
        };
        Ok(names.iter().zip(axes).map(decay).collect())
    }

    /// The longest row of each of these parameters, where there is a limit.
    pub(super) fn longest_rows(
        &self,
        groups: &[ParameterGroup],
        names: &[String],
        axes: &[usize],
    ) -> Vec<Option<f64>> {
        let heads = groups.iter().filter(|group| group.name == ParameterGroup::HEAD);
        let heads: Vec<&String> = heads.flat_map(|group| &group.parameters).collect();
        let longest =
            |(name, &axes): (&String, &usize)| self.head_norm.filter(|_| axes >= 2 && heads.contains(&name));
        names.iter().zip(axes).map(longest).collect()
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
    use exegete_core::GroupKind;

    #[test]
    fn attention_has_a_decay_of_its_own_and_only_adam_shrinks_biases() {
        let names = ["attention.hidden.bias", "attention.hidden.weight", "head.bias", "head.weight"];
        let names = names.map(str::to_owned);
        let settings = |optimiser| TrainingSettings {
            optimiser,
            decay: 0.1,
            decay_attention: 0.2,
            ..TrainingSettings::default()
        };
        let of = |optimiser| settings(optimiser).decays(&names, &[1, 2, 1, 2]).unwrap();
        assert_eq!(of(Optimiser::adam(true)), [0.2, 0.2, 0.1, 0.1]);
        assert_eq!(of(Optimiser::ADAM_W), [0.2, 0.2, 0.0, 0.1]);
        let levels = ["word.attention.score.weight", "sentence.attention.hidden.weight", "word.conv.weight"];
        let found = settings(Optimiser::ADAM_W).decays(&levels.map(str::to_owned), &[2, 2, 3]).unwrap();
        assert_eq!(found, [0.2, 0.2, 0.1]);
        let elsewhere = settings(Optimiser::ADAM_W).decays(&["layer.0.attention.weight".to_owned()], &[2]);
        assert!(elsewhere.unwrap_err().to_string().contains("no parameters 'attention.*'"));
    }

    #[test]
    fn rates_fall_with_every_group_below_the_one_under_the_head() {
        let groups = ["embeddings", "layer.0", "layer.1", "head"].map(|name| ParameterGroup {
            name: name.into(),
            kind: GroupKind::Part,
            parameters: vec![name.into()],
        });
        let settings = TrainingSettings { layer_decay: 0.5, ..TrainingSettings::default() };
        let expected = [("embeddings", 0.25), ("head", 1.0), ("layer.0", 0.5), ("layer.1", 1.0)];
        assert_eq!(settings.layer_shares(&groups), BTreeMap::from(expected));
    }
}
