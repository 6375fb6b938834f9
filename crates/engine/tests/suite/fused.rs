//! Fused kernels equal their plain composition; results depend neither on neighbours nor on threads.

use crate::cases::{self, OF, Random, bits, relative};
use exegete_engine::*;
use exegete_testkit::{Comparison, Of, check};
use std::sync::Arc;

/// Outputs of a computation and the gradients of all its inputs, for a random seed.
fn run<T: Scalar>(
    ctx: &Arc<Context<T>>,
    mode: Mode,
    inputs: &[Tensor<T>],
    build: impl Fn(&mut Tape<T>, &[Var<T>]) -> Var<T>,
) -> Vec<Tensor<T>> {
    let mut tape = Tape::new(Arc::clone(ctx), mode);
    let inputs: Vec<_> = inputs.iter().map(|x| tape.watch(x.clone().into())).collect();
    let wrt: Vec<_> = inputs.iter().map(|x| x.node.unwrap()).collect();
    let out = build(&mut tape, &inputs);
    let seed = Random::new(4).tensor(out.value.rows(), out.value.cols());
    let gradients = tape.backward(vec![(out.node.unwrap(), seed)], &wrt, &Gradient).unwrap();
    std::iter::once(out.value).chain(gradients.into_iter().map(Option::unwrap)).collect()
}

/// What two lists of tensors differ by: as many, and each like its partner.
fn compare<T: Scalar>(comparison: &mut Comparison, name: &str, found: &[Tensor<T>], truth: &[Tensor<T>]) {
    comparison.compare(&format!("{name}, tensors"), &[found.len() as f64], &[truth.len() as f64], OF);
    for (i, (found, truth)) in found.iter().zip(truth).enumerate() {
        comparison.compare(&format!("{name}, tensor {i}"), found, truth, OF);
    }
}

/// What the fused run differs by from the lowered one.
fn gap<T: Scalar>(
    comparison: &mut Comparison,
    inputs: &[Tensor<T>],
    build: impl Fn(&mut Tape<T>, &[Var<T>]) -> Var<T>,
) {
    let ctx = Context::new(1);
    let [fused, lowered] = [Mode::Gradient, Mode::Lowered].map(|mode| run(&ctx, mode, inputs, &build));
    let plain = {
        let mut tape = Tape::new(ctx, Mode::Off);
        let inputs: Vec<_> = inputs.iter().cloned().map(Var::from).collect();
        build(&mut tape, &inputs).value
    };
    comparison.compare("unrecorded", &plain, &lowered[0], OF);
    compare(comparison, "fused", &fused, &lowered);
}

fn attention_gap<T: Scalar>(comparison: &mut Comparison, length: usize, count: usize, width: usize) {
    let keys = [length, 3, 71 - length];
    let queries = [71 - length, 1, length];
    let heads = cases::heads(count, width, &queries, &keys);
    let r = &mut Random::new(length as u64);
    let hidden = count * width;
    let inputs = [r.tensor(72, hidden), r.tensor(74, hidden), r.tensor(74, hidden)];
    gap::<T>(comparison, &inputs, |tape, x| tape.attention(&heads, x[0].clone(), x[1].clone(), x[2].clone()));
}

fn norm_gap<T: Scalar>(comparison: &mut Comparison, rows: usize, cols: usize) {
    let r = &mut Random::new(rows as u64);
    let inputs: [Tensor<T>; 4] =
        [r.tensor(rows, cols), r.tensor(rows, cols), r.tensor(1, cols), r.tensor(1, cols)];
    gap(comparison, &inputs, |tape, x| {
        let [x, residual, gain, bias] = x else { panic!("four inputs") };
        tape.add_layer_norm(x.clone(), residual.clone(), gain.clone(), bias.clone(), 1e-3)
    });
    let inputs = [inputs[0].clone(), inputs[2].clone(), inputs[3].clone()];
    gap(comparison, &inputs, |tape, x| tape.layer_norm(x[0].clone(), x[1].clone(), x[2].clone(), 1e-3));
}

