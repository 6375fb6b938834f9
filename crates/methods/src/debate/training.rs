//! Models that are trained beside the one that is tested: S. Wiegreffe and Y. Pinter, *Attention is not not explanation*,
//! 2019.
//!
//! With equal weights (`uniform`), with other seeds (`base`), without context under imposed weights (the guides), and to give
//! the same answers from other weights (`adversarial`). Each is held against the model itself: TVD of the answers, JSD of the
//! weights, and how well it answers.

use super::Experiment;
use super::distance::{jensen_shannon, largest, total_variation};
use crate::statistics::interval::{Interval, mean, over_seeds};
use serde::{Deserialize, Serialize};

/// The λ that are tried.
pub const LAMBDAS: [f64; 9] = [1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2];
/// How often an adversary sees every text at most.
pub const ADVERSARY_EPOCHS: usize = 20;
/// After how many epochs without a lower loss it stops.
pub const ADVERSARY_PATIENCE: usize = 5;
/// From this mean JSD on, an adversary's weights are other weights.
pub const APART: f64 = 0.4;

/// A way to train a model beside the one that is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arm {
    /// The model itself, and the same trained with other seeds.
    Base,
    /// The same with equal weights.
    Uniform,
    /// A model without context under equal weights.
    GuideUniform,
    /// A model without context under weights that it learned.
    GuideTrained,
    /// A model without context under the tested model's weights.
    GuideBase,
    /// A model without context under the adversary's weights.
    GuideAdversary,
    /// The same model, trained to answer as the tested one does with other weights.
    Adversarial,
}

impl Arm {
    /// What tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Uniform => "uniform",
            Self::GuideUniform => "guide_uniform",
            Self::GuideTrained => "guide_trained",
            Self::GuideBase => "guide_base",
            Self::GuideAdversary => "guide_adversary",
            Self::Adversarial => "adversarial",
        }
    }

    /// The experiment that asks for it.
    pub fn experiment(self) -> Experiment {
        match self {
            Self::Base => Experiment::Seeds,
            Self::Uniform => Experiment::Uniform,
            Self::Adversarial => Experiment::AdversarialTraining,
            _ => Experiment::Guide,
        }
    }
}

/// What a model says about some texts, and from which weights.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WeighedAnswers {
    /// The probabilities of each text.
    pub probabilities: Vec<Vec<f64>>,
    /// The weights of each text's words.
    pub alpha: Vec<Vec<f64>>,
}

/// The texts that all arms are measured on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MeasuredTexts {
    /// The right class of each.
    pub gold: Vec<usize>,
    /// The class of F1, where there are two; none where accuracy decides.
    pub positive: Option<usize>,
}

/// One trained model, held against the one that is tested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmRecord {
    /// How it was trained.
    pub arm: Arm,
    /// The seed of its training.
    pub seed: u64,
    /// What the divergence of weights counted, of an adversary.
    pub lambda: Option<f64>,
    /// F1 of the positive class, where there are two classes.
    pub f1: Option<f64>,
    /// The share of texts answered rightly.
    pub accuracy: f64,
    /// How far each text's answer is from the tested model's.
    pub tvd: Vec<f64>,
    /// How far each text's weights are from the tested model's, in nats; none where the two models count other words.
    pub jsd: Vec<Option<f64>>,
}

impl ArmRecord {
    /// Holds a model against the tested one.
    pub fn of(
        arm: (Arm, u64, Option<f64>),
        base: &WeighedAnswers,
        own: &WeighedAnswers,
        texts: &MeasuredTexts,
    ) -> Self {
        let said: Vec<usize> = own.probabilities.iter().map(|p| largest(p)).collect();
        let right = said.iter().zip(&texts.gold).filter(|(said, gold)| said == gold).count();
        let apart = |(a, b): (&Vec<f64>, &Vec<f64>)| (a.len() == b.len()).then(|| jensen_shannon(a, b));
        let (arm, seed, lambda) = arm;
        Self {
            arm,
            seed,
            lambda,
            f1: texts.positive.map(|positive| f1(&said, &texts.gold, positive)),
            accuracy: right as f64 / said.len().max(1) as f64,
            tvd: own
                .probabilities
                .iter()
                .zip(&base.probabilities)
                .map(|(p, q)| total_variation(p, q))
                .collect(),
            jsd: own.alpha.iter().zip(&base.alpha).map(apart).collect(),
        }
    }

