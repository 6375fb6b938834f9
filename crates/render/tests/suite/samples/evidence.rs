use exegete_core::report::{
    AgainstChance, ChanceVerdict, Checks, Completeness, Curve, Erasure, Flip, Infidelity, LayerSum,
    Randomisation, RankAgreement, Sensitivity, Stability, UnitDrop, Verdict,
};

/// The default card.
pub(crate) fn few_checks() -> Checks {
    Checks {
        verdict: Some(verdict("The scores agree with what removing words does.", &[])),
        completeness: Some(Completeness {
            sum: 2.688,
            difference: 2.704,
            gap: 0.0059,
            bias: None,
            layers: Vec::new(),
        }),
        comprehensiveness: Some(erasure(
            [0.4, 1.1, 1.9, 2.6, 3.1],
            [0.1, 0.2, 0.5, 1.0, 1.7],
            [0.0, -0.1, -0.3, 0.1, 0.6],
        )),
        sufficiency: Some(erasure(
            [1.6, 0.9, 0.4, 0.1, -0.1],
            [2.2, 2.0, 1.7, 1.2, 0.8],
            [2.9, 3.0, 2.8, 2.5, 2.1],
        )),
        flip: Some(Flip {
            units: vec![3, 1],
            tried: 2,
            before: ("negative".to_owned(), 0.987),
            after: ("positive".to_owned(), 0.61),
            random_share: 0.05,
            random_sets: 20,
        }),
        leave_one_out: Some(RankAgreement {
            tau: Some(0.713),
            p_value: Some(0.00002),
            units: 3,
            drops: vec![0.1, 0.2, 0.3],
            measured: vec![0, 1, 2],
        }),
        ..Checks::default()
    }
}

/// The default card and the deep checks.
pub(crate) fn all_checks() -> Checks {
    let mut checks = few_checks();
    if let Some(completeness) = &mut checks.completeness {
        let layer = |n: usize| LayerSum {
            site: format!("layer.{n}.out"),
            sum: 2.69 + 0.01 * n as f64,
            gap: 0.004 * n as f64,
        };
        completeness.layers = (0..6).map(layer).collect();
        completeness.bias = Some(-0.021);
    }
    let shares: Vec<f64> = (0..=10).map(|n| f64::from(n) / 10.0).collect();
    checks.deletion =
        Some(curve(&shares, |share| 2.1 - 4.3 * share.sqrt(), |share| 2.1 - 4.3 * share * share));
    checks.insertion =
        Some(curve(&shares, |share| -2.2 + 4.3 * share.sqrt(), |share| -2.2 + 4.3 * share * share));
    checks.sensitivity = Some(Sensitivity { relative: 0.0841, absolute: 0.193, radius: 0.02, samples: 10 });
    checks.infidelity =
        Some(Infidelity { value: 0.0312, scaled: 0.0287, factor: 0.93, zero: 0.41, samples: 100 });
    checks.stability =
        Some(Stability { correlation: 0.972, worst: 0.913, noise: 0.05, samples: 10, same_decision: 9 });
    let parts =
        ["classifier", "pooler", "layer.5", "layer.4", "layer.3", "layer.2", "layer.1", "layer.0", "embed"];
    let correlations = [0.41, 0.22, 0.31, 0.12, 0.04, -0.11, 0.07, 0.02, -0.05];
    let step = |(part, correlation): (&&str, &f64)| Randomisation {
        down_to: (*part).to_owned(),
        correlation: *correlation,
        absolute: correlation.abs() + 0.2,
    };
    checks.randomisation = parts.iter().zip(&correlations).map(step).collect();
    checks
}

/// A card that speaks against its explanation.
pub(crate) fn failing() -> Checks {
    let mut checks = few_checks();
    checks.verdict = Some(verdict(
        "Do not rely on these scores: removing the top words does no more than removing random ones.",
        &[
            "removing the top words lowers the target by 0.31, random words by 0.74",
            "the scores miss their sum by 38.0 %",
        ],
    ));
    checks.completeness =
        Some(Completeness { sum: 1.68, difference: 2.704, gap: 0.38, bias: None, layers: Vec::new() });
    checks.comprehensiveness =
        Some(erasure([0.1, 0.1, 0.2, 0.5, 0.6], [0.1, 0.3, 0.5, 1.0, 1.7], [0.2, 0.4, 0.9, 1.1, 1.9]));
    checks.flip = Some(Flip {
        units: Vec::new(),
        tried: 10,
        before: ("negative".to_owned(), 0.987),
        after: ("negative".to_owned(), 0.71),
        random_share: 0.0,
        random_sets: 0,
    });
    checks.leave_one_out = Some(RankAgreement {
        tau: None,
        p_value: None,
        units: 2,
        drops: vec![0.0, 0.0],
        measured: vec![0, 1],
    });
    checks
}

/// A card on which no ranking of these scores could have passed the test against chance.
pub(crate) fn undecided() -> Checks {
    let reason = "the scores tie too many words";
    let chance = AgainstChance {
        p: Some(0.2),
        as_good: Some(24),
        rankings: Some(120),
        exact: true,
        z: Some(1.4),
        level: 0.015,
        verdict: ChanceVerdict::Undecided,
        reason: Some(reason.to_owned()),
        masks: 20,
        scale: "log-odds".to_owned(),
        signed: true,
        independent: Some(true),
        says: format!("undecided: {reason}; 24 of all 120 rankings do as well (20 %)"),
    };
    Checks { chance: Some(chance), ..few_checks() }
}

fn verdict(sentence: &str, failures: &[&str]) -> Verdict {
    Verdict::new(sentence.to_owned(), failures.iter().map(|f| (*f).to_owned()).collect())
}

fn erasure(own: [f64; 5], random: [f64; 5], reversed: [f64; 5]) -> Erasure {
    let ranking = |n: u8| UnitDrop::new(random.iter().map(|v| v + 0.15 * (f64::from(n) - 2.0)).collect());
    Erasure {
        bins: vec![0.01, 0.05, 0.1, 0.2, 0.5],
        own: UnitDrop::new(own.to_vec()),
        reversed: UnitDrop::new(reversed.to_vec()),
        random: (0..5).map(ranking).collect(),
        log_odds: Some(-0.7),
    }
}

fn curve(shares: &[f64], own: fn(f64) -> f64, random: fn(f64) -> f64) -> Curve {
    let of = |along: fn(f64) -> f64| shares.iter().map(|share| along(*share)).collect::<Vec<f64>>();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (values, random) = (of(own), of(random));
    Curve { shares: shares.to_vec(), area: mean(&values), random_area: mean(&random), values, random }
}
