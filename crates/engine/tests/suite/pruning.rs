//! Only what was asked for is differentiated, remembered and paid for.

use crate::cases::{self, Random, bits, moved, relative};
use exegete_engine::*;
use std::sync::Arc;

const LAYERS: usize = 6;
const WIDTH: usize = 8;
const ROWS: usize = 4;
/// Work of one product of the chain.
const FLOPS: u64 = 2 * (ROWS * WIDTH * WIDTH) as u64;
const BYTES: usize = ROWS * WIDTH * size_of::<f64>();

/// LAYERS × (linear, tanh), watched from layer `from` on, with or without the weights.
struct Chain {
    tape: Tape<f64>,
    weights: Vec<Var<f64>>,
    /// The input, then the output of each layer.
    values: Vec<Var<f64>>,
}

impl Chain {
    fn new(mode: Mode, from: usize, weights: bool) -> Self {
        let mut random = Random::new(1);
        let mut tape = Tape::new(Context::new(1), mode);
        let mut values: Vec<Var<f64>> = vec![random.tensor(ROWS, WIDTH).into()];
        let mut kept = Vec::new();
        for layer in 0..LAYERS {
            let mut x = values[layer].clone();
            if layer == from {
                x = tape.watch(x);
                values[layer] = x.clone();
            }
            let mut w: Var<f64> = random.tensor(WIDTH, WIDTH).into();
            if weights {
                w = tape.watch(w);
            }
            let y = tape.apply(Op::Linear, [x, w.clone()]);
            kept.push(w);
            values.push(tape.apply(Op::Unary(Unary::Tanh), [y]));
        }
        Self { tape, weights: kept, values }
    }

    fn node(&self, layer: usize) -> NodeId {
        self.values[layer].node.unwrap()
    }

    /// The gradients, and how many operations and how much work they took.
    fn pull(&self, seed: &Tensor<f64>, wrt: &[NodeId]) -> (Vec<Option<Tensor<f64>>>, usize, u64) {
        let before = (self.tape.ops(), self.tape.context().counts().flops);
        let seeds = vec![(self.node(LAYERS), seed.clone())];
        let gradients = self.tape.backward(seeds, wrt, &Gradient).unwrap();
        let after = (self.tape.ops(), self.tape.context().counts().flops);
        (gradients, after.0 - before.0, after.1 - before.1)
    }
}

fn seed(n: u64) -> Tensor<f64> {
    Random::new(n).tensor(ROWS, WIDTH)
}

#[test]
fn work_ends_at_what_was_asked() {
    for weights in [false, true] {
        let chain = Chain::new(Mode::Gradient, 0, weights);
        for layer in 0..=LAYERS {
            let (_, ops, flops) = chain.pull(&seed(2), &[chain.node(layer)]);
            // No weight is asked for, watched or not.
            assert_eq!((ops, flops), (2 * (LAYERS - layer), FLOPS * (LAYERS - layer) as u64));
        }
        assert_eq!(chain.pull(&seed(2), &[]).1, 0);
    }
}

#[test]
fn weight_gradients_cost_only_when_asked() {
    let chain = Chain::new(Mode::Gradient, 0, true);
    for layer in 0..LAYERS {
        let weight = chain.weights[layer].node.unwrap();
        let (_, ops, flops) = chain.pull(&seed(2), &[weight]);
        // Down to the layer's output, and then its weight but not its input.
        assert_eq!((ops, flops), (2 * (LAYERS - layer), FLOPS * (LAYERS - layer) as u64));
    }
    let all: Vec<_> = chain.weights.iter().map(|w| w.node.unwrap()).collect();
    let (_, _, flops) = chain.pull(&seed(2), &all);
    assert_eq!(flops, FLOPS * (2 * LAYERS - 1) as u64);
}

#[test]
fn nothing_before_the_first_watched_value_is_recorded() {
    for from in 0..LAYERS {
        let chain = Chain::new(Mode::Gradient, from, false);
        let recorded: Vec<_> = chain.values.iter().map(|v| v.node.is_some()).collect();
        assert_eq!(recorded, (0..=LAYERS).map(|layer| layer >= from).collect::<Vec<_>>());
        assert_eq!(chain.tape.ops(), 2 * LAYERS);
        assert_eq!(chain.pull(&seed(2), &[chain.node(from)]).1, 2 * (LAYERS - from));
    }
    let off = Chain::new(Mode::Off, 0, true);
    assert!(off.values.iter().chain(&off.weights).all(|v| v.node.is_none()));
}

/// How many matrices stay alive with the tape alone, in the given mode, when op i gets `watched[i]`.
fn kept(mode: Mode, op: Op<f64>, watched: &[bool]) -> usize {
    let ctx = Context::new(1);
    let mut tape = Tape::new(Arc::clone(&ctx), mode);
    let mut nothing = Tape::new(Arc::clone(&ctx), Mode::Off);
    let mut inputs = Vec::new();
    for &watch in watched {
        // Made on the context, so that their bytes count.
        let x = nothing.apply(Op::Shift(1.0), [cases::Random::new(3).tensor(ROWS, WIDTH).into()]);
        let x = nothing.apply(Op::AddRow, [x, Tensor::new(1, WIDTH, vec![0.0; WIDTH]).into()]);
        inputs.push(if watch { tape.watch(x) } else { x });
    }
    drop(tape.apply(op, inputs));
    ctx.counts().live_bytes / BYTES
}