#[test]
fn fused_equals_lowered() {
    let (mut double, mut single) = (Comparison::default(), Comparison::default());
    for length in 1..=70 {
        for (count, width) in [(2, 9), (1, 5), (3, 16)] {
            attention_gap::<f64>(&mut double, length, count, width);
            attention_gap::<f32>(&mut single, length, count, width);
        }
    }
    for cols in (2..40).chain([64, 100, 257]) {
        norm_gap::<f64>(&mut double, cols % 7 + 1, cols);
        norm_gap::<f32>(&mut single, cols % 7 + 1, cols);
    }
    println!("worst: {:?}, {:?}", double.worst(), single.worst());
    double.assert_within(1e-12);
    single.assert_within(1e-5);
}

/// Where the lowered tape is not what it says, `gap` must notice.
#[test]
fn a_wrong_composition_is_noticed() {
    let r = &mut Random::new(1);
    let inputs: [Tensor<f64>; 3] = [r.tensor(4, 6), r.tensor(1, 6), r.tensor(1, 6)];
    let mut wrong = Comparison::default();
    gap(&mut wrong, &inputs, |tape, x| {
        let epsilon = if tape.mode() == Mode::Lowered { 1.1e-3 } else { 1e-3 };
        tape.layer_norm(x[0].clone(), x[1].clone(), x[2].clone(), epsilon)
    });
    wrong.assert_beyond(1e-6);
}

/// One NaN among thousands of numbers, a tensor less, another length, no tensors.
#[test]
fn a_planted_nan_another_length_and_nothing_are_noticed() {
    let right = [Random::new(1).tensor::<f64>(40, 50), Random::new(2).tensor(1, 50)];
    let red = |found: &[Tensor<f64>], truth: &[Tensor<f64>]| {
        let mut comparison = Comparison::default();
        compare(&mut comparison, "planted", found, truth);
        comparison.check(1e-12).is_err()
    };
    let with = |planted: Tensor<f64>| [right[0].clone(), planted];
    assert!(!red(&right, &right));
    let nan = with(cases::nudged(&right[1], 31, f64::NAN));
    assert!(red(&nan, &right) && red(&right, &nan) && red(&nan, &nan));
    assert!(red(&right[..1], &right) && red(&with(Random::new(2).tensor(1, 49)), &right));
    let empty = with(Tensor::new(0, 50, Vec::new()));
    assert!(red(&empty, &empty) && red(&[], &right));
    // In the run itself: an input that is NaN leaves no number to agree on.
    let mut comparison = Comparison::default();
    gap(&mut comparison, &[cases::nudged(&right[0], 31, f64::NAN)], |tape, x| {
        tape.apply(Op::Unary(Unary::Gelu), [x[0].clone()])
    });
    assert!(comparison.check(1.0).is_err());
}

#[test]
fn single_precision_functions_match_double() {
    use Unary::*;
    for f in cases::UNARY {
        let (low, high) = if [Ln, Sqrt, Recip].contains(&f) { (0.05, 20.0) } else { (-12.0, 12.0) };
        // Exact in single precision, so that both see the same inputs.
        let x = Random::new(9).within::<f32>(40, 101, low, high);
        let wide = x.map(f64::from);
        let single =
            run(&Context::new(1), Mode::Gradient, &[x], |t, x| t.apply(Op::Unary(f), [x[0].clone()]));
        let build = |t: &mut Tape<f64>, x: &[Var<f64>]| t.apply(Op::Unary(f), [x[0].clone()]);
        let double = run(&Context::new(1), Mode::Gradient, std::slice::from_ref(&wide), build);
        // Each element relative to the size of what goes in or comes out, where that is above one.
        let sized = |values: &[f64], truth: &Tensor<f64>| -> Vec<f64> {
            let sizes = truth.data().iter().zip(wide.data()).map(|(b, x)| b.abs().max(x.abs()).max(1.0));
            values.iter().zip(sizes).map(|(value, size)| value / size).collect()
        };
        for (what, single, double) in [("value", &single[0], &double[0]), ("slope", &single[1], &double[1])] {
            assert_eq!(single.data().len(), wide.data().len());
            let found = sized(single.map(f64::from).data(), double);
            let error = check(
                &format!("{what} of {f:?}"),
                &found,
                &sized(double.data(), double),
                Of::Size(1.0),
                3e-7,
            );
            println!("{what} of {f:?}: {:e}", error.unwrap());
        }
    }
}

