use super::Cost;
use crate::evidence::SIGNIFICANCE;
use exegete_core::report::{ChanceVerdict, Checks, Erasure};

/// What a metric is read off: the evidence for one explanation of one text.
#[derive(Debug, Clone, Copy)]
pub struct MeasuredText<'a> {
    /// The evidence for the explanation.
    pub checks: &'a Checks,
    /// How many units the text has.
    pub units: usize,
    /// What the explanation cost, where it was made here.
    pub cost: Option<Cost>,
}

/// Which values are good ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Large values are good.
    High,
    /// Small values are good.
    Low,
    /// It is there to compare with.
    Neither,
}

/// One column of a comparison.
#[derive(Debug)]
pub struct QualityMetric {
    /// The head of its column.
    pub name: &'static str,
    /// Which values are good.
    pub better: Better,
    /// Whether it only exists for some texts by its nature.
    pub conditional: bool,
    /// What the reader must know of it.
    pub note: &'static str,
    /// The value for one explanation of one text.
    pub read: fn(&MeasuredText<'_>) -> Option<f64>,
}

const fn metric(
    name: &'static str,
    better: Better,
    read: fn(&MeasuredText<'_>) -> Option<f64>,
) -> QualityMetric {
    QualityMetric { name, better, conditional: false, note: "", read }
}

/// Every metric, in the order of the columns.
pub const METRICS: &[QualityMetric] = &[
    metric("clean", Better::High, |seen| {
        let found = seen.checks.chance.as_ref()?;
        let failed = seen.checks.verdict.as_ref().is_some_and(|verdict| !verdict.failures.is_empty());
        Some(share(found.verdict == ChanceVerdict::Passed && !failed))
    }),
    metric("undecided", Better::Neither, |seen| {
        Some(share(seen.checks.chance.as_ref()?.verdict == ChanceVerdict::Undecided))
    }),
    QualityMetric { conditional: true, ..metric("z", Better::High, |seen| seen.checks.chance.as_ref()?.z) },
    metric("completeness gap", Better::Low, |seen| Some(seen.checks.completeness.as_ref()?.gap)),
    metric("comprehensiveness", Better::High, |seen| Some(seen.checks.comprehensiveness.as_ref()?.own.mean)),
    metric("comp minus random", Better::High, |seen| above_random(seen.checks.comprehensiveness.as_ref()?)),
    metric("comp reversed", Better::Low, |seen| Some(seen.checks.comprehensiveness.as_ref()?.reversed.mean)),
    metric("log odds", Better::Low, |seen| seen.checks.comprehensiveness.as_ref()?.log_odds),
    metric("sufficiency", Better::Low, |seen| Some(seen.checks.sufficiency.as_ref()?.own.mean)),
    metric("suff minus random", Better::Low, |seen| above_random(seen.checks.sufficiency.as_ref()?)),
    metric("suff reversed", Better::High, |seen| Some(seen.checks.sufficiency.as_ref()?.reversed.mean)),
    metric("flips", Better::High, |seen| Some(share(!seen.checks.flip.as_ref()?.units.is_empty()))),
    QualityMetric {
        conditional: true,
        note: "units to flip and random flips: over the texts whose decision flips",
        ..metric("units to flip", Better::Low, |seen| flipped(seen).map(|(units, _)| units))
    },
    QualityMetric {
        note: "share to flip: a text whose decision never flips counts as 1",
        ..metric("share to flip", Better::Low, |seen| match seen.checks.flip.as_ref()?.units.len() {
            0 => Some(1.0),
            units => Some(units as f64 / seen.units as f64),
        })
    },
    QualityMetric {
        conditional: true,
        ..metric("random flips", Better::Low, |seen| flipped(seen).map(|(_, random)| random))
    },
    metric("tau", Better::High, |seen| seen.checks.leave_one_out.as_ref()?.tau),
    metric("tau significant", Better::High, |seen| {
        let found = seen.checks.leave_one_out.as_ref()?;
        Some(share(found.tau? > 0.0 && found.p_value? <= SIGNIFICANCE))
    }),
    metric("deletion area", Better::Low, |seen| Some(seen.checks.deletion.as_ref()?.area)),
    metric("deletion random", Better::Neither, |seen| Some(seen.checks.deletion.as_ref()?.random_area)),
    metric("insertion area", Better::High, |seen| Some(seen.checks.insertion.as_ref()?.area)),
    metric("insertion random", Better::Neither, |seen| Some(seen.checks.insertion.as_ref()?.random_area)),
    metric("sensitivity", Better::Low, |seen| Some(seen.checks.sensitivity.as_ref()?.relative)),
    metric("infidelity", Better::Low, |seen| Some(seen.checks.infidelity.as_ref()?.value)),
    QualityMetric {
        note: "infidelity scaled: with scores times the factor that serves them best, as a share of what scores of zero cost",
        ..metric("infidelity scaled", Better::Low, |seen| {
            let found = seen.checks.infidelity.as_ref()?;
            (found.zero > 0.0).then(|| found.scaled / found.zero)
        })
    },
    metric("stability", Better::High, |seen| Some(seen.checks.stability.as_ref()?.correlation)),
    QualityMetric {
        note: "randomised: rank correlation with the scores of the model whose parameters are all random; good near 0",
        ..metric("randomised", Better::Neither, |seen| Some(seen.checks.randomisation.last()?.correlation))
    },
    QualityMetric {
        note: "seconds and rows are those of one explanation, without its evidence; rows asked are what it takes by itself, and of \
               these rows run are those that nothing before it had asked for",
        ..metric("seconds", Better::Low, |seen| Some(seen.cost?.seconds))
    },
    metric("rows asked", Better::Low, |seen| Some(seen.cost?.asked_rows as f64)),
    metric("rows run", Better::Neither, |seen| Some(seen.cost?.forward_rows as f64)),
    metric("backward rows", Better::Low, |seen| Some(seen.cost?.backward_rows as f64)),
];

fn above_random(erasure: &Erasure) -> Option<f64> {
    let count = erasure.random.len();
    let random = erasure.random.iter().map(|drop| drop.mean).sum::<f64>() / count as f64;
    (count > 0).then_some(erasure.own.mean - random)
}

fn share(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// How many units it took, and the share of random sets as large that do it too; none where nothing flips.
fn flipped(seen: &MeasuredText<'_>) -> Option<(f64, f64)> {
    let flip = seen.checks.flip.as_ref().filter(|flip| !flip.units.is_empty())?;
    Some((flip.units.len() as f64, flip.random_share))
}
