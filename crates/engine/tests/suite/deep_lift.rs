//! DeepLIFT's rule for every operation: what goes in adds up to the difference that comes out.

use crate::cases::{self, Case, Random, bits, dot, heads, moved, relative};
use exegete_engine::*;
use std::sync::Arc;

const RESCALE: DeepLift = DeepLift { reveal_cancel: false };

/// An example with a baseline: the texts' half of every value, then the baselines'. Parameters are shared.
struct Pair {
    both: Case<f64>,
    /// Which inputs are values rather than parameters.
    values: Vec<bool>,
}

/// The seed, and what came of it at each input.
type Pulled = (Tensor<f64>, Vec<Option<Tensor<f64>>>);

impl Pair {
    fn new(text: &Case<f64>, baseline: &Case<f64>) -> Self {
        let values: Vec<bool> = (0..text.inputs.len()).map(|i| !is_parameter(&text.op, i)).collect();
        let stacked = text.inputs.iter().zip(&baseline.inputs).zip(&values);
        let inputs = stacked.map(|((x, x0), &value)| if value { stack(x, x0) } else { x.clone() }).collect();
        Self { both: Case { name: text.name, op: twice(text), inputs }, values }
    }

    fn pull(&self, table: &dyn RuleTable<f64>) -> Result<Pulled, NoRule> {
        let out = self.both.value();
        let half = out.data().len() / 2;
        let random = Random::new(11).off_zero::<f64>(out.rows(), out.cols());
        let seed = random.data().iter().enumerate().map(|(i, &m)| if i < half { m } else { 0.0 }).collect();
        let seed = Tensor::new(out.rows(), out.cols(), seed);
        let pulls = self.both.pull_watched(Mode::Lowered, table, &seed, &|i| self.values[i])?;
        Ok((seed, pulls))
    }

    /// How far the shares of the inputs are from the difference of the output.
    fn gap(&self, table: &dyn RuleTable<f64>) -> Result<f64, NoRule> {
        let (seed, pulls) = self.pull(table)?;
        let expected = dot(&seed, &difference(&self.both.value()));
        let mut found = 0.0;
        for (x, pull) in self.both.inputs.iter().zip(pulls) {
            let Some(pull) = pull else { continue };
            found += dot(&pull, &difference(x));
            let (_, baselines) = pull.data().split_at(pull.data().len() / 2);
            assert!(baselines.iter().all(|&m| m == 0.0), "{}: a baseline has a multiplier", self.both.name);
        }
        Ok((found - expected).abs() / expected.abs().max(1.0))
    }
}

fn is_parameter(op: &Op<f64>, input: usize) -> bool {
    match op.kind() {
        OpKind::Linear | OpKind::AddRow | OpKind::MulRow | OpKind::LayerNorm => input >= 1,
        OpKind::AddLayerNorm => input >= 2,
        OpKind::Recurrent => input == 1 || input == 2,
        _ => false,
    }
}

fn stack(x: &Tensor<f64>, x0: &Tensor<f64>) -> Tensor<f64> {
    let data = [x.data(), x0.data()].concat();
    // A ragged map is one row, however many sequences it belongs to.
    if x.rows() == 1 { Tensor::new(1, 2 * x.cols(), data) } else { Tensor::new(2 * x.rows(), x.cols(), data) }
}

/// Text less baseline, where the text is; zero where the baseline is.
fn difference(x: &Tensor<f64>) -> Tensor<f64> {
    let half = x.data().len() / 2;
    let of = |i: usize| if i < half { x.data()[i] - x.data()[i + half] } else { 0.0 };
    Tensor::new(x.rows(), x.cols(), (0..2 * half).map(of).collect())
}

/// The operation over twice as many rows.
fn twice(case: &Case<f64>) -> Op<f64> {
    let doubled = |heads: &Heads| {
        let lengths = |s: &Segments| (0..s.count()).map(|i| s.len(i)).collect::<Vec<_>>().repeat(2);
        cases::heads(heads.count(), heads.width(), &lengths(heads.queries()), &lengths(heads.keys()))
    };
    match &case.op {
        Op::Gather(index) => {
            let rows = case.inputs[0].rows();
            Op::Gather(index.iter().copied().chain(index.iter().map(|i| i + rows)).collect())
        }
        Op::Pick(columns) => Op::Pick(columns.repeat(2).into()),
        Op::Scores(heads) => Op::Scores(doubled(heads)),
        Op::Softmax(heads) => Op::Softmax(doubled(heads)),
        Op::Context(heads) => Op::Context(doubled(heads)),
        Op::Attention(heads) => Op::Attention(doubled(heads)),
        Op::Reshape(rows, cols) => Op::Reshape(2 * rows, *cols),
        Op::Dropout(one) => Op::Dropout(Arc::new(Dropout { rate: one.rate, runs: one.runs.repeat(2) })),
        Op::Patch(_) => {
            let (mut patch, len) = (Patch::default(), case.inputs[0].data().len());
            for start in [0, len] {
                patch.push(start + 1, 5, 0.5, &[0.7]);
                patch.push(start + 4, 3, -2.0, &[0.1, 0.2, start as f64]);
            }
            Op::Patch(patch.into())
        }
        Op::AddRows(index) => {
            let rows = case.inputs[1].rows();
            Op::AddRows(index.iter().copied().chain(index.iter().map(|i| i + rows)).collect())
        }
        Op::SegmentSum(segments) => Op::SegmentSum(repeated(segments)),
        Op::SegmentMax(segments) => Op::SegmentMax(repeated(segments)),
        Op::Unfold(windows) => {
            let padded = windows.inputs() == windows.outputs();
            Op::Unfold(Windows::new(&repeated(windows.inputs()), windows.width(), padded))
        }
        Op::Recurrent(one) => Op::Recurrent(Recurrence { segments: repeated(&one.segments), ..one.clone() }),
        op => op.clone(),
    }
}

