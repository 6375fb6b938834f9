//! Recycled and overwritten memory never shows in a result.

use crate::cases::{self, Case, Random, bits};
use exegete_engine::*;
use std::sync::Arc;

/// An operation run forward and backward on a given context: values of the output and of every pull.
fn run<T: Scalar>(
    ctx: &Arc<Context<T>>,
    case: &Case<T>,
    mode: Mode,
    inputs: Vec<Tensor<T>>,
) -> Vec<Tensor<T>> {
    let mut tape = Tape::new(Arc::clone(ctx), mode);
    let inputs: Vec<_> = inputs.into_iter().map(|x| tape.watch(x.into())).collect();
    let wrt: Vec<_> = inputs.iter().filter_map(|x| x.node).collect();
    let out = tape.apply(case.op.clone(), inputs);
    let Some(node) = out.node else { return vec![out.value] };
    let seed = Random::new(8).tensor(out.value.rows(), out.value.cols());
    let pulls = tape.backward(vec![(node, seed)], &wrt, &Gradient).unwrap();
    std::iter::once(out.value).chain(pulls.into_iter().map(Option::unwrap)).collect()
}

fn same<T: Scalar>(a: &[Tensor<T>], b: &[Tensor<T>]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| bits(a) == bits(b))
}

/// Copies that nobody else holds.
fn owned<T: Scalar>(xs: &[Tensor<T>]) -> Vec<Tensor<T>> {
    xs.iter().map(|x| x.map(|x| x)).collect()
}

/// Copies in memory of somebody else.
fn foreign<T: Scalar>(xs: &[Tensor<T>]) -> Vec<Tensor<T>> {
    xs.iter().map(|x| Tensor::borrowed(x.rows(), x.cols(), Box::new(x.data().to_vec()))).collect()
}

/// Leaves many free buffers full of NaN behind.
fn poison<T: Scalar>(ctx: &Arc<Context<T>>) {
    let mut tape = Tape::new(Arc::clone(ctx), Mode::Off);
    let zero: Var<T> = Tensor::new(1, 1, vec![T::from_f64(f64::NAN)]).into();
    let made: Vec<_> = (1..200).map(|n| tape.apply(Op::Gather(vec![0; n].into()), [zero.clone()])).collect();
    drop(made);
}

fn check_all<T: Scalar>() {
    for case in cases::all::<T>() {
        for mode in [Mode::Off, Mode::Gradient, Mode::Lowered] {
            let what = format!("{} ({:?}, {mode:?})", case.name, case.op.kind());
            let before = owned(&case.inputs);
            let ctx = Context::new(1);
            // `case` holds the inputs, so that none may be overwritten.
            let truth = run(&ctx, &case, mode, case.inputs.clone());
            assert!(same(&case.inputs, &before), "{what}: an input was overwritten");
            assert!(same(&truth, &run(&ctx, &case, mode, owned(&before))), "{what}: in place differs");
            assert!(
                same(&truth, &run(&ctx, &case, mode, foreign(&before))),
                "{what}: foreign memory differs"
            );
            for _ in 0..3 {
                poison(&ctx);
                let result = run(&ctx, &case, mode, owned(&before));
                assert!(same(&truth, &result), "{what}: shows old memory, {result:?}");
            }
            drop(truth);
            assert_eq!(ctx.counts().live_bytes, 0, "{what}: memory is not given back");
        }
    }
}

#[test]
fn no_operation_overwrites_what_others_hold_or_shows_old_memory() {
    check_all::<f64>();
    check_all::<f32>();
    check_all::<Dual<f64>>();
}

#[test]
fn the_same_value_twice_is_safe() {
    let ctx = Context::new(1);
    let mut tape = Tape::new(ctx, Mode::Off);
    let x = || Var::from(Tensor::new(1, 3, vec![1.0, 2.0, 4.0]));
    let twice = |tape: &mut Tape<f64>, op| {
        let x = x();
        tape.apply(op, [x.clone(), x]).value.data().to_vec()
    };
    assert_eq!(twice(&mut tape, Op::Add), [2.0, 4.0, 8.0]);
    assert_eq!(twice(&mut tape, Op::Sub), [0.0; 3]);
    assert_eq!(twice(&mut tape, Op::Mul), [1.0, 4.0, 16.0]);
    assert_eq!(twice(&mut tape, Op::Div), [1.0; 3]);
}

