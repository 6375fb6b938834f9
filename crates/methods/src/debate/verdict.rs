//! What the attention of a model is worth, from statistics over seeds: five rules, of which the first that holds decides.
//!
//! 1. contradicts: words whose removal changes the answer have little weight, or weights rank words against what removing them does.
//! 2. says nothing, the weights are idle: other weights give the same answer.
//! 3. says nothing, attention is not needed: equal weights do as well.
//! 4. supports: weights move the answer, lie on the words that decide, and rank words as removing them does.
//! 5. says nothing, mixed: something of rule 4 fails.

mod sentences;
#[cfg(test)]
mod tests;

use super::tables::FAR;
use crate::statistics::interval::Interval;
use exegete_core::report::{Finding, Judgement};

/// What is judged, each with its interval over seeds.
#[derive(Debug, Clone, PartialEq)]
pub struct DebateStatistics {
    /// What models are compared by: F1, above two classes accuracy.
    pub metric: &'static str,
    /// D_u: that of the trained attention minus that of equal weights.
    pub gain: Interval,
    /// m: the mean over texts of the median TVD of reordered weights.
    pub moved: Interval,
    /// τ: the mean over texts of τ_b between weights and leaving out; none where it is never defined.
    pub tau: Option<Interval>,
    /// c: the share of texts with a decisive word.
    pub decisive: f64,
    /// r̃: the median weight of decisive words, as a multiple of an equal share; none where no text has one.
    pub ratio: Option<Interval>,
    /// e: the share of texts that only the top word flips, minus that which only a random one flips.
    pub flips: Interval,
    /// s: the median share of words removed by weight, minus that removed at random; none where no text flips.
    pub removed: Option<Interval>,
    /// The same minus that removed by weight times gradient.
    pub beyond_product: Option<Interval>,
    /// The share of texts with other weights far from the own ones and the same answer.
    pub other_weights: Interval,
    /// Of the model trained to answer the same with other weights: how far its weights are and what it loses.
    pub adversary: Option<FarAdversary>,
    /// What a guide reaches with the model's weights, minus what one with equal weights reaches.
    pub guide: Option<Interval>,
}

/// A model that was trained to answer as another does with other weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FarAdversary {
    /// The mean JSD of its weights to those of the base, in nats.
    pub jsd: f64,
    /// What the base reaches minus what it reaches.
    pub loss: f64,
}

/// More decisive words than this are enough to judge weights by.
const ENOUGH_DECISIVE: f64 = 0.2;
/// Less than this times an equal share is little weight.
const LITTLE: f64 = 0.5;
/// More than this times an equal share is much weight.
const MUCH: f64 = 2.0;
/// An answer that moves by less does not depend on the weights.
const IDLE: f64 = 0.02;
/// An answer that moves by more depends on the weights.
const MOVES: f64 = 0.1;
/// A difference of F1 or accuracy that counts.
const COUNTS: f64 = 0.02;
/// From this τ on, two rankings say much the same.
const AGREES: f64 = 0.3;
/// The share of texts that counts as most.
const MOST: f64 = 0.5;
/// From this mean JSD on, a trained adversary's weights are others.
const OTHERS: f64 = 0.4;

/// One of the rules.
struct DebateRule {
    number: u32,
    verdict: &'static str,
    holds: fn(&DebateStatistics) -> bool,
    says: fn(&DebateStatistics) -> String,
}

const RULES: [DebateRule; 5] = [
    DebateRule {
        number: 1,
        verdict: "contradicts",
        holds: |found| found.decides_elsewhere() || found.ranks_against(),
        says: sentences::contradicts,
    },
    DebateRule {
        number: 2,
        verdict: "says_nothing",
        holds: DebateStatistics::is_idle,
        says: |found| format!("Attention says nothing here: {}.", sentences::idle(found)),
    },
    DebateRule {
        number: 3,
        verdict: "says_nothing",
        holds: |found| !found.is_needed(),
        says: |found| format!("Attention says nothing here: {}.", sentences::not_needed(found)),
    },
    DebateRule {
        number: 4,
        verdict: "supports",
        holds: |found| found.support().iter().all(|condition| condition.holds),
        says: sentences::supports,
    },
    DebateRule { number: 5, verdict: "says_nothing", holds: |_| true, says: sentences::mixed },
];

/// The verdict, its sentences and everything that was held against a threshold.
pub fn judge(found: &DebateStatistics) -> Judgement {
    ruled(found, &RULES)
}

