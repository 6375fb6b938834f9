//! Relevance propagation's rule for every operation: nothing is lost, but for what is booked.

use crate::cases::{self, Case, Random, dot};
use exegete_engine::*;
use exegete_testkit::Comparison;

const RULES: [Shares; 7] = [
    Shares::Spread(0.05),
    Shares::Epsilon(0.0),
    Shares::Epsilon(0.1),
    Shares::Gamma(0.25),
    Shares::Gamma(4.0),
    Shares::AlphaBeta(1.0),
    Shares::AlphaBeta(2.0),
];

/// Attention weights and a norm's scale are constants, so that what makes them needs no rule.
const WITHOUT: [OpKind; 14] = {
    use OpKind::*;
    [
        Recurrent,
        Scores,
        Softmax,
        Attention,
        Div,
        Exp,
        Ln,
        Sqrt,
        Recip,
        Square,
        LayerNorm,
        AddLayerNorm,
        LogSoftmax,
        Leaf,
    ]
};

/// Relevance of the watched inputs, what was booked, and what came in.
fn relevance(
    case: &Case<f64>,
    table: &dyn RuleTable<f64>,
    watched: &dyn Fn(usize) -> bool,
) -> Result<(f64, f64, f64), NoRule> {
    let mut tape = Tape::new(Context::new(1), Mode::Lowered);
    let watch = |(i, x): (usize, Var<f64>)| if watched(i) { tape.watch(x) } else { x };
    let inputs: Vec<_> = case.vars().into_iter().enumerate().map(watch).collect();
    let wrt: Vec<_> = inputs.iter().filter_map(|x| x.node).collect();
    let out = tape.apply(case.op.clone(), inputs.clone());
    let seed = Random::new(11).off_zero(out.value.rows(), out.value.cols());
    let seeds = || vec![(out.node.unwrap(), seed.clone())];
    let pulls = tape.backward(seeds(), &wrt, table)?;
    let given = inputs.iter().filter(|x| x.node.is_some()).zip(pulls);
    let given = given.map(|(x, pull)| pull.map_or(0.0, |pull| dot(&pull, &x.value))).sum();
    Ok((given, tape.booked(seeds(), &wrt, table)?.total(), dot(&seed, &out.value)))
}

/// What is neither given nor booked, relative to what came in.
fn gap((given, booked, came): (f64, f64, f64)) -> f64 {
    Comparison::default().compare("relevance", &[given + booked], &[came], cases::OF)
}

#[test]
fn relevance_and_what_is_booked_add_up_for_every_operation() {
    let mut worst = 0.0f64;
    for shares in RULES {
        for case in cases::all::<f64>() {
            let kind = case.op.kind();
            for subset in 1..1 << case.inputs.len() {
                let watched = |i: usize| subset >> i & 1 == 1;
                match relevance(&case, &Lrp(shares), &watched) {
                    Ok((given, booked, came)) => {
                        let gap = gap((given, booked, came));
                        assert!(
                            gap < 1e-11,
                            "{shares:?}, {}, inputs {subset:b}: {given} + {booked} of {came}",
                            case.name
                        );
                        worst = worst.max(gap);
                    }
                    Err(error) => {
                        assert_eq!(error, NoRule { op: kind.name(), table: "lrp" });
                        assert!(WITHOUT.contains(&kind), "{error}");
                    }
                }
            }
            let refused = relevance(&case, &Lrp(shares), &|_| true).is_err();
            assert!(kind == OpKind::Leaf || refused == WITHOUT.contains(&kind), "{kind:?}");
        }
    }
    println!("worst: {worst:e}");
}

/// The rule of a table for what comes back with one number that is none.
struct Spoilt(Lrp);

impl RuleTable<f64> for Spoilt {
    fn name(&self) -> &'static str {
        "spoilt"
    }

    fn pull(&self, node: &Node<f64>, m: Tensor<f64>, sink: &mut Sink<'_, f64>) -> Option<()> {
        self.0.pull(node, cases::nudged(&m, 0, f64::NAN), sink)
    }
}

