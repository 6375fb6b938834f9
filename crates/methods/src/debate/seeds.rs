//! What the experiments come to for one kind of model, trained with several seeds.

use super::tables::FAR;
use super::training::{chosen, differences};
use super::verdict::{DebateStatistics, FarAdversary};
use super::{Arm, ArmRecord, ErasureShares, TextRecord};
use crate::statistics::interval::{Interval, mean, median, over_seeds};

/// The fewest seeds that an interval is worked out from.
pub const LEAST_SEEDS: usize = 3;

/// The statistics of one trained model over its texts.
#[derive(Debug, Clone, PartialEq)]
pub struct SeedStatistics {
    /// The mean τ_b of weights and gradients; none where no text has one.
    pub tau_gradient: Option<f64>,
    /// The mean τ_b of weights and leaving out; none where no text has one.
    pub tau_leave_one_out: Option<f64>,
    /// m: the mean of the median TVD of reordered weights.
    pub moved: f64,
    /// The mean ε-max JSD, in nats.
    pub farthest: f64,
    /// The share of texts whose farthest admissible weights are far.
    pub other_weights: f64,
    /// c: the share of texts with a decisive word.
    pub decisive: f64,
    /// r̃: the median weight of those words, as a multiple of an equal share.
    pub ratio: Option<f64>,
    /// The shares of texts that both words flip, the top one only, the random one only, neither.
    pub flips: [f64; 4],
    /// The median share of words removed before the first flip, in the order of [`RANKINGS`](super::share::RANKINGS); none where no text flips.
    pub removed: Option<[f64; 4]>,
}

impl SeedStatistics {
    /// Of the records of one model, which must all be of the same experiments.
    pub fn of(records: &[TextRecord]) -> Self {
        let some = |values: Vec<f64>| (!values.is_empty()).then_some(values);
        let taus = |of: fn(&TextRecord) -> Option<super::Tau>| {
            some(records.iter().filter_map(of).map(|found| found.tau).collect()).map(|taus| mean(&taus))
        };
        let farthest: Vec<f64> =
            records.iter().filter_map(|record| Some(record.adversary.as_ref()?.jsd)).collect();
        let ratios = some(records.iter().filter_map(|record| Some(record.decisive?.ratio)).collect());
        let moved: Vec<f64> = records.iter().filter_map(|record| record.median_tvd).collect();
        Self {
            tau_gradient: taus(|record| record.tau_gradient),
            tau_leave_one_out: taus(|record| record.tau_leave_one_out),
            moved: mean(&moved),
            farthest: mean(&farthest),
            other_weights: share(farthest.iter().map(|&jsd| jsd > FAR)),
            decisive: share(records.iter().map(|record| record.decisive.is_some())),
            ratio: ratios.map(|mut ratios| median(&mut ratios)),
            flips: [(true, true), (true, false), (false, true), (false, false)].map(|cell| {
                let pairs = records.iter().filter_map(|record| record.erase);
                share(pairs.map(|pair| (pair.top.flip, pair.random.flip) == cell))
            }),
            removed: removed(records),
        }
    }

    /// e: how many more texts the top word alone flips than a random one alone.
    pub fn top_beyond_random(&self) -> f64 {
        let [_, top, random, _] = self.flips;
        top - random
    }

    /// s: the median share removed in the order of the weights minus that at random.
    pub fn removed_beyond_random(&self) -> Option<f64> {
        self.removed.map(|[random, attention, ..]| attention - random)
    }

    /// The same minus that in the order of weight times gradient.
    pub fn removed_beyond_product(&self) -> Option<f64> {
        self.removed.map(|[_, attention, _, product]| attention - product)
    }
}

/// What models that were trained beside the base come to, seed by seed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Retrained {
    /// F1 of the base minus that of the model with equal weights; above two classes accuracy.
    pub gains: Vec<f64>,
    /// The same of a guide with the base's weights minus one with equal weights.
    pub guides: Vec<f64>,
    /// The model that was trained to answer the same with other weights, over its seeds.
    pub adversary: Option<FarAdversary>,
}

impl Retrained {
    /// What records come to, the tested model's first.
    pub fn of(records: &[ArmRecord]) -> Self {
        let base = records.first().map_or(f64::NAN, ArmRecord::score);
        let adversary = chosen(records).map(|chosen| {
            let own =
                || records.iter().filter(|own| own.arm == Arm::Adversarial && own.lambda == chosen.lambda);
            let jsd: Vec<f64> = own().filter_map(ArmRecord::mean_jsd).collect();
            let scores: Vec<f64> = own().map(ArmRecord::score).collect();
            FarAdversary { jsd: mean(&jsd), loss: base - mean(&scores) }
        });
        Self {
            gains: differences(records, [Arm::Base, Arm::Uniform]),
            guides: differences(records, [Arm::GuideBase, Arm::GuideUniform]),
            adversary,
        }
    }
}

impl DebateStatistics {
    /// What is judged, over the seeds of the base; none for too few seeds, or where an experiment is missing.
    pub fn over(seeds: &[SeedStatistics], retrained: &Retrained, metric: &'static str) -> Option<Self> {
        let decisive: Vec<f64> = seeds.iter().map(|seed| seed.decisive).collect();
        Some(Self {
            metric,
            gain: over(&retrained.gains, |&gain| Some(gain))?,
            moved: over(seeds, |seed| Some(seed.moved))?,
            tau: over(seeds, |seed| seed.tau_leave_one_out),
            decisive: mean(&decisive),
            ratio: over(seeds, |seed| seed.ratio),
            flips: over(seeds, |seed| Some(seed.top_beyond_random()))?,
            removed: over(seeds, SeedStatistics::removed_beyond_random),
            beyond_product: over(seeds, SeedStatistics::removed_beyond_product),
            other_weights: over(seeds, |seed| Some(seed.other_weights))?,
            adversary: retrained.adversary,
            guide: over(&retrained.guides, |&guide| Some(guide)),
        })
    }
}