    /// How well it answers: F1 with two classes, accuracy with more.
    pub fn score(&self) -> f64 {
        self.f1.unwrap_or(self.accuracy)
    }

    /// The mean TVD over texts.
    pub fn mean_tvd(&self) -> f64 {
        mean(&self.tvd)
    }

    /// The mean JSD over texts whose weights can be compared; none where there is no such text.
    pub fn mean_jsd(&self) -> Option<f64> {
        let known: Vec<f64> = self.jsd.iter().copied().flatten().collect();
        (!known.is_empty()).then(|| mean(&known))
    }
}

/// F1 of a class from what was said and what is right; 0 where it is neither there nor said.
pub fn f1(said: &[usize], gold: &[usize], positive: usize) -> f64 {
    let count = |holds: fn(bool, bool) -> bool| {
        said.iter().zip(gold).filter(|&(&s, &g)| holds(s == positive, g == positive)).count()
    };
    let (hit, wrong) = (count(|said, gold| said && gold), count(|said, gold| said != gold));
    if hit + wrong == 0 { 0.0 } else { 2.0 * hit as f64 / (2 * hit + wrong) as f64 }
}

/// The adversary that stands for all: of those with a mean JSD above [`APART`] the one that answers best, else the one of
/// the largest JSD. The first of equal ones.
pub fn chosen(records: &[ArmRecord]) -> Option<&ArmRecord> {
    let adversaries = || records.iter().filter(|record| record.arm == Arm::Adversarial);
    let jsd = |record: &ArmRecord| record.mean_jsd().unwrap_or(0.0);
    let best = |found: Vec<&'_ ArmRecord>, of: &dyn Fn(&ArmRecord) -> f64| {
        found
            .into_iter()
            .fold(None, |best: Option<&ArmRecord>, record| match best {
                Some(best) if of(best) >= of(record) => Some(best),
                _ => Some(record),
            })
            .map(|record| (record.seed, record.lambda))
    };
    let apart: Vec<&ArmRecord> = adversaries().filter(|record| jsd(record) > APART).collect();
    let key = match apart.is_empty() {
        true => best(adversaries().collect(), &jsd),
        false => best(apart, &ArmRecord::score),
    }?;
    adversaries().find(|record| (record.seed, record.lambda) == key)
}

/// What one arm's score is above another's, seed by seed where both have a seed in common.
pub fn differences(records: &[ArmRecord], [above, below]: [Arm; 2]) -> Vec<f64> {
    let of = |arm: Arm| records.iter().filter(move |record| record.arm == arm);
    let pair = |one: &ArmRecord| {
        let other = of(below).find(|other| other.seed == one.seed)?;
        Some(one.score() - other.score())
    };
    of(above).filter_map(pair).collect()
}

/// The same as an interval over seeds; none for fewer than two seeds.
pub fn difference(records: &[ArmRecord], arms: [Arm; 2]) -> Option<Interval> {
    over_seeds(&differences(records, arms))
}