#[test]
fn a_planted_nan_is_noticed() {
    for shares in RULES {
        for name in ["linear", "linear, bias", "add", "add row"] {
            let case = cases::all::<f64>().into_iter().find(|case| case.name == name).unwrap();
            let found = relevance(&case, &Spoilt(Lrp(shares)), &|_| true).unwrap();
            assert!(gap(found).is_infinite(), "{shares:?} {name}: {found:?}");
        }
    }
}

/// A table that shares out a tenth too much, but books rightly.
struct Generous;

impl RuleTable<f64> for Generous {
    fn name(&self) -> &'static str {
        "generous"
    }

    fn pull(&self, node: &Node<f64>, m: Tensor<f64>, sink: &mut Sink<'_, f64>) -> Option<()> {
        Gradient.pull(node, m.map(|m| 1.1 * m), sink)
    }
}

#[test]
fn what_is_given_wrongly_or_not_booked_is_noticed() {
    let case = |name: &str| cases::all::<f64>().into_iter().find(|case| case.name == name).unwrap();
    let (given, booked, came) = relevance(&case("linear"), &Generous, &|i| i == 0).unwrap();
    assert!((given + booked - came).abs() > 0.05 * came.abs());
    for name in ["linear, bias", "shift", "patch", "add row", "add", "join columns", "join rows", "add rows"]
    {
        let (given, booked, came) = relevance(&case(name), &Lrp(Shares::Epsilon(0.0)), &|i| i == 0).unwrap();
        assert!(booked.abs() > 1e-3 && (given - came).abs() > 1e-3, "{name}: {booked}");
    }
    let (_, booked, _) = relevance(&case("linear"), &Lrp(Shares::Epsilon(0.5)), &|i| i == 0).unwrap();
    assert!(booked.abs() > 1e-3, "the stabiliser takes something");
}

/// The rules by their definition, contribution by contribution.
#[test]
fn linear_layers_follow_the_definitions() {
    let x = Tensor::new(1, 3, vec![1.0, -2.0, 3.0]);
    let w = Tensor::new(2, 3, vec![2.0, 1.0, -1.0, 1.0, -1.0, 1.0]);
    let b = Tensor::new(1, 2, vec![0.5, -1.0]);
    let case = Case { name: "", op: Op::Linear, inputs: vec![x, w, b] };
    let m = Tensor::new(1, 2, vec![1.0, 2.0]);
    for shares in RULES {
        let found =
            case.pull_watched(Mode::Lowered, &Lrp(shares), &m, &|i| i == 0).unwrap()[0].clone().unwrap();
        let (x, w, b) = (case.inputs[0].data(), case.inputs[1].data(), case.inputs[2].data());
        for i in 0..3 {
            let mut expected = 0.0;
            for j in 0..2 {
                let c = |i: usize| x[i] * w[3 * j + i];
                let all = [c(0), c(1), c(2), b[j]];
                let z: f64 = all.iter().sum();
                let above: f64 = all.iter().filter(|c| **c > 0.0).sum();
                let below: f64 = all.iter().filter(|c| **c < 0.0).sum();
                let r = z * m.data()[j];
                expected += match shares {
                    Shares::Epsilon(e) => r * c(i) / (z + e * z.signum()),
                    Shares::Spread(e) => r * c(i) / (z - b[j] + e * (z - b[j]).signum()),
                    Shares::Gamma(g) => {
                        let own = |c: f64| if c * z > 0.0 { (1.0 + g) * c } else { c };
                        r * own(c(i)) / all.iter().map(|&c| own(c)).sum::<f64>()
                    }
                    Shares::AlphaBeta(a) if c(i) > 0.0 => a * r * c(i) / above,
                    Shares::AlphaBeta(a) => (1.0 - a) * r * c(i) / below,
                };
            }
            let found = x[i] * found.data()[i];
            assert!((found - expected).abs() < 1e-12, "{shares:?}, input {i}: {found} for {expected}");
        }
    }
}