fn repeated(segments: &Segments) -> Segments {
    Segments::new(segments.lengths().collect::<Vec<_>>().repeat(2))
}

fn pairs(baselines: &[Case<f64>]) -> Vec<Pair> {
    let texts = cases::all::<f64>();
    // One row of a matrix cannot be told from a ragged map by its shape; the other linear cases stand for it. Rows that
    // are joined lie otherwise than halves do, and are put in order before any rule but the gradient meets them.
    let unusable = ["linear, one row", "join rows"];
    let usable = |(text, _): &(&Case<f64>, &Case<f64>)| !unusable.contains(&text.name);
    texts.iter().zip(baselines).filter(usable).map(|(text, baseline)| Pair::new(text, baseline)).collect()
}

const FUSED: [OpKind; 4] = [OpKind::Attention, OpKind::LayerNorm, OpKind::AddLayerNorm, OpKind::Recurrent];

#[test]
fn every_rule_sums_to_the_difference_and_fused_operations_are_named() {
    let mut worst = 0.0f64;
    for seed in 20..30 {
        for mut pair in pairs(&cases::drawn(seed)) {
            if let Op::Patch(_) = pair.both.op {
                // What the shifts differ by comes from no input.
                pair.both.op = same_patch(&pair.both);
            }
            let kind = pair.both.op.kind();
            match pair.gap(&RESCALE) {
                Ok(gap) => {
                    assert!(gap <= 1e-12 && !FUSED.contains(&kind), "{kind:?}: {gap:e}");
                    worst = worst.max(gap);
                }
                Err(error) => {
                    assert!(FUSED.contains(&kind), "{error}");
                    assert_eq!(error, NoRule { op: kind.name(), table: "deep lift" });
                }
            }
        }
    }
    println!("worst: {worst:e}");
}

fn same_patch(case: &Case<f64>) -> Op<f64> {
    let (mut patch, half) = (Patch::default(), case.inputs[0].data().len() / 2);
    [0, half].iter().for_each(|start| patch.push(start + 1, 5, 0.5, &[0.7]));
    Op::Patch(patch.into())
}

/// The plain gradient at the text, as a rule for one kind of operation.
struct Naive(OpKind);

impl RuleTable<f64> for Naive {
    fn name(&self) -> &'static str {
        "naive"
    }

    fn pull(&self, node: &Node<f64>, m: Tensor<f64>, sink: &mut Sink<'_, f64>) -> Option<()> {
        if node.op.kind() == self.0 { Gradient.pull(node, m, sink) } else { RESCALE.pull(node, m, sink) }
    }
}

#[test]
fn the_gradient_in_place_of_any_rule_is_noticed() {
    use OpKind::*;
    let bent = [
        Mul, Gate, SegmentMax, Div, MulColumn, Scores, Softmax, Context, LogSoftmax, Exp, Ln, Sqrt, Recip,
        Square, Tanh, Sigmoid, Softplus, Relu, Gelu, GeluTanh, Silu,
    ];
    let pairs = pairs(&cases::drawn(20));
    for kind in bent {
        let gaps = pairs.iter().filter(|pair| pair.both.op.kind() == kind);
        let gaps: Vec<f64> = gaps.map(|pair| pair.gap(&Naive(kind)).unwrap()).collect();
        let seen = gaps.iter().any(|gap| *gap > 1e-3) && gaps.iter().all(|gap| gap.is_finite());
        assert!(seen, "{kind:?}: {gaps:?}");
    }
}

/// Multipliers with one that is no number.
struct Spoilt;

impl RuleTable<f64> for Spoilt {
    fn name(&self) -> &'static str {
        "spoilt"
    }

    fn pull(&self, node: &Node<f64>, m: Tensor<f64>, sink: &mut Sink<'_, f64>) -> Option<()> {
        RESCALE.pull(node, cases::nudged(&m, 0, f64::NAN), sink)
    }
}

