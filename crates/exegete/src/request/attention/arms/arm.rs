//! What each arm is as a training request, made from that of the tested model.

use super::ArmsRequest;
use super::imposed::ImposedWeights;
use crate::methods::debate::Arm;
use crate::methods::debate::training::ADVERSARY_PATIENCE;
use crate::request::train::{SmallRequest, TrainKeep, TrainRequest};
use std::path::Path;

/// A model that is to be trained.
pub(super) struct Planned<'a> {
    pub(super) arm: Arm,
    pub(super) seed: u64,
    /// What the divergence of weights counts, of an adversary.
    pub(super) lambda: Option<f64>,
    /// The weights of a guide.
    pub(super) weights: Option<&'a ImposedWeights>,
}

impl<'a> Planned<'a> {
    pub(super) fn new(arm: Arm, seed: u64) -> Self {
        Self { arm, seed, lambda: None, weights: None }
    }

    pub(super) fn adversary(seed: u64, lambda: f64) -> Self {
        Self { lambda: Some(lambda), ..Self::new(Arm::Adversarial, seed) }
    }

    pub(super) fn guide(arm: Arm, seed: u64, weights: Option<&'a ImposedWeights>) -> Self {
        Self { weights, ..Self::new(arm, seed) }
    }

    /// The name of its folder.
    pub(super) fn name(&self) -> String {
        let lambda = self.lambda.map_or_else(String::new, |lambda| format!("-{lambda}"));
        format!("{}{lambda}-{}", self.arm.name(), self.seed)
    }

    /// How people call it.
    pub(super) fn said(&self) -> String {
        let name = self.arm.name().replace('_', " by ");
        let lambda = self.lambda.map_or_else(String::new, |lambda| format!(", lambda {lambda}"));
        format!("{name}{lambda}, seed {}", self.seed)
    }

    /// How it is trained.
    pub(super) fn request(&self, base: &TrainRequest, asked: &ArmsRequest, output: &Path) -> TrainRequest {
        let same = TrainRequest { seed: self.seed, output: Some(output.to_owned()), ..base.clone() };
        match self.arm {
            Arm::Base => same,
            // A transformer's weights are made equal whenever it reads a text.
            Arm::Uniform if base.small.kind.is_none() => same,
            Arm::Uniform => TrainRequest {
                small: SmallRequest {
                    attention: Some("uniform".to_owned()),
                    attention_hidden: None,
                    ..base.small.clone()
                },
                decay_attention: None,
                ..same
            },
            Arm::Adversarial => TrainRequest {
                epochs: Some(asked.adversary_epochs),
                patience: Some(ADVERSARY_PATIENCE),
                keep: TrainKeep::Best,
                class_weights: Some("none".to_owned()),
                metric: None,
                ..same
            },
            Arm::GuideUniform | Arm::GuideTrained | Arm::GuideBase | Arm::GuideAdversary => self.guided(same),
        }
    }

    /// A model without context: under the weights that are imposed, or with attention of its own.
    fn guided(&self, same: TrainRequest) -> TrainRequest {
        let own = same.small.clone();
        let learned = own.attention.clone().filter(|how| ["additive", "dot"].contains(&how.as_str()));
        let attention = if self.weights.is_some() { Some("imposed".to_owned()) } else { learned };
        let small = SmallRequest {
            kind: Some("average".to_owned()),
            attention_hidden: own.attention_hidden.filter(|_| self.weights.is_none()),
            attention,
            weights: self.weights.map(|weights| weights.path.clone()),
            encoder: None,
            directions: None,
            layers: None,
            ..own
        };
        let decay_attention = same.decay_attention.filter(|_| self.weights.is_none());
        if same.small.kind.is_some() {
            return TrainRequest { small, decay_attention, ..same };
        }
        // How a transformer was fine-tuned says nothing of a small model: what its rows are stays.
        TrainRequest {
            small,
            model: None,
            from_scratch: false,
            metric: None,
            epochs: None,
            batch: None,
            optimiser: None,
            amsgrad: None,
            rate: None,
            schedule: None,
            momentum: None,
            layer_decay: None,
            warmup: None,
            decay: None,
            decay_attention: None,
            clip: None,
            dropout: None,
            class_weights: None,
            patience: None,
            ..same
        }
    }
}