/// Far from zero neither values nor slopes nor their tangents overflow on the way to a finite result.
#[test]
fn tails_are_finite() {
    use Unary::*;
    fn check<T: Scalar>(number: fn(f64) -> T) {
        let points = [0.0, 20.0, 60.0, 90.0, 700.0, 1000.0, 1e4].into_iter().flat_map(|x| [x, -x]);
        let x = Tensor::new(1, 14, points.map(number).collect());
        for f in [Square, Tanh, Sigmoid, Softplus(1.0), Relu, Gelu, GeluTanh, Silu] {
            let build = |t: &mut Tape<T>, x: &[Var<T>]| t.apply(Op::Unary(f), [x[0].clone()]);
            let results = run(&Context::new(1), Mode::Gradient, std::slice::from_ref(&x), build);
            let finite = |y: &T| y.value().is_finite() && y.tangent().is_finite();
            assert!(results.iter().all(|r| r.data().iter().all(finite)), "{f:?}: {results:?}");
            if [Gelu, GeluTanh, Silu, Relu, Softplus(1.0)].contains(&f) {
                for (x, y) in x.data().iter().zip(results[0].data()).skip(4) {
                    let limit = x.value().max(0.0);
                    assert!((y.value() - limit).abs() <= 1e-20, "{f:?}({x:?}) = {y:?}");
                }
            }
        }
    }
    check::<f32>(|x| x as f32);
    check::<f64>(|x| x);
    check::<Dual<f32>>(|x| Dual { v: x as f32, t: 5.0 });
    check::<Dual<f64>>(|v| Dual { v, t: 5.0 });
}

/// The loss of a model with large logits keeps its digits.
#[test]
fn log_softmax_of_large_logits() {
    for shift in [0.0, 100.0, 3000.0, -3000.0] {
        // Multiples of 1/64 are exact in single precision.
        let x = Random::new(3)
            .within::<f64>(20, 7, -4.0, 4.0)
            .map(|x| ((x * 64.0).round() / 64.0 + shift) as f32);
        let single = cases::Case { name: "", op: Op::LogSoftmax, inputs: vec![x.clone()] }.value();
        let double = cases::Case { name: "", op: Op::LogSoftmax, inputs: vec![x.map(f64::from)] }.value();
        assert!(relative(&single, &double) <= 3e-7, "shifted by {shift}");
    }
}

const HIDDEN: usize = 96;

/// A transformer layer over packed sequences: queries, keys and values from one x, then a gated mixture.
fn layer(tape: &mut Tape<f32>, heads: &Heads, p: &[Var<f32>]) -> Var<f32> {
    let [x, w, bias, gain] = p else { panic!("four inputs") };
    let linear =
        |tape: &mut Tape<f32>, x: &Var<f32>| tape.apply(Op::Linear, [x.clone(), w.clone(), bias.clone()]);
    let q = linear(tape, x);
    let k = tape.apply(Op::Unary(Unary::Tanh), [q.clone()]);
    let context = tape.attention(heads, q, k, x.clone());
    let middle = tape.add_layer_norm(context, x.clone(), gain.clone(), bias.clone(), 1e-5);
    let inner = linear(tape, &middle);
    let inner = tape.apply(Op::Unary(Unary::Gelu), [inner]);
    let gated = tape.apply(Op::MulRow, [inner, gain.clone()]);
    let out = tape.add_layer_norm(gated, middle, gain.clone(), bias.clone(), 1e-5);
    tape.apply(Op::LogSoftmax, [out])
}

