use super::Verdict;
use super::consistent::{known, lengths};
use crate::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The measured evidence for one explanation. What was not measured is absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Checks {
    /// The evidence in plain words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Whether the scores add up to what they claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completeness: Option<Completeness>,
    /// How far the network that was explained answers otherwise than the model, where another function stands for ReLU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap: Option<ReluSwap>,
    /// Whether the ranking is better than chance at finding what moves the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chance: Option<AgainstChance>,
    /// How units were hidden for what follows, and what was read then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hiding: Option<Hiding>,
    /// How far F falls without the top-ranked units: high is good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comprehensiveness: Option<Erasure>,
    /// How far F falls with nothing but the top-ranked units: low is good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sufficiency: Option<Erasure>,
    /// The smallest top-ranked set whose removal changes the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flip: Option<Flip>,
    /// Agreement with leaving out one unit at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leave_one_out: Option<RankAgreement>,
    /// F while units are removed, best first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion: Option<Curve>,
    /// F while units are put back, best first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insertion: Option<Curve>,
    /// How far the scores move within a small ball around the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<Sensitivity>,
    /// How badly the scores foretell what perturbations do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infidelity: Option<Infidelity>,
    /// How alike the scores are under noise in the embeddings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stability: Option<Stability>,
    /// How alike the scores are when the model's parameters are random, from the top down.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub randomisation: Vec<Randomisation>,
    /// What checks found that have no field of their own, by name. Where the value is an object with a string `says`, that
    /// is what a card shows of it, else its numbers.
    #[serde(flatten)]
    pub others: BTreeMap<String, serde_json::Value>,
}

impl Checks {
    /// The names of the fields, under which nothing else can be added.
    pub const FIELDS: [&str; 15] = [
        "verdict",
        "completeness",
        "swap",
        "chance",
        "hiding",
        "comprehensiveness",
        "sufficiency",
        "flip",
        "leave_one_out",
        "deletion",
        "insertion",
        "sensitivity",
        "infidelity",
        "stability",
        "randomisation",
    ];

    /// Adds what a check without a field of its own found, under a name that is none of [`Self::FIELDS`].
    pub fn add(&mut self, name: &str, found: &impl Serialize) -> Result<()> {
        if Self::FIELDS.contains(&name) {
            return Err(Error::Request(format!(
                "'{name}' is a field of the checks; add it under another name"
            )));
        }
        let value =
            serde_json::to_value(found).map_err(|error| Error::Request(format!("{name}: {error}")))?;
        self.others.insert(name.to_owned(), value);
        Ok(())
    }

    /// One figure a bin and step, and units that exist.
    pub(super) fn consistent(&self, units: usize) -> Result<()> {
        let erasures = [("comprehensiveness", &self.comprehensiveness), ("sufficiency", &self.sufficiency)];
        for (name, erasure) in erasures {
            erasure
                .as_ref()
                .map_or(Ok(()), |erasure| erasure.consistent().map_err(|error| error.at(name)))?;
        }
        for (name, curve) in [("deletion", &self.deletion), ("insertion", &self.insertion)] {
            curve.as_ref().map_or(Ok(()), |curve| curve.consistent().map_err(|error| error.at(name)))?;
        }
        if let Some(flip) = &self.flip {
            known("flip", &flip.units, units)?;
        }
        if let Some(weighed) = &self.leave_one_out {
            lengths("leave_one_out.drops", weighed.drops.len(), "measured", weighed.measured.len())?;
            known("leave_one_out", &weighed.measured, units)?;
        }
        Ok(())
    }
}

/// How many rankings of the units fit what hiding random sets of them does to F, as well as the explanation's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgainstChance {
    /// The chance that a ranking drawn without looking does as well; absent where there is nothing to measure on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// How many of the rankings do as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_good: Option<usize>,
    /// How many rankings it was compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rankings: Option<usize>,
    /// Whether these are all rankings there are, its own among them, and not random ones.
    pub exact: bool,
    /// How well it fits, in standard deviations over all rankings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub z: Option<f64>,
    /// What p is held against.
    pub level: f64,
    /// What comes of it.
    pub verdict: ChanceVerdict,
    /// Why it is undecided, or failed whatever p is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How many sets of hidden units it was measured on.
    pub masks: usize,
    /// The scale on which F was read.
    pub scale: String,
    /// Whether the scores have a sign; else they are held against the sizes of effects.
    pub signed: bool,
    /// Whether the method had not seen what hiding these sets does, of a model that answers the same text the same way each
    /// time; absent where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub independent: Option<bool>,
    /// The same in words.
    pub says: String,
}

