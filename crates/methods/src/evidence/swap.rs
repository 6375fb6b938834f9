//! Whether a network with a softplus for every ReLU, where one was explained, decides what the model decides.

use super::Level;
use super::check::{Check, Judged, Ruling, no_sets};
use exegete_core::report::ReluSwap;

pub(super) const CHECK: Check = Check {
    name: "swap",
    level: Level::Default,
    sets: no_sets,
    measure: |_, checks| Ok(checks.swap.as_ref().map_or_else(Ruling::default, |swap| judged(swap).into())),
};

/// A decision has changed or it has not: 1 or 0, of which only 0 passes.
fn judged(swap: &ReluSwap) -> Judged {
    let ReluSwap { beta, value, swapped, .. } = swap;
    let failure = swap.decision_changed.then(|| {
        format!(
            "with a softplus of β = {beta} for ReLU the network decides something else (the target is {swapped:.4} \
             instead of {value:.4}): this explains another answer"
        )
    });
    Judged::new(f64::from(u8::from(swap.decision_changed)), 0.0, failure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::check::verdict;

    #[test]
    fn a_changed_decision_fails() {
        let found = |decision_changed| {
            let (beta, value, swapped) = (1.0, 2.0, -0.5);
            let (logit_change, prob_change) = (2.5, Some(0.5));
            let swap = ReluSwap { beta, value, swapped, logit_change, prob_change, decision_changed };
            verdict(&[CHECK], vec![judged(&swap).into()])
        };
        let (same, other) = (found(false), found(true));
        assert_eq!((same.findings[0].measured, same.findings[0].passed), (Some(0.0), Some(true)));
        assert!(same.failures.is_empty());
        assert_eq!((other.findings[0].measured, other.findings[0].passed), (Some(1.0), Some(false)));
        assert!(other.failures[0].contains("decides something else"), "{:?}", other.failures);
    }
}
