//! Fused kernels equal their plain composition; results depend neither on neighbours nor on threads.

use crate::cases::{self, Random, bits, relative};
use exegete_engine::*;
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

/// The worst difference between the fused and the lowered run.
fn gap<T: Scalar>(inputs: &[Tensor<T>], build: impl Fn(&mut Tape<T>, &[Var<T>]) -> Var<T>) -> f64 {
    let ctx = Context::new(1);
    let [fused, lowered] = [Mode::Gradient, Mode::Lowered].map(|mode| run(&ctx, mode, inputs, &build));
    let plain = {
        let mut tape = Tape::new(ctx, Mode::Off);
        let inputs: Vec<_> = inputs.iter().cloned().map(Var::from).collect();
        build(&mut tape, &inputs).value
    };
    let unrecorded = relative(&plain, &lowered[0]);
    fused.iter().zip(&lowered).map(|(a, b)| relative(a, b)).fold(unrecorded, f64::max)
}

fn attention_gap<T: Scalar>(length: usize, count: usize, width: usize) -> f64 {
    let keys = [length, 3, 71 - length];
    let queries = [71 - length, 1, length];
    let heads = cases::heads(count, width, &queries, &keys);
    let r = &mut Random::new(length as u64);
    let hidden = count * width;
    let inputs = [r.tensor(72, hidden), r.tensor(74, hidden), r.tensor(74, hidden)];
    gap::<T>(&inputs, |tape, x| tape.attention(&heads, x[0].clone(), x[1].clone(), x[2].clone()))
}

fn norm_gap<T: Scalar>(rows: usize, cols: usize) -> f64 {
    let r = &mut Random::new(rows as u64);
    let inputs: [Tensor<T>; 4] =
        [r.tensor(rows, cols), r.tensor(rows, cols), r.tensor(1, cols), r.tensor(1, cols)];
    let sum = gap(&inputs, |tape, x| {
        let [x, residual, gain, bias] = x else { panic!("four inputs") };
        tape.add_layer_norm(x.clone(), residual.clone(), gain.clone(), bias.clone(), 1e-3)
    });
    let inputs = [inputs[0].clone(), inputs[2].clone(), inputs[3].clone()];
    sum.max(gap(&inputs, |tape, x| tape.layer_norm(x[0].clone(), x[1].clone(), x[2].clone(), 1e-3)))
}

#[test]
fn fused_equals_lowered() {
    let mut worst = [0.0f64; 4];
    for length in 1..=70 {
        for (count, width) in [(2, 9), (1, 5), (3, 16)] {
            worst[0] = worst[0].max(attention_gap::<f64>(length, count, width));
            worst[1] = worst[1].max(attention_gap::<f32>(length, count, width));
        }
    }
    for cols in (2..40).chain([64, 100, 257]) {
        worst[2] = worst[2].max(norm_gap::<f64>(cols % 7 + 1, cols));
        worst[3] = worst[3].max(norm_gap::<f32>(cols % 7 + 1, cols));
    }
    println!("worst: attention f64, f32, norm f64, f32: {worst:?}");
    assert!(worst[0].max(worst[2]) <= 1e-12 && worst[1].max(worst[3]) <= 1e-5, "{worst:?}");
}

/// Where the lowered tape is not what it says, `gap` must notice.
#[test]
fn a_wrong_composition_is_noticed() {
    let r = &mut Random::new(1);
    let inputs: [Tensor<f64>; 3] = [r.tensor(4, 6), r.tensor(1, 6), r.tensor(1, 6)];
    let wrong = gap(&inputs, |tape, x| {
        let epsilon = if tape.mode() == Mode::Lowered { 1.1e-3 } else { 1e-3 };
        tape.layer_norm(x[0].clone(), x[1].clone(), x[2].clone(), epsilon)
    });
    assert!(wrong > 1e-6);
}

#[test]
fn single_precision_functions_match_double() {
    use Unary::*;
    let mut worst = Vec::new();
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
        let far = |a: &Tensor<f32>, b: &Tensor<f64>| {
            let errors = a.data().iter().zip(b.data()).zip(wide.data());
            errors
                .map(|((&a, b), x)| (f64::from(a) - b).abs() / b.abs().max(x.abs()).max(1.0))
                .fold(0.0, f64::max)
        };
        worst.push((f, far(&single[0], &double[0]), far(&single[1], &double[1])));
    }
    println!("{worst:?}");
    for (f, value, slope) in worst {
        assert!(value <= 3e-7 && slope <= 3e-7, "{f:?}: value {value:e}, slope {slope:e}");
    }
}

/// Far from zero neither values nor slopes nor their tangents overflow on the way to a finite result.
#[test]
fn tails_are_finite() {
    use Unary::*;
    fn check<T: Scalar>(number: fn(f64) -> T) {
        let points = [0.0, 20.0, 60.0, 90.0, 700.0, 1000.0, 1e4].into_iter().flat_map(|x| [x, -x]);
        let x = Tensor::new(1, 14, points.map(number).collect());
        for f in [Square, Tanh, Sigmoid, Softplus, Relu, Gelu, GeluTanh, Silu] {
            let build = |t: &mut Tape<T>, x: &[Var<T>]| t.apply(Op::Unary(f), [x[0].clone()]);
            let results = run(&Context::new(1), Mode::Gradient, std::slice::from_ref(&x), build);
            let finite = |y: &T| y.value().is_finite() && y.tangent().is_finite();
            assert!(results.iter().all(|r| r.data().iter().all(finite)), "{f:?}: {results:?}");
            if [Gelu, GeluTanh, Silu, Relu, Softplus].contains(&f) {
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
            let worst = other.iter().zip(&results[0]).map(|(a, b)| relative(a, b)).fold(0.0, f64::max);
            println!("{mode:?}: {worst:e}");
            assert!(worst <= 1e-6, "{worst:e}");
        }
    }
}

/// The worst difference between each sequence alone and within the batch, in values and gradients at x.
fn neighbours(lengths: &[usize], batched: &Heads) -> f64 {
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
    let mut worst = 0.0f64;
    for (b, &length) in lengths.iter().enumerate() {
        let rows = |x: &Tensor<f32>| {
            let range = all.range(b);
            Tensor::new(length, HIDDEN, x.data()[range.start * HIDDEN..range.end * HIDDEN].to_vec())
        };
        let own = alone(&rows(&seed), &rows(&inputs[0]), &cases::heads(4, HIDDEN / 4, &[length], &[length]));
        for (own, batch) in own.iter().zip(&together) {
            worst = worst.max(relative(&rows(batch), own));
        }
    }
    worst
}

#[test]
fn a_sequence_does_not_depend_on_its_neighbours() {
    let lengths = [13, 1, 70, 2, 33, 16];
    let worst = neighbours(&lengths, &cases::heads(4, HIDDEN / 4, &lengths, &lengths));
    println!("worst: {worst:e}");
    assert!(worst <= 1e-6, "{worst:e}");
}

/// The planted leak: one sequence sees the next one's first token, as with a wrong padding mask.
#[test]
fn a_leak_between_sequences_is_noticed() {
    let lengths = [13, 1, 70, 2, 33, 16];
    let leaky = [14, 0, 70, 2, 33, 16];
    assert!(neighbours(&lengths, &cases::heads(4, HIDDEN / 4, &leaky, &leaky)) > 1e-3);
}