/// What comes of the test against chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ChanceVerdict {
    /// Few random rankings do as well.
    Passed,
    /// Random rankings do as well, and this text could have shown a better one.
    Failed,
    /// No order of these scores could have passed.
    Undecided,
}

/// Whether scores add up: gap = |sum − difference| / max(|difference|, 0.1·Σ|score|).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Completeness {
    /// The sum of all scores, special tokens included, in units of F.
    pub sum: f64,
    /// What they should sum to.
    pub difference: f64,
    /// The gap between the two, as a share from 0 up.
    pub gap: f64,
    /// What biases and constants took of it, where the method books that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bias: Option<f64>,
    /// The same at each layer, where the method gives it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<LayerSum>,
}

impl Completeness {
    /// Scores that claim to sum to `difference`.
    pub fn new(values: impl IntoIterator<Item = f64>, difference: f64) -> Self {
        let (sum, size) = values.into_iter().fold((0.0, 0.0), |(sum, size), v| (sum + v, size + v.abs()));
        let gap = Self::gap_of(sum, difference, size);
        Self { sum, difference, gap, bias: None, layers: Vec::new() }
    }

    /// The relative gap between a sum and what it should be, for scores of this total size.
    pub fn gap_of(sum: f64, difference: f64, size: f64) -> f64 {
        if sum == difference {
            return 0.0;
        }
        (sum - difference).abs() / f64::max(difference.abs(), 0.1 * size)
    }
}

/// What scores sum to at one layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LayerSum {
    /// The layer's site by name.
    pub site: String,
    /// The sum of the layer's scores and of what biases below it took, in units of F.
    pub sum: f64,
    /// The gap to what they should sum to, as a share from 0 up, as in [`Completeness`].
    pub gap: f64,
}

/// What became of the model's answer when a softplus took the place of every ReLU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReluSwap {
    /// The β of (1/β)·ln(1 + e^(βz)).
    pub beta: f64,
    /// F of the model itself.
    pub value: f64,
    /// F of the network that was explained.
    pub swapped: f64,
    /// The largest change of a logit.
    pub logit_change: f64,
    /// The largest change of a probability; of tasks without classes, that of what was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prob_change: Option<f64>,
    /// Whether the network that was explained decides something else.
    pub decision_changed: bool,
}

impl ReluSwap {
    /// What a reader must know of it where no card shows it.
    pub fn sentence(&self) -> String {
        let Self { beta, value, swapped, .. } = self;
        let decision = if self.decision_changed { ", and it decides something else" } else { "" };
        format!(
            "explained is the network with a softplus (β = {beta}) for every ReLU: the target is {swapped:.4} there and \
             {value:.4} in the model{decision}"
        )
    }
}

/// How units were hidden, and what was read then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hiding {
    /// How a unit becomes absent: delete, mask, pad, unk or zero.
    pub masker: String,
    /// The F of comprehensiveness, sufficiency, leave-one-out and curves: the target, by its probability where it has one.
    pub target: String,
    /// That F of the whole text.
    pub value: f64,
    /// How many different rows the evidence asked for, the whole text among them, beyond those of earlier explanations of the same
    /// text and target. Rows that were remembered, from a cache or from the method, count too, so that it is no number of runs.
    pub rows: usize,
}

/// What hiding units, or all others, does to F: one figure a bin, and their mean (AOPC).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Erasure {
    /// The share of units in each bin.
    pub bins: Vec<f64>,
    /// The drops by the explanation's own ranking.
    pub own: UnitDrop,
    /// The drops by that ranking upside down.
    pub reversed: UnitDrop,
    /// The drops by random rankings, one for each ranking.
    pub random: Vec<UnitDrop>,
    /// The mean over bins of ln p(after) − ln p(before), by the explanation's own ranking, with p the probability of what
    /// was decided; none where nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_odds: Option<f64>,
}

impl Erasure {
    fn consistent(&self) -> Result<()> {
        let Self { bins, own, reversed, random, .. } = self;
        lengths("own", own.values.len(), "bins", bins.len())?;
        lengths("reversed", reversed.values.len(), "bins", bins.len())?;
        let one = |(index, drop): (usize, &UnitDrop)| {
            lengths(&format!("random[{index}]"), drop.values.len(), "bins", bins.len())
        };
        random.iter().enumerate().try_for_each(one)
    }
}

