//! The numbers themselves, by data set.

use super::super::training::Arm;

/// Mean τ of a data set and a model: with gradients, with leaving one out.
pub(super) struct PublishedTau {
    pub(super) data: &'static str,
    pub(super) kind: [&'static str; 2],
    pub(super) gradient: f64,
    pub(super) leave_one_out: Option<f64>,
    /// Whether it is the mean over classes, of which alone the paper speaks.
    pub(super) of_classes: bool,
}

const fn tau(data: &'static str, kind: [&'static str; 2], gradient: f64, leave_one_out: f64) -> PublishedTau {
    PublishedTau { data, kind, gradient, leave_one_out: Some(leave_one_out), of_classes: false }
}

const fn gradient(data: &'static str, kind: [&'static str; 2], gradient: f64) -> PublishedTau {
    PublishedTau { data, kind, gradient, leave_one_out: None, of_classes: false }
}

const LSTM: [&str; 2] = ["lstm", "additive"];
const AVERAGE: [&str; 2] = ["average", "additive"];

/// From the result files that S. Jain and B. C. Wallace, *Attention is not explanation*, 2019, published (SST, IMDB), and from its
/// table 2 (bAbI; SNLI, there .31, .33, .31 with gradients and .16, .36, .34 with leaving out by class, .59, .58, .57 of `average`).
pub(super) const CORRELATIONS: [PublishedTau; 19] = [
    tau("SST", LSTM, 0.351, 0.291),
    tau("SST", ["lstm", "dot"], 0.073, 0.064),
    tau("SST", ["cnn", "additive"], 0.477, 0.352),
    tau("SST", ["cnn", "dot"], 0.240, 0.215),
    tau("SST", AVERAGE, 0.606, 0.623),
    tau("SST", ["average", "dot"], 0.347, 0.314),
    tau("IMDB", LSTM, 0.437, 0.341),
    tau("IMDB", ["lstm", "dot"], 0.122, 0.092),
    tau("IMDB", ["cnn", "additive"], 0.452, 0.295),
    tau("IMDB", ["cnn", "dot"], 0.346, 0.365),
    tau("IMDB", AVERAGE, 0.675, 0.576),
    tau("bAbI 1", LSTM, 0.25, 0.16),
    gradient("bAbI 1", AVERAGE, 0.72),
    tau("bAbI 2", LSTM, -0.02, -0.01),
    gradient("bAbI 2", AVERAGE, 0.68),
    tau("bAbI 3", LSTM, 0.24, 0.26),
    gradient("bAbI 3", AVERAGE, 0.61),
    PublishedTau { of_classes: true, ..tau("SNLI", LSTM, 0.317, 0.287) },
    PublishedTau { of_classes: true, ..gradient("SNLI", AVERAGE, 0.580) },
];

/// What erasing the top word and another flips.
pub(super) const FLIPPED: [(&str, [bool; 2]); 4] = [
    ("both flip", [true, true]),
    ("only the top word flips", [true, false]),
    ("only the random word flips", [false, true]),
    ("neither flips", [false, false]),
];

/// Shares of texts in the order of [`FLIPPED`], for HAN with GRUs: S. Serrano and N. A. Smith, *Is attention interpretable?*, 2019.
pub(super) const FLIPS: [(&str, [f64; 4]); 4] = [
    ("IMDB", [0.022, 0.122, 0.014, 0.842]),
    ("Yahoo", [0.005, 0.087, 0.013, 0.896]),
    ("Amazon", [0.027, 0.076, 0.027, 0.871]),
    ("Yelp", [0.015, 0.089, 0.019, 0.877]),
];

/// F1 of the models that are trained beside the tested one, and the adversary that is far away.
pub(super) struct PublishedArms {
    pub(super) data: &'static str,
    pub(super) scores: [(Arm, f64); 7],
    /// λ and the mean TVD, both half of ours, and the mean JSD.
    pub(super) adversary: [f64; 3],
}

/// Of an LSTM with additive attention: S. Wiegreffe and Y. Pinter, *Attention is not not explanation*, 2019; all recalled.
pub(super) const ARMS: [PublishedArms; 2] = [
    PublishedArms {
        data: "SST",
        scores: arms([0.831, 0.822, 0.812, 0.817, 0.824, 0.592, 0.823]),
        adversary: [5.25e-4, 0.036, 0.514],
    },
    PublishedArms {
        data: "IMDB",
        scores: arms([0.902, 0.879, 0.863, 0.888, 0.905, 0.700, 0.906]),
        adversary: [8e-4, 0.014, 0.405],
    },
];

const fn arms([base, uniform, equal, own, guided, other, adversary]: [f64; 7]) -> [(Arm, f64); 7] {
    [
        (Arm::Base, base),
        (Arm::Uniform, uniform),
        (Arm::GuideUniform, equal),
        (Arm::GuideTrained, own),
        (Arm::GuideBase, guided),
        (Arm::GuideAdversary, other),
        (Arm::Adversarial, adversary),
    ]
}

/// What the score of an arm is called.
pub(super) fn of_arm(arm: Arm) -> &'static str {
    match arm {
        Arm::Base => "F1 as trained",
        Arm::Uniform => "F1 with equal weights",
        Arm::GuideUniform => "F1 of the guide by equal weights",
        Arm::GuideTrained => "F1 of the guide by its own weights",
        Arm::GuideBase => "F1 of the guide by the model's weights",
        Arm::GuideAdversary => "F1 of the guide by the adversary's weights",
        Arm::Adversarial => "F1 of the adversary far away",
    }
}
