//! Which of many chances are the best, by as few draws as it takes: KL-LUCB. E. Kaufmann, S. Kalyanakrishnan, *Information
//! complexity in bandit subset selection*, 2013.

use super::kl::Tally;

/// What is to be found out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aim {
    /// How many of the best.
    pub top: usize,
    /// How much worse than the best left out the worst chosen one may be.
    pub tolerance: f64,
    /// How often that may fail.
    pub delta: f64,
}

/// β(t, δ) = ln x + ln ln x with x = k₁·K·t^α / δ, the exploration rate for K arms in round t, with α = 1.1 and k₁ = 405.5 as
/// M. Ribeiro, S. Singh and C. Guestrin take them.
pub fn exploration_rate(arms: usize, round: usize, delta: f64) -> f64 {
    let x = 405.5 * arms as f64 * (round as f64).powf(1.1) / delta;
    x.ln() + x.ln().ln()
}

/// Arms by what is known, best first; of equals the one that is known better.
pub fn best_first(arms: &[Tally]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..arms.len()).collect();
    order.sort_by(|&a, &b| arms[b].smoothed().total_cmp(&arms[a].smoothed()));
    order
}

/// The two arms to draw from next: of the chosen ones the one that may be worst, of the others the one that may be best.
/// None where these are no further apart than the tolerance: the top is found.
pub fn contested(arms: &[Tally], aim: &Aim, round: usize) -> Option<[usize; 2]> {
    let order = best_first(arms);
    let (chosen, others) = order.split_at(aim.top.min(order.len()));
    let nats = exploration_rate(arms.len(), round, aim.delta);
    let low = |arm: &usize| (arms[*arm].low(nats), *arm);
    let high = |arm: &usize| (arms[*arm].high(nats), *arm);
    let worst = chosen.iter().map(low).min_by(|a, b| a.0.total_cmp(&b.0))?;
    let best = others.iter().map(high).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 - worst.0 > aim.tolerance).then_some([worst.1, best.1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    const AIM: Aim = Aim { top: 2, tolerance: 0.1, delta: 0.05 };

    /// How often the top is wrong by more than the tolerance in 100 runs, and how many draws a run takes.
    fn run(truth: &[f64], next: fn(&[Tally], &Aim, usize) -> Option<[usize; 2]>) -> (usize, usize) {
        let mut sorted = truth.to_vec();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let (mut wrong, mut drawn) = (0, 0);
        for seed in 0..100 {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut arms = vec![Tally::default(); truth.len()];
            let mut pull = |arms: &mut [Tally], arm: usize| {
                (0..20).for_each(|_| arms[arm].add(random.random::<f64>() < truth[arm]));
            };
            (0..truth.len()).for_each(|arm| pull(&mut arms, arm));
            let mut round = 1;
            while let Some(pair) = next(&arms, &AIM, round) {
                pair.into_iter().for_each(|arm| pull(&mut arms, arm));
                round += 1;
            }
            let least = sorted[AIM.top - 1] - AIM.tolerance;
            let top = best_first(&arms);
            wrong += usize::from(top[..AIM.top].iter().any(|&arm| truth[arm] < least));
            drawn += arms.iter().map(|arm| arm.trials).sum::<usize>();
        }
        (wrong, drawn / 100)
    }

    #[test]
    fn the_best_arms_are_found_as_often_as_promised() {
        let truth = [0.5, 0.9, 0.7, 0.85, 0.3, 0.6, 0.72];
        let (wrong, drawn) = run(&truth, contested);
        assert!(wrong <= 5, "{wrong} of 100");
        // Drawing all arms alike until the hardest pair is apart would take a multiple.
        assert!(drawn < 7 * 1500, "{drawn}");
    }

    #[test]
    fn stopping_at_once_does_not_keep_the_promise() {
        let (wrong, _) = run(&[0.5, 0.9, 0.7, 0.85, 0.3, 0.6, 0.72], |_, _, _| None);
        assert!(wrong > 5, "{wrong} of 100");
    }

    #[test]
    fn few_arms_need_no_draws() {
        assert_eq!(contested(&[], &AIM, 1), None);
        assert_eq!(contested(&[Tally::default(); 2], &AIM, 1), None);
        assert!(contested(&[Tally::default(); 3], &AIM, 1).is_some());
    }

    #[test]
    fn the_rate_by_hand() {
        // x = 405.5 · 20 / 0.05 = 162 200
        let x: f64 = 162_200.0;
        assert!((exploration_rate(20, 1, 0.05) - (x.ln() + x.ln().ln())).abs() < 1e-12);
        assert!(exploration_rate(20, 2, 0.05) > exploration_rate(20, 1, 0.05));
    }
}