/// F before minus F after, by bin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnitDrop {
    /// The drop of F for each bin, in units of F.
    pub values: Vec<f64>,
    /// The mean of the drops over all bins.
    pub mean: f64,
}

impl UnitDrop {
    /// The drops of each bin.
    pub fn new(values: Vec<f64>) -> Self {
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        Self { values, mean }
    }
}

/// The smallest top-ranked set, of those tried, whose removal changes the decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Flip {
    /// Indices of the units, best first; empty where none of those tried did.
    pub units: Vec<usize>,
    /// How many of the top-ranked units were tried.
    pub tried: usize,
    /// The decision and its probability before.
    pub before: (String, f64),
    /// The decision and its probability after; where none of those tried changes it, after the largest.
    pub after: (String, f64),
    /// The share of random sets of that size that change it too.
    pub random_share: f64,
    /// How many random sets that is measured on.
    pub random_sets: usize,
}

/// Kendall's τ_b, with ties, and its one-sided p-value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankAgreement {
    /// The rank correlation τ_b, from −1 to 1; none where one side is all ties.
    pub tau: Option<f64>,
    /// The chance of a τ at least as large without any relation.
    pub p_value: Option<f64>,
    /// How many units it was measured on.
    pub units: usize,
    /// F minus F without the unit, for each unit measured.
    pub drops: Vec<f64>,
    /// Which units those are; of long texts not all, but evenly spread over the ranks.
    pub measured: Vec<usize>,
}

/// F along a ranking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Curve {
    /// The share of units removed or put back.
    pub shares: Vec<f64>,
    /// F there, by the explanation's ranking.
    pub values: Vec<f64>,
    /// F there, the mean over random rankings.
    pub random: Vec<f64>,
    /// The mean of F along the curve.
    pub area: f64,
    /// The same for random rankings.
    pub random_area: f64,
}

impl Curve {
    fn consistent(&self) -> Result<()> {
        lengths("values", self.values.len(), "shares", self.shares.len())?;
        if self.random.is_empty() {
            return Ok(());
        }
        lengths("random", self.random.len(), "shares", self.shares.len())
    }
}

/// How far the scores move within a small ball around the input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sensitivity {
    /// The largest ‖Φ(x + δ) − Φ(x)‖ / ‖Φ(x)‖ found.
    pub relative: f64,
    /// The largest ‖Φ(x + δ) − Φ(x)‖ found.
    pub absolute: f64,
    /// The radius of the ball in each coordinate.
    pub radius: f64,
    /// How many δ were tried.
    pub samples: usize,
}

/// E\[(I·Φ − (F(x) − F(x − I)))²\] over random perturbations I.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Infidelity {
    /// The infidelity of the scores as they are.
    pub value: f64,
    /// The infidelity of the scores times the factor that serves them best.
    pub scaled: f64,
    /// That factor; below zero where the scores foretell the opposite.
    pub factor: f64,
    /// The infidelity of scores of zero: what knowing nothing costs.
    pub zero: f64,
    /// How many I were drawn.
    pub samples: usize,
}

/// How alike the scores are under noise in the embeddings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stability {
    /// The mean rank correlation (Spearman) with the original; all ties count as none.
    pub correlation: f64,
    /// The lowest correlation of all draws.
    pub worst: f64,
    /// The noise's standard deviation as a share of the embeddings' range.
    pub noise: f64,
    /// How many noisy copies.
    pub samples: usize,
    /// How many of them kept the decision; all, where the model decides nothing.
    pub same_decision: usize,
}

/// The scores of a model whose top is random, compared with the original.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Randomisation {
    /// The last part that was made random; everything above it is too.
    pub down_to: String,
    /// Rank correlation (Spearman) of the scores with the original's; all ties count as none.
    pub correlation: f64,
    /// The same of their absolute values.
    pub absolute: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_is_added_hides_no_field() {
        let schema = schemars::schema_for!(Checks);
        let fields = schema.get("properties").and_then(|fields| fields.as_object()).unwrap();
        let fields: BTreeSet<&str> = fields.keys().map(String::as_str).collect();
        assert_eq!(fields, BTreeSet::from(Checks::FIELDS));
        let mut checks = Checks::default();
        assert!(checks.add("flip", &1).unwrap_err().to_string().contains("'flip' is a field"));
        checks.add("flips", &1).unwrap();
        assert_eq!(checks.others.len(), 1);
    }
}