/// The scores of an arm over its seeds; of the adversary those of the λ that stands for all.
pub fn scores(records: &[ArmRecord], arm: Arm) -> Vec<f64> {
    let lambda = chosen(records).and_then(|record| record.lambda);
    let own = records.iter().filter(|record| record.arm == arm);
    own.filter(|record| arm != Arm::Adversarial || record.lambda == lambda).map(ArmRecord::score).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_testkit::{Of, close};

    fn answers(probabilities: &[[f64; 2]], alpha: &[&[f64]]) -> WeighedAnswers {
        WeighedAnswers {
            probabilities: probabilities.iter().map(|p| p.to_vec()).collect(),
            alpha: alpha.iter().map(|alpha| alpha.to_vec()).collect(),
        }
    }

    #[test]
    fn a_record_by_hand() {
        let base = answers(&[[0.6, 0.4], [0.2, 0.8], [0.9, 0.1]], &[&[0.5, 0.5], &[1.0], &[0.7, 0.2, 0.1]]);
        let own =
            answers(&[[0.7, 0.3], [0.6, 0.4], [0.1, 0.9]], &[&[1.0, 0.0], &[0.5, 0.5], &[0.2, 0.3, 0.5]]);
        let texts = MeasuredTexts { gold: vec![0, 1, 1], positive: Some(1) };
        let found = ArmRecord::of((Arm::Uniform, 3, None), &base, &own, &texts);
        close("tvd", &found.tvd, &[0.1, 0.4, 0.8], Of::Size(1.0), 1e-12);
        assert_eq!(found.jsd[1], None, "two words are not one");
        let jsd = [found.jsd[0].unwrap(), found.jsd[2].unwrap(), found.mean_jsd().unwrap()];
        close("jsd", &jsd, &[0.215762, 0.151358, 0.183560], Of::Size(1.0), 1e-6);
        // One of two positives is found, nothing is wrongly called positive: F1 2/3; two of three are right.
        close("scores", &[found.f1.unwrap(), found.accuracy], &[2.0 / 3.0; 2], Of::Size(1.0), 1e-12);
        assert_eq!(found.score(), found.f1.unwrap());
        assert_eq!(f1(&[0, 0], &[0, 0], 1), 0.0);
    }

    fn adversary(lambda: f64, score: f64, jsd: f64) -> ArmRecord {
        ArmRecord {
            arm: Arm::Adversarial,
            seed: 1,
            lambda: Some(lambda),
            f1: None,
            accuracy: score,
            tvd: vec![0.1],
            jsd: vec![Some(jsd)],
        }
    }

    #[test]
    fn the_adversary_that_is_far_and_answers_best_stands_for_all() {
        let lambda = |records: &[ArmRecord]| chosen(records).and_then(|record| record.lambda);
        let near = [adversary(1e-4, 0.9, 0.1), adversary(1e-3, 0.8, 0.3)];
        assert_eq!(lambda(&near), Some(1e-3), "none is far: the farthest");
        let far = [near.to_vec(), vec![adversary(5e-3, 0.7, 0.45), adversary(1e-2, 0.75, 0.5)]].concat();
        assert_eq!(lambda(&far), Some(1e-2), "of the far ones the best, and .4 itself is not far");
        assert_eq!(lambda(&[adversary(1.0, 0.9, 0.4), adversary(2.0, 0.1, 0.41)]), Some(2.0));
        assert_eq!(lambda(&[]), None);
        assert_eq!(scores(&far, Arm::Adversarial), [0.75]);
    }

    #[test]
    fn differences_are_taken_seed_by_seed() {
        let record =
            |arm, seed, accuracy| ArmRecord { arm, seed, lambda: None, ..adversary(0.0, accuracy, 0.0) };
        let records = [
            record(Arm::Base, 0, 0.9),
            record(Arm::Base, 1, 0.7),
            record(Arm::Uniform, 1, 0.6),
            record(Arm::Uniform, 0, 0.85),
            record(Arm::Base, 2, 0.1),
        ];
        let found = differences(&records, [Arm::Base, Arm::Uniform]);
        close("differences", &found, &[0.05, 0.1], Of::Size(1.0), 1e-12);
        assert!(difference(&records, [Arm::Base, Arm::GuideBase]).is_none());
    }
}
