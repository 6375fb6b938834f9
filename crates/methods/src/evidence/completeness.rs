//! Whether scores add up to what their method claims. The method itself gives the sum; here it is only judged.

use super::Level;
use super::check::{Check, Ruling, no_sets};
use exegete_core::report::Completeness;

/// Scores that claim to add up may miss by this share of the difference.
const LARGEST_GAP: f64 = 0.05;
/// Scores that add up may be this many times larger, all together, than what they explain; beyond it they are differences
/// of large numbers.
const MOST_CANCELLED: f64 = 100.0;

pub(super) const CHECK: Check = Check {
    level: Level::Default,
    sets: no_sets,
    measure: |look, checks| {
        let Some(sums) = &checks.completeness else { return Ok(Ruling::default()) };
        let failures = [incomplete(sums), cancels(sums, look.scored.tokens)];
        Ok(Ruling { failures: failures.into_iter().flatten().collect(), sentence: None })
    },
};

fn incomplete(sums: &Completeness) -> Option<String> {
    let (sum, difference) = (sums.sum + sums.bias.unwrap_or(0.0), sums.difference);
    (sums.gap > LARGEST_GAP || sums.gap.is_nan()).then(|| {
        format!("the scores sum to {sum:.4}, not to {difference:.4} (gap {:.0} %)", 100.0 * sums.gap)
    })
}

fn cancels(sums: &Completeness, tokens: &[f64]) -> Option<String> {
    let difference = sums.difference.abs();
    let times = tokens.iter().map(|v| v.abs()).sum::<f64>() / difference;
    (difference > 0.0 && times > MOST_CANCELLED).then(|| {
        format!("the scores are {times:.0} times larger than what they explain and cancel each other")
    })
}
