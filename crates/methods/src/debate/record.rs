//! What the experiments found about one text.

use super::Experiment;
use super::share::RANKINGS;
use exegete_core::report::ReportRow;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// What was found about one text; what was not asked for is none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TextRecord {
    /// What weights are given to: words, or sentences.
    pub tokens: Vec<String>,
    /// Their weights, which sum to one.
    pub alpha: Vec<f64>,
    /// The class that the model predicts.
    pub predicted: usize,
    /// |Σ x ∂p/∂x| of each, weights held fixed.
    pub gradient: Option<Vec<f64>>,
    /// How far the answer moves without each.
    pub leave_one_out: Option<Vec<f64>>,
    /// Of weights and gradients; none where either side is constant.
    pub tau_gradient: Option<Tau>,
    /// Of weights and what leaving out does.
    pub tau_leave_one_out: Option<Tau>,
    /// How few hold nine tenths of the weight.
    pub words_90: Option<usize>,
    /// The median TVD of reordered weights.
    pub median_tvd: Option<f64>,
    /// The farthest weights with the same answer.
    pub adversary: Option<Adversary>,
    /// What erasing the top word and another does.
    pub erase: Option<ErasedPair>,
    /// The shares of words gone at the first flip.
    pub share: Option<ErasureShares>,
    /// ∂p/∂α of each, weights as free variables: the order `gradient` of erasing.
    pub weight_gradient: Option<Vec<f64>>,
    /// The word of the largest leave-one-out effect, where that is at least .1.
    pub decisive: Option<Decisive>,
}

/// Kendall's τ_b and its two-sided p-value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Tau {
    /// From −1 to 1.
    pub tau: f64,
    /// The probability of a τ at least as far from zero where there is no relation.
    pub p: f64,
}

/// Other weights with the same answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Adversary {
    /// How far they are from the own ones, in nats; 0 where none are admissible.
    pub jsd: f64,
    /// How far the answer moves.
    pub tvd: Option<f64>,
    /// Those weights, one a word; none where none are admissible.
    pub alpha: Option<Vec<f64>>,
}

/// What erasing one word does.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Erased {
    /// The place of the erased word.
    pub index: usize,
    /// The weight that it had.
    pub alpha: f64,
    /// JSD of the answers with and without, in nats.
    pub js: f64,
    /// Whether the predicted class changes.
    pub flip: bool,
}

/// The word of the largest weight and another, drawn at random.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ErasedPair {
    /// The word of the largest weight.
    pub top: Erased,
    /// Another word, drawn at random.
    pub random: Erased,
}

/// The share of words gone at the first flip by ranking, in the order of [`RANKINGS`]; none where a ranking never flips.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ErasureShares(pub [Option<f64>; 4]);

impl ErasureShares {
    /// As they are counted: none where no ranking flips, else 1 for one that never does.
    pub fn counted(&self) -> Option<[f64; 4]> {
        self.0.iter().any(Option::is_some).then(|| self.0.map(|share| share.unwrap_or(1.0)))
    }
}

/// The word that decides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Decisive {
    /// The place of the word.
    pub index: usize,
    /// How far the answer moves without it.
    pub effect: f64,
    /// n times its weight: 1 for an equal share.
    pub ratio: f64,
}

impl TextRecord {
    /// The bin of the largest weight.
    pub fn bin(&self) -> &'static str {
        bin_of(self.alpha.iter().copied().fold(0.0, f64::max))
    }

    /// As it stands in a report: the fields of what was run, in one order.
    pub fn written(&self, labels: &dyn Fn(usize) -> String, ran: &dyn Fn(Experiment) -> bool) -> ReportRow {
        let mut fields = ReportRow::default()
            .with("tokens", json!(self.tokens))
            .with("alpha", json!(self.alpha))
            .with("predicted", labels(self.predicted));
        let mut add = |experiment, name: &str, value: Value| {
            if ran(experiment) {
                fields = std::mem::take(&mut fields).with(name, value);
            }
        };
        use Experiment as E;
        add(E::Correlation, "gradient", json!(self.gradient));
        add(E::Correlation, "leave_one_out", json!(self.leave_one_out));
        add(E::Correlation, "tau_gradient", json!(self.tau_gradient));
        add(E::Correlation, "tau_leave_one_out", json!(self.tau_leave_one_out));
        add(E::Concentration, "words_90", json!(self.words_90));
        add(E::Permutation, "permutation", json!({"median_tvd": self.median_tvd, "bin": self.bin()}));
        add(E::Adversary, "adversary", json!(self.adversary));
        add(E::Erase, "erase", self.erase.map_or(Value::Null, erased));
        add(E::Share, "share", self.share.map_or(Value::Null, shares));
        add(E::Correlation, "decisive", json!(self.decisive));
        fields
    }
}

/// The quarters that largest weights are put into.
pub const BINS: [&str; 4] = ["[0, .25)", "[.25, .5)", "[.5, .75)", "[.75, 1]"];

/// The quarter that a largest weight is in.
pub fn bin_of(largest: f64) -> &'static str {
    BINS[((4.0 * largest) as usize).min(3)]
}

fn erased(pair: ErasedPair) -> Value {
    let ErasedPair { top, random } = pair;
    json!({"top": top, "random": random, "delta_js": top.js - random.js, "delta_alpha": top.alpha - random.alpha})
}

fn shares(shares: ErasureShares) -> Value {
    let Some(counted) = shares.counted() else { return Value::Null };
    let never: Vec<&str> = RANKINGS
        .into_iter()
        .zip(shares.0)
        .filter(|(_, share)| share.is_none())
        .map(|(name, _)| name)
        .collect();
    let mut fields: Map<String, Value> =
        RANKINGS.into_iter().zip(counted).map(|(name, share)| (name.to_owned(), json!(share))).collect();
    fields.insert("never".to_owned(), json!(never));
    Value::Object(fields)
}