#[test]
fn the_tape_keeps_only_what_its_rules_need() {
    let add_norm = |mode| {
        let ctx = Context::new(1);
        let mut tape = Tape::new(Arc::clone(&ctx), mode);
        let x = tape.watch(seed(1).into());
        let row: Var<f64> = Tensor::new(1, WIDTH, vec![1.0; WIDTH]).into();
        // x is held, so that its own memory, which no context counts, cannot be reused.
        drop(tape.add_layer_norm(x.clone(), seed(2).into(), row.clone(), row, 1e-5));
        ctx.counts().live_bytes
    };
    // The normalised rows and one number a row.
    assert_eq!(add_norm(Mode::Gradient), BYTES + BYTES / WIDTH);
    assert!(add_norm(Mode::Lowered) > 4 * BYTES);
    let table: [(Op<f64>, &[bool], usize); 12] = [
        (Op::Add, &[true, true], 0),
        (Op::Sub, &[true, true], 0),
        (Op::Scale(2.0), &[true], 0),
        (Op::RowSum, &[true], 0),
        (Op::Mul, &[true, false], 1),
        (Op::Mul, &[false, true], 1),
        (Op::Mul, &[true, true], 2),
        (Op::Div, &[true, false], 1),
        (Op::Div, &[true, true], 2),
        (Op::Unary(Unary::Gelu), &[true], 1),
        (Op::Unary(Unary::Gelu), &[false], 0),
        (Op::LogSoftmax, &[true], 1),
    ];
    for (op, watched, expected) in table {
        let kind = op.kind();
        assert_eq!(kept(Mode::Gradient, op, watched), expected, "{kind:?} {watched:?}");
    }
    assert_eq!(kept(Mode::Lowered, Op::Add, &[true, true]), 3);
    assert_eq!(kept(Mode::Off, Op::Mul, &[true, true]), 0);
}

/// A chain of linear layers with frozen weights keeps none of its activations.
#[test]
fn frozen_linear_layers_keep_no_activations() {
    let ctx = Context::new(1);
    let mut tape = Tape::new(Arc::clone(&ctx), Mode::Gradient);
    let mut x = tape.watch(seed(1).into());
    for n in 0..20 {
        x = tape.apply(Op::Linear, [x, Random::new(n).tensor(WIDTH, WIDTH).into()]);
    }
    assert_eq!(ctx.counts().live_bytes, BYTES);
    assert_eq!(ctx.counts().peak_bytes, 2 * BYTES);
}

#[test]
fn backward_can_be_called_again_and_is_linear_in_the_seeds() {
    for mode in [Mode::Gradient, Mode::Lowered] {
        let chain = Chain::new(mode, 0, true);
        let wrt: Vec<_> =
            (0..LAYERS).map(|l| chain.node(l)).chain(chain.weights.iter().map(|w| w.node.unwrap())).collect();
        let run = |seed: &Tensor<f64>| -> Vec<Tensor<f64>> {
            chain.pull(seed, &wrt).0.into_iter().map(Option::unwrap).collect()
        };
        let (a, b) = (seed(10), seed(11));
        let first = run(&a);
        let other = run(&b);
        let again = run(&a);
        let mix = run(&moved(&a, &b, -2.5));
        for i in 0..wrt.len() {
            assert_eq!(bits(&first[i]), bits(&again[i]), "the second run differs");
            assert!(relative(&mix[i], &moved(&first[i], &other[i], -2.5)) <= 1e-13, "not linear");
            let alone = chain.pull(&a, &wrt[i..=i]).0.remove(0).unwrap();
            assert_eq!(bits(&alone), bits(&first[i]), "one by one differs from all at once");
        }
        assert_eq!(bits(&a), bits(&seed(10)), "the seed was overwritten");
    }
}

#[test]
fn seeds_at_several_nodes_add_up() {
    let chain = Chain::new(Mode::Gradient, 0, false);
    let pull = |seeds: Vec<(NodeId, Tensor<f64>)>| {
        chain.tape.backward(seeds, &[chain.node(0)], &Gradient).unwrap().remove(0).unwrap()
    };
    let (late, early) = ((chain.node(LAYERS), seed(10)), (chain.node(2), seed(11)));
    let sum = moved(&pull(vec![late.clone()]), &pull(vec![early.clone()]), 1.0);
    assert!(relative(&pull(vec![late.clone(), early.clone()]), &sum) <= 1e-13);
    let twice = pull(vec![late.clone(), early.clone(), late.clone()]);
    assert!(relative(&twice, &moved(&sum, &pull(vec![late]), 1.0)) <= 1e-13);
    // A seed at the node itself is part of its gradient.
    assert_eq!(bits(&pull(vec![(chain.node(0), seed(12))])), bits(&seed(12)));
}

#[test]
fn a_node_that_no_seed_reaches_has_no_gradient() {
    let mut chain = Chain::new(Mode::Gradient, 0, false);
    let aside = chain.tape.watch(seed(1).into());
    let beyond = chain.tape.apply(Op::Scale(2.0), [chain.values[LAYERS].clone()]);
    let wrt = [chain.node(0), aside.node.unwrap(), beyond.node.unwrap()];
    let reached: Vec<_> = chain.pull(&seed(2), &wrt).0.iter().map(Option::is_some).collect();
    assert_eq!(reached, [true, false, false]);
    let none = chain.tape.backward(vec![], &wrt, &Gradient).unwrap();
    assert!(none.iter().all(Option::is_none));
}

#[test]
#[should_panic(expected = "seed")]
fn a_seed_of_another_shape_is_refused() {
    let chain = Chain::new(Mode::Gradient, 0, false);
    chain.pull(&Random::new(2).tensor(WIDTH, ROWS), &[chain.node(0)]);
}
