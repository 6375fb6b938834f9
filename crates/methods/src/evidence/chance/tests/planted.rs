//! Models whose truth is known: F is the sum of the weights of visible units.

use super::*;

struct Planted {
    weights: Vec<f64>,
    /// What F gains while the first two units are both visible.
    bonus: f64,
}

impl Planted {
    fn drawn(units: usize, bonus: f64, random: &mut ChaCha8Rng) -> Self {
        Self { weights: (0..units).map(|_| normal(random)).collect(), bonus }
    }

    fn drop(&self, set: &Set) -> f64 {
        let broken = set.iter().any(|&unit| unit < 2);
        set.iter().map(|&unit| self.weights[unit]).sum::<f64>() + if broken { self.bonus } else { 0.0 }
    }

    fn truth(&self) -> Vec<f64> {
        let half = |unit: usize| if unit < 2 { self.bonus / 2.0 } else { 0.0 };
        self.weights.iter().enumerate().map(|(unit, w)| w + half(unit)).collect()
    }

    fn effects(&self, sets: &[Set]) -> Effects {
        let drops: Vec<f64> = sets.iter().map(|set| self.drop(set)).collect();
        Effects::of(self.weights.len(), &sets.iter().collect::<Vec<_>>(), &drops)
    }
}

/// The sets and orders of a text.
fn shared(units: usize, text: u64) -> Shared {
    let masks = masks(units, &mut Stream::Masks.random(0, text));
    Shared { masks, orders: Orders::new(units, &mut Stream::Chance.random(0, text)) }
}

fn passes(values: &[f64], effects: &Effects, shared: &Shared) -> bool {
    Trial::of(values, true, effects, &shared.orders, &words).verdict == ChanceVerdict::Passed
}

#[test]
fn the_truth_passes() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    for bonus in [0.0, 1.5] {
        for units in [5, 6, 8, 12, 20] {
            for text in 0..150 {
                let (planted, shared) = (Planted::drawn(units, bonus, &mut random), shared(units, text));
                let (effects, truth) = (planted.effects(&shared.masks), planted.truth());
                assert!(passes(&truth, &effects, &shared), "{units} units, text {text}, bonus {bonus}");
            }
        }
    }
}

/// Broken: the truth moved on by any number of places, and upside down.
#[test]
fn a_broken_truth_rarely_passes() {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    for bonus in [0.0, 1.5] {
        let (mut broken, mut tried) = (0, 0);
        for units in [5, 6, 8, 12, 20] {
            for text in 0..200 {
                let (planted, shared) = (Planted::drawn(units, bonus, &mut random), shared(units, text));
                let (effects, truth) = (planted.effects(&shared.masks), planted.truth());
                for by in 1..units {
                    let moved: Vec<f64> = (0..units).map(|i| truth[(i + by) % units]).collect();
                    broken += usize::from(passes(&moved, &effects, &shared));
                    tried += 1;
                }
                let reversed: Vec<f64> = truth.iter().map(|v| -v).collect();
                broken += usize::from(passes(&reversed, &effects, &shared));
                tried += 1;
            }
        }
        let rate = broken as f64 / tried as f64;
        assert!(rate <= 0.02, "{broken} of {tried} broken rankings pass");
    }
}

#[test]
fn one_deciding_word_is_undecided() {
    for units in [5, 6, 8, 12, 20] {
        for text in 0..30 {
            let shared = shared(units, text);
            let mut weights = vec![0.0; units];
            weights[text as usize % units] = 1.0;
            let planted = Planted { weights, bonus: 0.0 };
            let effects = planted.effects(&shared.masks);
            let found = Trial::of(&planted.weights, true, &effects, &shared.orders, &words);
            assert_eq!(found.reason.as_deref(), Some("only 1 word moves F measurably"), "{units}, {text}");
        }
    }
}

/// The planted fault: sets drawn from the scores. F falls with the number of hidden words alone; where well-scored words are
/// hidden in large sets and others in small ones, the well-scored ones look as if they had moved it.
#[test]
fn sets_drawn_from_scores_would_pass_noise() {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let drop = |set: &Set| (set.len() as f64).powi(2);
    let rate = |from_scores: bool, random: &mut ChaCha8Rng| {
        let passed = (0..200u64).filter(|&text| {
            let shared = shared(12, text);
            let values: Vec<f64> = (0..12).map(|_| normal(random)).collect();
            let mut order: Vec<usize> = (0..12).collect();
            order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
            let part = |k: usize| match k % 2 {
                0 => (0..5).map(|i| order[(k + i) % 6]).collect::<Set>(),
                _ => (0..2).map(|i| order[6 + (k + i) % 6]).collect(),
            };
            let chosen: Vec<Set> = (0..40).map(part).collect();
            let sets = if from_scores { &chosen } else { &shared.masks };
            let drops: Vec<f64> = sets.iter().map(drop).collect();
            let effects = Effects::of(12, &sets.iter().collect::<Vec<_>>(), &drops);
            passes(&values, &effects, &shared)
        });
        passed.count() as f64 / 200.0
    };
    assert!(rate(true, &mut random) > 0.5);
    assert!(rate(false, &mut random) <= 0.03);
}