#[test]
fn passes_reuse_memory() {
    let ctx = Context::<f32>::new(1);
    let pass = || {
        let mut tape = Tape::new(Arc::clone(&ctx), Mode::Gradient);
        let mut random = Random::new(1);
        let x = tape.watch(random.tensor(64, 64).into());
        let mut y = x.clone();
        for _ in 0..8 {
            y = tape.apply(Op::Linear, [y, random.tensor(64, 64).into()]);
            y = tape.apply(Op::Unary(Unary::Gelu), [y]);
        }
        let seed = y.value.map(|_| 1.0);
        tape.backward(vec![(y.node.unwrap(), seed)], &[x.node.unwrap()], &Gradient).unwrap();
        ctx.counts()
    };
    let first = pass();
    assert_eq!(ctx.counts().live_bytes, 0);
    let matrix = 64 * 64 * size_of::<f32>();
    // Eight kept inputs of gelu, the last output, and two at work.
    assert!((9 * matrix..=12 * matrix).contains(&first.peak_bytes), "{} matrices", first.peak_bytes / matrix);
    for _ in 0..5 {
        let next = pass();
        assert_eq!((next.live_bytes, next.peak_bytes), (first.live_bytes, first.peak_bytes));
    }
    ctx.reset_peak();
    assert_eq!(ctx.counts().peak_bytes, 0);
}

#[test]
fn values_outlive_their_context() {
    let y = {
        let mut tape = Tape::new(Context::new(2), Mode::Off);
        tape.apply(Op::AddRow, [Tensor::new(1, 1, vec![1.0]).into(), Tensor::new(1, 1, vec![2.0]).into()])
    };
    assert_eq!(y.value.data(), [3.0]);
}

/// Empty batches and sequences without keys are no special case.
#[test]
fn nothing_in_gives_nothing_out() {
    let ctx = Context::<f64>::new(1);
    poison(&ctx);
    let mut tape = Tape::new(Arc::clone(&ctx), Mode::Gradient);
    let empty = |tape: &mut Tape<f64>| tape.watch(Tensor::new(0, 4, vec![]).into());
    let row: Var<f64> = Tensor::new(1, 4, vec![1.0; 4]).into();
    let x = empty(&mut tape);
    let y = tape.layer_norm(x.clone(), row.clone(), row, 1e-5);
    let y = tape.attention(&cases::heads(2, 2, &[], &[]), y.clone(), y.clone(), y);
    let y = tape.apply(Op::Linear, [y, Tensor::new(3, 4, vec![1.0; 12]).into()]);
    assert_eq!((y.value.rows(), y.value.cols()), (0, 3));
    let g = tape.backward(vec![(y.node.unwrap(), y.value)], &[x.node.unwrap()], &Gradient).unwrap();
    assert_eq!(g[0].as_ref().map(Tensor::rows), Some(0));
    // Queries that have no key get zeros.
    let q = Random::new(1).tensor(2, 4);
    let heads = cases::heads(2, 2, &[0, 2], &[0, 0]);
    let nothing = empty(&mut tape);
    let none = tape.attention(&heads, q.into(), nothing.clone(), nothing);
    assert_eq!(none.value.data(), [0.0; 8]);
}

#[test]
#[should_panic(expected = "pick")]
fn a_column_outside_the_row_is_refused() {
    let mut tape = Tape::new(Context::new(1), Mode::Off);
    tape.apply(Op::Pick(Arc::from([2, 0])), [Tensor::new(2, 2, vec![0.0; 4]).into()]);
}

#[test]
#[should_panic(expected = "attention")]
fn heads_of_another_shape_are_refused() {
    let mut tape = Tape::new(Context::new(1), Mode::Off);
    let x: Var<f64> = Tensor::new(4, 4, vec![0.0; 16]).into();
    tape.attention(&cases::heads(1, 3, &[4], &[4]), x.clone(), x.clone(), x);
}
