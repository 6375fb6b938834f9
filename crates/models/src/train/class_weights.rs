//! How much the rows of each class count in the loss.

use super::TrainingLoss;
use crate::loss::Forward;
use exegete_core::{Error, Label, Result};
use exegete_engine::{Op, Tensor};

/// What the loss of a row is multiplied by, for its class.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ClassWeights {
    /// Every row counts the same.
    #[default]
    None,
    /// n₀ / n_c, where n_c rows of the training data have class c: the first class has 1.
    Balanced,
    /// One weight for each class, in their order.
    Each(Vec<f64>),
}

impl ClassWeights {
    /// The weights as [`TrainingSettings::class_weights`](super::TrainingSettings::class_weights) takes them, for these classes
    /// and the training rows of each.
    pub fn of(&self, classes: &[String], counts: &[usize]) -> Result<Vec<f64>> {
        match self {
            Self::None => Ok(Vec::new()),
            Self::Each(weights) => Ok(weights.clone()),
            Self::Balanced => {
                if let Some((class, _)) = classes.iter().zip(counts).find(|(_, count)| **count == 0) {
                    let what =
                        format!("no training row has the class '{class}', so it has no balanced weight");
                    return Err(Error::Request(format!(
                        "{what}; leave it out of the labels, or give weights"
                    )));
                }
                let first = counts.first().copied().unwrap_or_default() as f64;
                Ok(counts.iter().map(|&count| first / count as f64).collect())
            }
        }
    }
}

impl TrainingLoss {
    /// The losses of rows times the weights of their classes, where there are any.
    pub(super) fn weighted(self, weights: &[f64]) -> Self {
        if weights.is_empty() {
            return self;
        }
        let (weights, losses) = (weights.to_vec(), self.losses);
        let weigh = move |forward: &mut Forward<'_, f32>| {
            let weight = |label: &Label| match label {
                Label::Class(class) => Ok(weights.get(*class).map_or(1.0, |&weight| weight as f32)),
                _ => Err(Error::Request("class weights are for rows with one class each".into())),
            };
            let own = forward.labels.iter().map(weight).collect::<Result<Vec<f32>>>()?;
            let own = Tensor::new(own.len(), 1, own).into(); // [B, 1]
            let losses = losses(forward)?; // [B, 1]
            Ok(forward.tape.apply(Op::Mul, [losses, own]))
        };
        Self { losses: Box::new(weigh), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_core::{Encoded, Example, Row, task};
    use exegete_engine::{Context, Mode, Tape};
    use exegete_testkit::{Of, check, close};
    use std::collections::HashMap;

    /// Two classes with p₁ .1, .4, .8 for three rows of the first and .4, .9 for two of the second.
    #[test]
    fn balanced_weights_and_the_summed_loss_by_hand() {
        let names = ["no", "yes"].map(str::to_owned);
        let weights = ClassWeights::Balanced.of(&names, &[3, 2]).unwrap();
        close("weights", &weights, &[1.0, 1.5], Of::Size(1.0), 1e-12);
        assert!(ClassWeights::None.of(&names, &[3, 2]).unwrap().is_empty());
        let error = ClassWeights::Balanced.of(&names, &[3, 0]).unwrap_err().to_string();
        assert!(error.contains("'yes'"), "{error}");

        let labels = [0, 0, 0, 1, 1].map(Label::Class);
        let logits = [0.1_f32, 0.4, 0.8, 0.4, 0.9].into_iter().flat_map(|p| [(1.0 - p).ln(), p.ln()]);
        let logits = Tensor::new(5, 2, logits.collect());
        let sum = |goal: TrainingLoss| {
            let rows = vec![Row::new(Encoded::of_words(&Example::text("w"))); 5];
            let (kept, places) = (HashMap::new(), vec![None; 5]);
            let tape = &mut Tape::new(Context::new(1), Mode::Off);
            let mut forward = Forward {
                tape,
                logits: logits.clone().into(),
                rows: &rows,
                labels: &labels,
                task: &task::CLASSIFICATION,
                kept: &kept,
                counts: &[1; 5],
                places: &places,
            };
            let losses = (goal.losses)(&mut forward).unwrap();
            losses.value.data().iter().map(|&loss| f64::from(loss)).sum::<f64>()
        };
        let bare = sum(TrainingLoss::default());
        let found = sum(TrainingLoss::default().weighted(&weights));
        close("summed loss", &[found], &[3.758101], Of::Size(1.0), 1e-5);
        assert!(check("no weights", &[bare], &[3.758101], Of::Size(1.0), 1e-5).is_err());
    }
}
