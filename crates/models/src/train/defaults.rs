//! What a run does where nobody says otherwise: one table, by the kind of model. Dropout is the model's own affair: its
//! config has a rate for each place.

use super::{ClassWeights, Keep, Metric, Reduction, Schedule, TrainingSettings};
use exegete_engine::Optimiser;

/// Kinds of models that are trained in ways of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recipe {
    /// A pretrained encoder: AdamW, a warm-up, and a rate that falls to zero.
    Transformer,
    /// A small classifier of texts: Jain and Wallace 2019.
    Small,
    /// A small classifier of pairs, as theirs for SNLI.
    Pairs,
    /// Small models that answer with a word of the story, as theirs for bAbI.
    EntityQa,
    /// Convolutions and their maximum: Kim 2014, with Adam in the place of Adadelta.
    Kim,
    /// Attention over the words of a text: Serrano and Smith 2019.
    Flan,
    /// Attention over words and sentences: Serrano and Smith 2019.
    Han,
    /// Sequences from sequences, as Pruthi et al. 2020 train them.
    Seq2seq,
}

/// All that a recipe decides about a run.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingDefaults {
    /// How the model is trained; the class weights are still to be worked out from the rows.
    pub settings: TrainingSettings,
    /// How much the rows of each class count.
    pub class_weights: ClassWeights,
    /// What the best epoch is chosen by.
    pub metric: Metric,
}

impl Recipe {
    /// The defaults for a model with so many classes.
    pub fn defaults(self, classes: usize) -> TrainingDefaults {
        let small = small(classes);
        let unweighted = TrainingDefaults { class_weights: ClassWeights::None, ..small.clone() };
        let with = |base: TrainingDefaults, batch: usize, epochs: usize| TrainingDefaults {
            settings: TrainingSettings { batch, epochs, ..base.settings.clone() },
            ..base
        };
        match self {
            Self::Transformer => TrainingDefaults {
                settings: TrainingSettings::default(),
                class_weights: ClassWeights::None,
                metric: Metric::Accuracy,
            },
            Self::Small => small,
            Self::Pairs => with(unweighted, 128, 8),
            Self::EntityQa => with(unweighted, 50, 100),
            Self::Kim => {
                let mut kim = with(small, 50, 8);
                kim.settings.head_norm = Some(3.0);
                kim
            }
            Self::Flan | Self::Han => hierarchical(),
            Self::Seq2seq => sequences(),
        }
    }
}

fn small(classes: usize) -> TrainingDefaults {
    let settings = TrainingSettings {
        epochs: 8,
        batch: 32,
        bucketed: true,
        reduction: Reduction::Sum,
        optimiser: Optimiser::adam(true),
        rate: 1e-3,
        layer_decay: 1.0,
        warmup: 0.0,
        schedule: Schedule::Constant,
        decay: 1e-5,
        decay_attention: 0.0,
        keep: Keep::Best,
        clip: None,
        ..TrainingSettings::default()
    };
    match classes {
        2 => TrainingDefaults { settings, class_weights: ClassWeights::Balanced, metric: Metric::Auc },
        _ => TrainingDefaults { settings, class_weights: ClassWeights::None, metric: Metric::Accuracy },
    }
}

fn hierarchical() -> TrainingDefaults {
    let settings = TrainingSettings {
        epochs: 15,
        batch: 64,
        optimiser: Optimiser::adam(false),
        rate: 4e-4,
        warmup: 0.0,
        schedule: Schedule::Halve,
        decay: 0.0,
        clip: Some(10.0),
        patience: Some(5),
        ..TrainingSettings::default()
    };
    TrainingDefaults { settings, class_weights: ClassWeights::None, metric: Metric::Accuracy }
}

fn sequences() -> TrainingDefaults {
    let settings = TrainingSettings {
        epochs: 30,
        batch: 128,
        optimiser: Optimiser::adam(false),
        rate: 1e-3,
        warmup: 0.0,
        schedule: Schedule::Constant,
        decay: 0.0,
        clip: Some(1.0),
        patience: Some(2),
        reduction: Reduction::Places,
        teacher_forcing: 0.5,
        ..TrainingSettings::default()
    };
    TrainingDefaults { settings, class_weights: ClassWeights::None, metric: Metric::Loss }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the papers' settings, one line a recipe.
    #[test]
    fn every_recipe_has_its_numbers() {
        use ClassWeights::{Balanced, None as Equal};
        use Recipe::{EntityQa, Flan, Han, Kim, Pairs, Seq2seq, Small, Transformer};
        let [plain, largest] = [false, true].map(Optimiser::adam);
        for (recipe, classes, batch, epochs, rate, optimiser, decay, weights, metric) in [
            (Transformer, 2, 32, 3, 5e-5, Optimiser::ADAM_W, 0.01, Equal, Metric::Accuracy),
            (Small, 2, 32, 8, 1e-3, largest, 1e-5, Balanced, Metric::Auc),
            (Small, 3, 32, 8, 1e-3, largest, 1e-5, Equal, Metric::Accuracy),
            (Pairs, 3, 128, 8, 1e-3, largest, 1e-5, Equal, Metric::Accuracy),
            (EntityQa, 6, 50, 100, 1e-3, largest, 1e-5, Equal, Metric::Accuracy),
            (Kim, 2, 50, 8, 1e-3, largest, 1e-5, Balanced, Metric::Auc),
            (Flan, 2, 64, 15, 4e-4, plain, 0.0, Equal, Metric::Accuracy),
            (Han, 5, 64, 15, 4e-4, plain, 0.0, Equal, Metric::Accuracy),
            (Seq2seq, 0, 128, 30, 1e-3, plain, 0.0, Equal, Metric::Loss),
        ] {
            let TrainingDefaults { settings, class_weights, metric: chosen } = recipe.defaults(classes);
            let found = (settings.batch, settings.epochs, settings.rate, settings.optimiser, settings.decay);
            assert_eq!(found, (batch, epochs, rate, optimiser, decay), "{recipe:?}");
            assert_eq!((class_weights, chosen), (weights, metric), "{recipe:?}");
            settings.check().unwrap();
        }
        let of = |recipe: Recipe| recipe.defaults(2).settings;
        for recipe in [Small, Pairs, EntityQa, Kim] {
            assert_eq!((of(recipe).reduction, of(recipe).clip), (Reduction::Sum, None), "{recipe:?}");
            assert_eq!((of(recipe).bucketed, of(recipe).schedule), (true, Schedule::Constant), "{recipe:?}");
        }
        for (recipe, clip, patience) in [(Flan, 10.0, 5), (Han, 10.0, 5), (Seq2seq, 1.0, 2)] {
            assert_eq!((of(recipe).clip, of(recipe).patience), (Some(clip), Some(patience)), "{recipe:?}");
            let places = recipe == Seq2seq;
            assert_eq!(of(recipe).reduction == Reduction::Places, places, "{recipe:?}");
            assert_eq!(of(recipe).teacher_forcing, if places { 0.5 } else { 1.0 }, "{recipe:?}");
        }
        assert_eq!((of(Flan).schedule, of(Seq2seq).schedule), (Schedule::Halve, Schedule::Constant));
        assert_eq!(of(Kim).head_norm, Some(3.0));
    }
}
