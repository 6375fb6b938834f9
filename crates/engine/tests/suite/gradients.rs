//! Every operation's rule against central differences, and the proof that this check can fail.

use crate::cases::{self, Case, Random, UNARY, bits, relative};
use exegete_engine::*;
use exegete_testkit::Comparison;

/// Four times what `docs/accuracy.md` says was measured: other processors sum in another order.
pub(crate) const TOLERANCE: f64 = 4.0 * 2e-9;

#[test]
fn every_kind_of_operation_has_a_case() {
    let covered: Vec<_> = cases::all::<f64>().iter().map(|case| case.op.kind()).collect();
    let missing: Vec<_> = OpKind::ALL.iter().filter(|kind| !covered.contains(kind)).collect();
    assert!(missing.is_empty(), "add a case to tests/cases/mod.rs for {missing:?}");
}

#[test]
fn rules_match_central_differences() {
    let mut worst = (0.0, String::new());
    for mode in [Mode::Gradient, Mode::Lowered] {
        for case in cases::all() {
            let error = case.error(mode, &Gradient);
            error.assert_within(TOLERANCE);
            let (error, place) = error.worst();
            worst = if error > worst.0 { (error, place.to_owned()) } else { worst };
        }
    }
    println!("worst: {worst:?}");
}

/// What a rule needs is kept for any set of watched inputs, and an input that is not watched gets nothing.
#[test]
fn any_subset_of_the_inputs_can_be_watched() {
    for mode in [Mode::Gradient, Mode::Lowered] {
        for case in cases::all::<f64>() {
            let seed = case.value();
            let all = case.pull(mode, &Gradient, &seed).unwrap();
            for subset in 1..1 << case.inputs.len() {
                let watched = |i: usize| subset >> i & 1 == 1;
                let pulls = case.pull_watched(mode, &Gradient, &seed, &watched).unwrap();
                for (i, (some, all)) in pulls.iter().zip(&all).enumerate() {
                    let expected = watched(i).then(|| bits(all));
                    assert_eq!(some.as_ref().map(bits), expected, "{}, input {i} of {subset:b}", case.name);
                }
            }
        }
    }
}

/// Each way to spoil the rule of one kind of operation.
#[derive(Debug, Clone, Copy)]
enum Fault {
    Negated,
    Zeroed,
    Dropped,
    LastRowLost,
    Doubled,
    NotANumber,
}

struct Faulty {
    kind: OpKind,
    fault: Fault,
}

impl RuleTable<f64> for Faulty {
    fn name(&self) -> &'static str {
        "faulty"
    }

    fn pull(&self, node: &Node<f64>, g: Tensor<f64>, sink: &mut Sink<'_, f64>) -> Option<()> {
        if node.op.kind() != self.kind {
            return Gradient.pull(node, g, sink);
        }
        // A ragged map is one row; there the last element is lost.
        let last = if g.rows() > 1 { g.cols() * (g.rows() - 1) } else { g.cols() - 1 };
        let g = match self.fault {
            Fault::Negated => g.map(|g| -g),
            Fault::Zeroed => g.map(|_| 0.0),
            Fault::Dropped => return Some(()),
            Fault::LastRowLost => {
                let kept = g.data().iter().enumerate().map(|(i, &g)| if i < last { g } else { 0.0 });
                Tensor::new(g.rows(), g.cols(), kept.collect())
            }
            Fault::Doubled => g.map(|g| 2.0 * g),
            Fault::NotANumber => g.map(|_| f64::NAN),
        };
        Gradient.pull(node, g, sink)
    }
}

#[test]
fn planted_faults_turn_the_check_red() {
    use Fault::*;
    for case in cases::all() {
        let kind = case.op.kind();
        for fault in [Negated, Zeroed, Dropped, LastRowLost, Doubled] {
            let error = case.error(Mode::Gradient, &Faulty { kind, fault });
            println!("{fault:?} in {}", case.name);
            error.assert_beyond(1e-3);
        }
        let nan = case.error(Mode::Gradient, &Faulty { kind, fault: NotANumber });
        assert!(nan.check(TOLERANCE).is_err(), "NaN went unnoticed in {}", case.name);
    }
}