fn layer_inputs(rows: usize) -> [Tensor<f32>; 4] {
    let r = &mut Random::new(2);
    let w = r.within(HIDDEN, HIDDEN, -0.2, 0.2);
    [r.tensor(rows, HIDDEN), w, r.tensor(1, HIDDEN), r.off_zero(1, HIDDEN)]
}

#[test]
fn threads_do_not_matter_and_repeats_give_the_same_bits() {
    let lengths = [70, 1, 64, 33, 50, 9];
    let heads = cases::heads(4, HIDDEN / 4, &lengths, &lengths);
    let inputs = layer_inputs(lengths.iter().sum());
    for mode in [Mode::Gradient, Mode::Lowered] {
        let results: Vec<_> = [1, 2, 3]
            .into_iter()
            .map(|threads| {
                let ctx = Context::new(threads);
                let once = || ctx.install(|| run(&ctx, mode, &inputs, |t, p| layer(t, &heads, p)));
                let first = once();
                let again = once();
                let same = first.iter().zip(&again).all(|(a, b)| bits(a) == bits(b));
                assert!(same, "{threads} threads give other bits when repeated");
                first
            })
            .collect();
        for other in &results[1..] {
            let mut comparison = Comparison::default();
            compare(&mut comparison, &format!("{mode:?}"), other, &results[0]);
            println!("{:?}", comparison.worst());
            comparison.assert_within(1e-6);
        }
    }
}

/// What each sequence alone differs by from itself within the batch, in values and gradients at x.
fn neighbours(lengths: &[usize], batched: &Heads) -> Comparison {
    let inputs = layer_inputs(lengths.iter().sum());
    let ctx = Context::new(1);
    let alone = |seed: &Tensor<f32>, x: &Tensor<f32>, heads: &Heads| {
        let mut tape = Tape::new(Arc::clone(&ctx), Mode::Gradient);
        let [_, w, bias, gain] = &inputs;
        let x = tape.watch(x.clone().into());
        let p = [x.clone(), w.clone().into(), bias.clone().into(), gain.clone().into()];
        let out = layer(&mut tape, heads, &p);
        let seeds = vec![(out.node.unwrap(), seed.clone())];
        let g = tape.backward(seeds, &[x.node.unwrap()], &Gradient).unwrap().remove(0).unwrap();
        [out.value, g]
    };
    let seed = Random::new(6).tensor(inputs[0].rows(), HIDDEN);
    let together = alone(&seed, &inputs[0], batched);
    let all = Segments::new(lengths.iter().copied());
    let mut comparison = Comparison::default();
    for (b, &length) in lengths.iter().enumerate() {
        let rows = |x: &Tensor<f32>| {
            let range = all.range(b);
            Tensor::new(length, HIDDEN, x.data()[range.start * HIDDEN..range.end * HIDDEN].to_vec())
        };
        let own = alone(&rows(&seed), &rows(&inputs[0]), &cases::heads(4, HIDDEN / 4, &[length], &[length]));
        compare(&mut comparison, &format!("sequence {b}"), &together.each_ref().map(rows), &own);
    }
    comparison
}

#[test]
fn a_sequence_does_not_depend_on_its_neighbours() {
    let lengths = [13, 1, 70, 2, 33, 16];
    let comparison = neighbours(&lengths, &cases::heads(4, HIDDEN / 4, &lengths, &lengths));
    println!("worst: {:?}", comparison.worst());
    comparison.assert_within(1e-6);
}

/// The planted leak: one sequence sees the next one's first token, as with a wrong padding mask.
#[test]
fn a_leak_between_sequences_is_noticed() {
    let lengths = [13, 1, 70, 2, 33, 16];
    let leaky = [14, 0, 70, 2, 33, 16];
    neighbours(&lengths, &cases::heads(4, HIDDEN / 4, &leaky, &leaky)).assert_beyond(1e-3);
}
