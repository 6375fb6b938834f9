//! Whether scores add up to what their method claims. The method itself gives the sum; here it is only judged.

use super::Level;
use super::check::{Check, Judged, Ruling, no_sets};
use exegete_core::report::Completeness;

/// Scores that claim to add up may miss by this share of the difference.
const LARGEST_GAP: f64 = 0.05;
/// Scores that add up may be this many times larger, all together, than what they explain; beyond it they are differences
/// of large numbers.
const MOST_CANCELLED: f64 = 100.0;

pub(super) const CHECK: Check = Check {
    name: "completeness",
    level: Level::Default,
    sets: no_sets,
    measure: |_, checks| {
        Ok(checks.completeness.as_ref().map_or_else(Ruling::default, |sums| gap(sums).into()))
    },
};

pub(super) const CANCELLING: Check = Check {
    name: "cancelling",
    level: Level::Default,
    sets: no_sets,
    measure: |look, checks| {
        let Some(sums) = &checks.completeness else { return Ok(Ruling::default()) };
        let tokens = look.explained.tokens(&look.job)?.unwrap_or_default();
        Ok(cancelled(sums, &tokens).into())
    },
};

fn gap(sums: &Completeness) -> Judged {
    let (sum, difference) = (sums.sum + sums.bias.unwrap_or(0.0), sums.difference);
    let failure = (sums.gap > LARGEST_GAP || sums.gap.is_nan()).then(|| {
        format!("the scores sum to {sum:.4}, not to {difference:.4} (gap {:.0} %)", 100.0 * sums.gap)
    });
    Judged::new(sums.gap, LARGEST_GAP, failure)
}

fn cancelled(sums: &Completeness, tokens: &[f64]) -> Judged {
    let difference = sums.difference.abs();
    // Nothing is large beside nothing.
    if difference.is_nan() || difference <= 0.0 {
        return Judged::undecided(None, MOST_CANCELLED);
    }
    let times = tokens.iter().map(|v| v.abs()).sum::<f64>() / difference;
    let failure = (times > MOST_CANCELLED).then(|| {
        format!("the scores are {times:.0} times larger than what they explain and cancel each other")
    });
    Judged::new(times, MOST_CANCELLED, failure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::check::verdict;

    #[test]
    fn large_scores_that_cancel_fail() {
        let found = |tokens: &[f64]| {
            let sums = Completeness::new(tokens.iter().copied(), 0.5);
            verdict(&[CANCELLING], vec![cancelled(&sums, tokens).into()])
        };
        let right = found(&[1.0, -0.5]);
        assert_eq!((right.findings[0].measured, right.findings[0].passed), (Some(3.0), Some(true)));
        let wrong = found(&[60.5, -60.0]);
        assert_eq!((wrong.findings[0].measured, wrong.findings[0].passed), (Some(241.0), Some(false)));
        assert_eq!(
            wrong.failures,
            ["the scores are 241 times larger than what they explain and cancel each other"]
        );
    }
}