#[test]
fn relu_has_slope_zero_at_zero() {
    let inputs = vec![Tensor::new(1, 4, vec![0.0, -0.0, 1.0, -1.0])];
    let case = Case { name: "relu", op: Op::Unary(Unary::Relu), inputs };
    let seed = Tensor::new(1, 4, vec![1.0; 4]);
    assert_eq!(case.pull(Mode::Gradient, &Gradient, &seed).unwrap()[0].data(), [0.0, 0.0, 1.0, 0.0]);
    // The same in the forward direction.
    let inputs = vec![case.inputs[0].map(|v| Dual { v, t: 1.0 })];
    let case = Case::<Dual<f64>> { name: "relu", op: Op::Unary(Unary::Relu), inputs };
    let tangents: Vec<_> = case.value().data().iter().map(|y| y.t).collect();
    assert_eq!(tangents, [0.0, 0.0, 1.0, 0.0]);
}

/// A function with a kink inside must still be smooth where it is.
#[test]
fn softplus_is_smooth_at_zero() {
    let inputs =
        vec![Tensor::new(1, 3, vec![0.0, 1e-12, -1e-12].into_iter().map(|v| Dual { v, t: 1.0 }).collect())];
    let case = Case::<Dual<f64>> { name: "softplus", op: Op::Unary(Unary::Softplus(1.0)), inputs };
    assert!(case.value().data().iter().all(|y| (y.t - 0.5).abs() < 1e-9), "{:?}", case.value());
}

#[test]
fn nan_is_never_swallowed() {
    fn check<T: Scalar>() {
        for f in UNARY {
            for place in [0, 3, 17, 18] {
                let x = spoiled::<T>(1, 19, place, f64::NAN);
                let y = Case { name: "", op: Op::Unary(f), inputs: vec![x] }.value();
                assert!(y.data()[place].value().is_nan(), "{f:?} of NaN at {place} is {y:?}");
            }
        }
        // Rows with a NaN are NaN; the other rows are not.
        let affine = || vec![spoiled::<T>(1, 19, 0, 0.5), spoiled(1, 19, 0, 0.5)];
        let map = cases::heads(1, 4, &[3], &[19]);
        let ops = [
            (Op::LogSoftmax, 3, 19, vec![]),
            (Op::LayerNorm(1e-5), 3, 19, affine()),
            (Op::Softmax(map), 1, 57, vec![]),
            (Op::Linear, 3, 19, vec![spoiled(19, 19, 0, 0.5)]),
        ];
        for (op, rows, cols, rest) in ops {
            for place in 19..38 {
                let inputs = [vec![spoiled::<T>(rows, cols, place, f64::NAN)], rest.clone()].concat();
                let y = Case { name: "", op: op.clone(), inputs }.value();
                let nan: Vec<_> = y.data().iter().map(|y| y.value().is_nan()).collect();
                let expected: Vec<_> = (0..57).map(|i| (19..38).contains(&i)).collect();
                assert_eq!(nan, expected, "{:?} with NaN at {place}", op.kind());
            }
        }
    }
    check::<f32>();
    check::<f64>();
    check::<Dual<f64>>();
}

/// Halves, with one element replaced.
fn spoiled<T: Scalar>(rows: usize, cols: usize, place: usize, by: f64) -> Tensor<T> {
    let number = |i| T::from_f64(if i == place { by } else { 0.5 });
    Tensor::new(rows, cols, (0..rows * cols).map(number).collect())
}

#[test]
fn a_missing_rule_is_an_error_that_names_the_operation() {
    struct Toy;
    impl RuleTable<f64> for Toy {
        fn name(&self) -> &'static str {
            "toy"
        }
        fn pull(&self, node: &Node<f64>, g: Tensor<f64>, sink: &mut Sink<'_, f64>) -> Option<()> {
            let known = [OpKind::Linear, OpKind::Relu].contains(&node.op.kind());
            if known { Gradient.pull(node, g, sink) } else { None }
        }
    }
    for case in cases::all() {
        let kind = case.op.kind();
        let value = case.value();
        let result = case.pull(Mode::Lowered, &Toy, &value);
        match kind {
            OpKind::Linear | OpKind::Relu => assert!(result.is_ok()),
            _ => assert_eq!(result.unwrap_err(), NoRule { op: kind.name(), table: "toy" }),
        }
    }
    let text = NoRule { op: OpKind::LayerNorm.name(), table: "toy" }.to_string();
    assert_eq!(text, "the operation 'layer norm' has no rule in the table 'toy'");
}