/// The first of some rules that holds; the last always does.
fn ruled(found: &DebateStatistics, rules: &[DebateRule]) -> Judgement {
    let first = rules.iter().position(|rule| (rule.holds)(found)).unwrap_or(rules.len() - 1);
    let DebateRule { number, verdict, says, .. } = rules[first];
    let sentences = std::iter::once(says(found)).chain(sentences::further(found, number)).collect();
    Judgement {
        name: "debate".to_owned(),
        verdict: verdict.to_owned(),
        rule: Some(number),
        sentences,
        findings: findings(found),
        notes: Vec::new(),
    }
}

/// Something that may hold, with the number that it is about.
struct Condition {
    name: &'static str,
    measured: Option<f64>,
    threshold: f64,
    holds: bool,
}

impl Condition {
    fn below(name: &'static str, of: Option<Interval>, threshold: f64) -> Self {
        let holds = of.is_some_and(|interval| interval.lies_below(threshold));
        Self { name, measured: of.map(|interval| interval.value), threshold, holds }
    }

    fn above(name: &'static str, of: Option<Interval>, threshold: f64) -> Self {
        let holds = of.is_some_and(|interval| interval.lies_above(threshold));
        Self { name, measured: of.map(|interval| interval.value), threshold, holds }
    }
}

impl DebateStatistics {
    /// Enough texts have a decisive word, and those words have less than half an equal share of the weight.
    fn decides_elsewhere(&self) -> bool {
        self.decisive >= ENOUGH_DECISIVE && self.little().holds
    }

    fn little(&self) -> Condition {
        Condition::below("decisive_words_have_little_weight", self.ratio, LITTLE)
    }

    fn ranks_against(&self) -> bool {
        self.against().holds
    }

    fn against(&self) -> Condition {
        Condition::below("ranks_against_leaving_out", self.tau, 0.0)
    }

    fn is_idle(&self) -> bool {
        self.moved.lies_below(IDLE)
    }

    fn is_needed(&self) -> bool {
        self.gain.lies_above(0.0) && self.gain.value >= COUNTS
    }

    /// What rule 4 asks for.
    fn support(&self) -> [Condition; 5] {
        let later = Condition::above("", self.removed, 0.0);
        let no_later = Condition {
            name: "no_more_words_removed_than_at_random",
            holds: self.removed.is_some() && !later.holds,
            ..later
        };
        [
            Condition::above("weights_move_the_answer", Some(self.moved), MOVES),
            Condition::above("decisive_words_have_much_weight", self.ratio, MUCH),
            Condition::above("ranks_as_leaving_out", self.tau, AGREES),
            Condition::above("top_word_flips_more", Some(self.flips), 0.0),
            no_later,
        ]
    }

    fn other_weights_would_do(&self) -> bool {
        self.other_weights.lies_above(MOST) || self.adversary.is_some_and(|found| found.would_do())
    }

    fn points_better(&self) -> Condition {
        Condition::above("gradients_point_better", self.beyond_product, 0.0)
    }

    fn informs_alone(&self) -> Condition {
        Condition::above("weights_carry_information_alone", self.guide, 0.0)
    }
}

impl FarAdversary {
    fn would_do(&self) -> bool {
        self.jsd > OTHERS && self.loss <= COUNTS
    }
}

/// Every condition, whether a rule came so far or not.
fn findings(found: &DebateStatistics) -> Vec<Finding> {
    let enough = Condition {
        name: "decisive_words_are_common",
        measured: Some(found.decisive),
        threshold: ENOUGH_DECISIVE,
        holds: found.decisive >= ENOUGH_DECISIVE,
    };
    let needed = Condition {
        name: "attention_is_needed",
        measured: Some(found.gain.value),
        threshold: COUNTS,
        holds: found.is_needed(),
    };
    let far = Condition::above("other_weights_keep_the_answer", Some(found.other_weights), MOST);
    let trained = found.adversary.map(|adversary| Condition {
        name: "a_trained_adversary_does_as_well",
        measured: Some(adversary.loss),
        threshold: COUNTS,
        holds: adversary.would_do(),
    });
    let idle = Condition::below("weights_are_idle", Some(found.moved), IDLE);
    [enough, found.little(), found.against(), idle, needed]
        .into_iter()
        .chain(found.support())
        .chain([far])
        .chain(trained)
        .chain([found.informs_alone(), found.points_better()])
        .map(|Condition { name, measured, threshold, holds }| Finding {
            check: name.to_owned(),
            measured,
            threshold: Some(threshold),
            passed: measured.map(|_| holds),
        })
        .collect()
}
