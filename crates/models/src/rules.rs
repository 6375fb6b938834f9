//! Which table of the engine serves which rules, and what a pass must have recorded for them.

use exegete_core::{Error, LrpRule, Record, Result, Rules, Seed};
use exegete_engine::{Deconvolution, DeepLift, Gradient, GuidedBackprop, Real, RuleTable, Shares};

/// The engine's table for these rules.
pub(crate) fn table<T: Real>(rules: Rules) -> Box<dyn RuleTable<T>> {
    match rules {
        Rules::Gradient => Box::new(Gradient),
        Rules::DeepLift { reveal_cancel } => Box::new(DeepLift { reveal_cancel }),
        Rules::Lrp(lrp) => Box::new(exegete_engine::Lrp(shares(lrp))),
        Rules::GuidedBackprop => Box::new(GuidedBackprop),
        Rules::Deconvolution => Box::new(Deconvolution),
    }
}

fn shares(lrp: LrpRule) -> Shares {
    match lrp {
        LrpRule::Epsilon(epsilon) => Shares::Epsilon(epsilon),
        LrpRule::Spread(epsilon) => Shares::Spread(epsilon),
        LrpRule::Gamma(gamma) => Shares::Gamma(gamma),
        LrpRule::AlphaBeta(alpha) => Shares::AlphaBeta(alpha),
        LrpRule::ZPlus => Shares::AlphaBeta(1.0),
    }
}

/// Whether the record serves the rules, their numbers make sense and the seeds stand where they may.
pub(crate) fn check(rules: Rules, record: Record, seeds: &[Seed]) -> Result<()> {
    let wrong = |what: String| Err(Error::Request(what));
    let needed = match rules {
        Rules::Gradient => Record::Gradient,
        Rules::DeepLift { .. } => Record::Paired,
        Rules::Lrp(_) | Rules::GuidedBackprop | Rules::Deconvolution => Record::Lowered,
    };
    if record == Record::Nothing {
        return wrong("this pass recorded nothing to go backward through".into());
    }
    // Every record serves the gradient, and rows in pairs are lowered too.
    if needed != Record::Gradient && record != needed && record != Record::Paired {
        return wrong(format!(
            "{rules:?} needs a pass that recorded {needed:?}, this one recorded {record:?}"
        ));
    }
    if let Rules::Lrp(LrpRule::Epsilon(number) | LrpRule::Spread(number) | LrpRule::Gamma(number)) = rules
        && !(number >= 0.0 && number.is_finite())
    {
        return wrong(format!("{rules:?}: the number must not be negative"));
    }
    if let Rules::Lrp(LrpRule::AlphaBeta(alpha)) = rules
        && !(alpha >= 1.0 && alpha.is_finite())
    {
        return wrong(format!("{rules:?}: alpha must be 1 or more, beta is alpha − 1"));
    }
    match seeds.iter().find(|seed| seed.row % 2 == 1) {
        Some(seed) if matches!(rules, Rules::DeepLift { .. }) => {
            wrong(format!("a seed for row {}, which is a baseline; seeds belong to the texts", seed.row))
        }
        _ => Ok(()),
    }
}

/// Whether anything is booked under these rules.
pub(crate) fn check_books(rules: Rules) -> Result<()> {
    match rules {
        Rules::Lrp(_) => Ok(()),
        other => Err(Error::Request(format!("{other:?} conserves no relevance, so that nothing is booked"))),
    }
}
