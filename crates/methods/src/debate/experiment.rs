use exegete_core::{Error, Result};

/// An experiment by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Experiment {
    /// Weights against gradients and leaving words out.
    Correlation,
    /// Weights in other orders.
    Permutation,
    /// Other weights with the same answer.
    Adversary,
    /// How few words hold the weight.
    Concentration,
    /// The same model trained with equal weights.
    Uniform,
    /// The same model trained with other seeds.
    Seeds,
    /// A model without context under imposed weights.
    Guide,
    /// A model trained to answer the same with other weights.
    AdversarialTraining,
    /// Erasing the top word against another.
    Erase,
    /// Erasing words until the answer changes.
    Share,
}

impl Experiment {
    /// All there are, in the order of a report.
    pub const ALL: [Self; 10] = [
        Self::Correlation,
        Self::Permutation,
        Self::Adversary,
        Self::Concentration,
        Self::Uniform,
        Self::Seeds,
        Self::Guide,
        Self::AdversarialTraining,
        Self::Erase,
        Self::Share,
    ];

    /// What users call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Correlation => "correlation",
            Self::Permutation => "permutation",
            Self::Adversary => "adversary",
            Self::Concentration => "concentration",
            Self::Uniform => "uniform",
            Self::Seeds => "seeds",
            Self::Guide => "guide",
            Self::AdversarialTraining => "adversarial_training",
            Self::Erase => "erase",
            Self::Share => "share",
        }
    }

    /// The experiment of a name.
    pub fn find(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            Error::Request(format!("there is no experiment '{name}'; they are {known}"))
        })
    }

    /// Whether models are trained for it.
    pub fn trains(self) -> bool {
        matches!(self, Self::Uniform | Self::Seeds | Self::Guide | Self::AdversarialTraining)
    }

    /// Whether other weights are put in the place of a text's own.
    pub fn replaces(self) -> bool {
        matches!(self, Self::Permutation | Self::Adversary | Self::Erase | Self::Share)
    }
}