/// A statistic over seeds: none where fewer than three have it.
pub fn over<T>(seeds: &[T], of: impl Fn(&T) -> Option<f64>) -> Option<Interval> {
    let values: Vec<f64> = seeds.iter().filter_map(of).filter(|value| value.is_finite()).collect();
    if values.len() < LEAST_SEEDS { None } else { over_seeds(&values) }
}

fn removed(records: &[TextRecord]) -> Option<[f64; 4]> {
    let counted: Vec<[f64; 4]> =
        records.iter().filter_map(|record| record.share.as_ref().and_then(ErasureShares::counted)).collect();
    let of = |ranking: usize| {
        let mut shares: Vec<f64> = counted.iter().map(|shares| shares[ranking]).collect();
        median(&mut shares)
    };
    (!counted.is_empty()).then(|| [0, 1, 2, 3].map(of))
}

/// The share of what holds; NaN of nothing.
fn share(holds: impl Iterator<Item = bool>) -> f64 {
    let found: Vec<f64> = holds.map(f64::from).collect();
    mean(&found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debate::{Adversary, Decisive, Erased, ErasedPair, Tau};
    use exegete_testkit::{Of, close};

    fn record(tau: Option<f64>, tvd: f64, jsd: f64, ratio: Option<f64>, flips: [bool; 2]) -> TextRecord {
        let erased = |flip| Erased { index: 0, alpha: 0.5, js: 0.1, flip };
        TextRecord {
            tau_leave_one_out: tau.map(|tau| Tau { tau, p: 0.5 }),
            median_tvd: Some(tvd),
            adversary: Some(Adversary { jsd, ..Adversary::default() }),
            decisive: ratio.map(|ratio| Decisive { index: 0, effect: 0.5, ratio }),
            erase: Some(ErasedPair { top: erased(flips[0]), random: erased(flips[1]) }),
            share: Some(ErasureShares([Some(0.75), Some(tvd), None, Some(0.25)])),
            ..TextRecord::default()
        }
    }

    #[test]
    fn one_model_by_hand() {
        let records = [
            record(Some(0.5), 0.1, 0.4, Some(3.0), [true, false]),
            record(Some(0.1), 0.3, 0.2, None, [true, false]),
            record(None, 0.2, 0.6, Some(1.0), [false, true]),
            record(Some(0.0), 0.4, 0.0, Some(7.0), [false, false]),
        ];
        let found = SeedStatistics::of(&records);
        let numbers = [
            found.tau_leave_one_out.unwrap(),
            found.moved,
            found.farthest,
            found.other_weights,
            found.decisive,
            found.ratio.unwrap(),
            found.top_beyond_random(),
            found.removed_beyond_random().unwrap(),
            found.removed_beyond_product().unwrap(),
        ];
        close(
            "statistics",
            &numbers,
            &[0.2, 0.25, 0.3, 0.5, 0.75, 3.0, 0.25, -0.5, 0.0],
            Of::Size(1.0),
            1e-9,
        );
        assert_eq!(found.tau_gradient, None);
    }

    #[test]
    fn models_trained_beside_the_base_by_hand() {
        let record = |arm, seed, lambda: Option<f64>, score, jsd| ArmRecord {
            arm,
            seed,
            lambda,
            f1: Some(score),
            accuracy: 0.0,
            tvd: Vec::new(),
            jsd: vec![Some(jsd)],
        };
        let records = [
            record(Arm::Base, 0, None, 0.9, 0.0),
            record(Arm::Base, 1, None, 0.8, 0.1),
            record(Arm::Uniform, 1, None, 0.7, 0.1),
            record(Arm::Uniform, 0, None, 0.85, 0.1),
            record(Arm::GuideBase, 0, None, 0.8, 0.0),
            record(Arm::GuideUniform, 0, None, 0.6, 0.0),
            record(Arm::Adversarial, 1, Some(0.005), 0.88, 0.5),
            record(Arm::Adversarial, 1, Some(0.02), 0.7, 0.6),
            record(Arm::Adversarial, 2, Some(0.005), 0.84, 0.7),
        ];
        let found = Retrained::of(&records);
        let far = found.adversary.unwrap();
        let numbers = [found.gains.clone(), found.guides.clone(), vec![far.jsd, far.loss]].concat();
        close("retrained", &numbers, &[0.05, 0.1, 0.2, 0.6, 0.04], Of::Size(1.0), 1e-9);
    }

    #[test]
    fn what_too_few_seeds_have_has_no_interval() {
        let seeds = [Some(0.1), None, Some(0.3)];
        assert_eq!(over(&seeds, |seed| *seed), None);
        let found = over(&[0.1, 0.2, 0.3], |&seed| Some(seed)).unwrap();
        close(
            "half",
            &[found.value, found.upper],
            &[0.2, 0.2 + 4.30265 * 0.1 / 3f64.sqrt()],
            Of::Size(1.0),
            1e-4,
        );
    }
}