/// Whatever rule hands it on: what is dropped or picked elsewhere does not.
#[test]
fn a_planted_nan_is_noticed() {
    let mut seen = std::collections::BTreeSet::new();
    for pair in pairs(&cases::drawn(20)) {
        let (Ok((_, found)), Ok((_, right))) = (pair.pull(&Spoilt), pair.pull(&RESCALE)) else { continue };
        let handed_on = |pull: &&Tensor<f64>| pull.data().iter().any(|m| m.is_nan());
        if found.iter().flatten().any(|pull| handed_on(&pull)) {
            let gap = pair.gap(&Spoilt).unwrap();
            assert!(gap.is_nan(), "{:?}: {gap:e}", pair.both.op.kind());
            let both = found.iter().flatten().zip(right.iter().flatten());
            let apart = both.map(|(found, right)| relative(found, right)).any(f64::is_infinite);
            assert!(apart, "{:?}", pair.both.op.kind());
            seen.insert(pair.both.op.kind().name());
        }
    }
    assert!(seen.len() > 20, "{seen:?}");
}

/// Where the baseline is the text, the multipliers are the gradient; where it is very near, they are near it.
#[test]
fn no_difference_gives_the_gradient() {
    let texts = cases::all::<f64>();
    for step in [0.0, 1e-14, 1e-9, 1e-6] {
        let baseline = |case: &Case<f64>| {
            let near = |x: &Tensor<f64>| moved(x, &Random::new(3).off_zero(x.rows(), x.cols()), step);
            Case { inputs: case.inputs.iter().map(near).collect(), ..case.clone() }
        };
        for pair in pairs(&texts.iter().map(baseline).collect::<Vec<_>>()) {
            let kind = pair.both.op.kind();
            if kind == OpKind::SegmentMax && step == 0.0 {
                continue; // Here a difference of nothing is handed to nobody.
            }
            let (Ok((_, found)), Ok((_, gradient))) = (pair.pull(&RESCALE), pair.pull(&Gradient)) else {
                continue;
            };
            for (found, gradient) in found.iter().flatten().zip(gradient.iter().flatten()) {
                let gap = relative(found, gradient);
                assert!(gap <= 1e-9 + 100.0 * step, "{kind:?} at {step:e}: {gap:e}");
            }
        }
    }
}

/// Probabilities that single precision rounds to nothing.
#[test]
fn softmax_holds_far_apart_and_in_single_precision() {
    let map = heads(1, 1, &[1, 1], &[3, 3]);
    let scores = Tensor::new(1, 6, vec![0.0f32, 120.0, -40.0, 100.0, -60.0, 0.25]);
    let mut tape = Tape::new(Context::new(1), Mode::Lowered);
    let x = tape.watch(scores.clone().into());
    let y = tape.apply(Op::Softmax(map), [x.clone()]);
    let seed = Tensor::new(1, 6, vec![0.7f32, -0.4, 1.3, 0.0, 0.0, 0.0]);
    let pull = tape.backward(vec![(y.node.unwrap(), seed.clone())], &[x.node.unwrap()], &RESCALE).unwrap();
    let pull = pull[0].clone().unwrap();
    let sum = |m: &Tensor<f32>, v: &Tensor<f32>| -> f32 {
        (0..3).map(|i| m.data()[i] * (v.data()[i] - v.data()[i + 3])).sum()
    };
    let (found, expected) = (sum(&pull, &scores), sum(&seed, &y.value));
    assert!((found - expected).abs() < 1e-5, "{found} for {expected}");
}

/// relu(W·x) with contributions of both signs: RevealCancel sums up as well, and is told as one multiplier.
#[test]
fn reveal_cancel_sums_up_at_every_node() {
    let r = &mut Random::new(5);
    for unary in [Unary::Relu, Unary::Gelu, Unary::GeluTanh, Unary::Silu, Unary::Tanh] {
        let table = DeepLift { reveal_cancel: true };
        let mut tape = Tape::new(Context::new(1), Mode::Lowered);
        let x = tape.watch(r.tensor::<f64>(6, 4).into());
        let h = tape.apply(Op::Linear, [x.clone(), r.tensor(5, 4).into(), r.tensor(1, 5).into()]);
        let a = tape.apply(Op::Unary(unary), [h.clone()]);
        let y = tape.apply(Op::Linear, [a.clone(), r.tensor(2, 5).into()]);
        let seed: Vec<f64> = (0..12).map(|i| if i < 6 { 1.0 + i as f64 } else { 0.0 }).collect();
        let seed = Tensor::new(6, 2, seed);
        let nodes = [&x, &h, &a, &y].map(|var| var.node.unwrap());
        let pulls = tape.backward(vec![(nodes[3], seed.clone())], &nodes, &table).unwrap();
        let expected = dot(&seed, &difference(&y.value));
        for (var, pull) in [&x, &h, &a].iter().zip(&pulls) {
            let pull = pull.as_ref().unwrap();
            let found = dot(pull, &difference(&var.value));
            assert!(
                (found - expected).abs() < 1e-12 * expected.abs().max(1.0),
                "{unary:?}: {found} {expected}"
            );
            assert!(pull.data()[pull.data().len() / 2..].iter().all(|&m| m == 0.0), "{unary:?}");
        }
        let plain = tape.backward(vec![(nodes[3], seed)], &nodes[..1], &RESCALE).unwrap();
        let same = bits(plain[0].as_ref().unwrap()) == bits(pulls[0].as_ref().unwrap());
        assert_eq!(same, unary == Unary::Tanh, "{unary:?}: another rule than rescale, for rectifiers only");
    }
}