/// Random graphs: values used twice, kept or overwritten in place, with several nodes asked for at once.
#[test]
fn random_graphs_match_central_differences() {
    let mut comparison = Comparison::default();
    for seed in 0..60 {
        let graph = Graph::new(seed);
        let x = Random::new(100 + seed).tensor(3, 5);
        let [plain, lowered] = [Mode::Gradient, Mode::Lowered].map(|mode| graph.gradients(mode, &x));
        for (i, (a, b)) in plain.iter().zip(&lowered).enumerate() {
            assert!(relative(a, b) <= 1e-12, "graph {seed}, node {i}: fused and lowered differ");
        }
        let step = 1e-5;
        let at = |i, step| graph.value(&cases::nudged(&x, i, step));
        let slopes = (0..15).map(|i| (at(i, step) - at(i, -step)) / (2.0 * step)).collect();
        comparison.compare(&format!("graph {seed}"), &plain[0], &Tensor::new(3, 5, slopes), cases::OF);
    }
    println!("worst: {:?}", comparison.worst());
    comparison.assert_within(TOLERANCE);
}

/// Each step applies an operation to earlier values, of which every other one is dropped on the way.
struct Graph {
    steps: Vec<(usize, usize, usize)>,
    weight: Tensor<f64>,
    row: Tensor<f64>,
}

impl Graph {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        // Near values are likelier, so that the graph is deep.
        let mut near = |n: usize| n - 1 - random.below(n.min(3));
        let picks: Vec<_> = (1..9).map(|n| (near(n), near(n))).collect();
        let steps = picks.into_iter().map(|(a, b)| (random.below(10), a, b)).collect();
        Self { steps, weight: random.tensor(5, 5), row: random.off_zero(1, 5) }
    }

    fn run(&self, tape: &mut Tape<f64>, x: &Tensor<f64>) -> (Vec<NodeId>, Tensor<f64>) {
        let input: Var<f64> = Tensor::new(3, 5, x.data().to_vec()).into();
        let mut values = vec![Some(tape.watch(input))];
        let mut nodes = vec![values[0].as_ref().unwrap().node];
        for (at, &(op, a, b)) in self.steps.iter().enumerate() {
            let needed = |i| self.steps[at + 1..].iter().any(|&(_, a, b)| a == i || b == i);
            let (left, right) = (values[a].clone().unwrap(), values[b].clone().unwrap());
            (0..values.len()).filter(|&i| !needed(i)).for_each(|i| values[i] = None);
            let value = self.step(tape, op, left, right);
            nodes.push(value.node);
            values.push(Some(value));
        }
        let last = values.pop().flatten().unwrap();
        (nodes.into_iter().flatten().collect(), last.value)
    }

    fn step(&self, tape: &mut Tape<f64>, op: usize, a: Var<f64>, b: Var<f64>) -> Var<f64> {
        let row = || Var::from(self.row.clone());
        match op {
            0 => tape.apply(Op::Add, [a, b]),
            1 => tape.apply(Op::Mul, [a, b]),
            2 => tape.apply(Op::Sub, [a, b]),
            3 => tape.apply(Op::Unary(Unary::Tanh), [a]),
            4 => tape.apply(Op::Unary(Unary::Gelu), [a]),
            5 => tape.apply(Op::Linear, [a, self.weight.clone().into(), row()]),
            6 => tape.layer_norm(a, row(), row(), 0.1),
            7 => tape.add_layer_norm(a, b, row(), row(), 0.1),
            8 => tape.attention(&cases::heads(1, 5, &[2, 1], &[2, 1]), a.clone(), b, a),
            _ => {
                let mut patch = Patch::default();
                patch.push(2, 6, 0.5, &[0.1]);
                tape.apply(Op::Patch(patch.into()), [a])
            }
        }
    }

    fn value(&self, x: &Tensor<f64>) -> f64 {
        self.run(&mut Tape::new(Context::new(1), Mode::Off), x).1.data().iter().sum()
    }

    /// Of the sum of the last value, at every node.
    fn gradients(&self, mode: Mode, x: &Tensor<f64>) -> Vec<Tensor<f64>> {
        let mut tape = Tape::new(Context::new(1), mode);
        let (nodes, last) = self.run(&mut tape, x);
        let seed = vec![(*nodes.last().unwrap(), last.map(|_| 1.0))];
        let zeros = || Tensor::new(3, 5, vec![0.0; 15]);
        let all = tape.backward(seed.clone(), &nodes, &Gradient).unwrap();
        for (node, together) in nodes.iter().zip(&all) {
            let alone = tape.backward(seed.clone(), &[*node], &Gradient).unwrap().remove(0);
            assert_eq!(alone.as_ref().map(bits), together.as_ref().map(bits));
        }
        all.into_iter().map(|g| g.unwrap_or_else(zeros)).collect()
    }
}
