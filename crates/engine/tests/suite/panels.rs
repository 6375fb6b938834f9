//! Products with a weight: right, and to the bit the same whatever else is in the batch and whether panels are kept.

use exegete_engine::{Context, Gradient, Mode, Op, PanelBudget, Scalar, Tape, Tensor, Var};
use exegete_testkit::Of;

fn numbers<T: Scalar>(rows: usize, cols: usize, seed: usize) -> Tensor<T> {
    let number = |i: usize| ((i * 7919 + seed * 104_729) % 2003) as f64 / 1001.0 - 1.0;
    Tensor::new(rows, cols, (0..rows * cols).map(|i| T::from_f64(number(i))).collect())
}

/// x·wᵀ + b and the pull of the cotangent to x, for the first rows of the same x and the same cotangent.
fn linear<T: Scalar>(threads: usize, rows: usize, w: &Tensor<T>, bias: bool) -> (Vec<T>, Vec<T>) {
    let mut tape = Tape::new(Context::new(threads), Mode::Gradient);
    let x = tape.watch(numbers(rows, w.cols(), 1).into());
    let mut inputs: Vec<Var<T>> = vec![x.clone(), w.clone().into()];
    inputs.extend(bias.then(|| numbers(1, w.rows(), 2).into()));
    let y = tape.apply(Op::Linear, inputs);
    let seeds = vec![(y.node.unwrap(), numbers(rows, w.rows(), 3))];
    let pulled = tape.backward(seeds, &[x.node.unwrap()], &Gradient).unwrap().swap_remove(0).unwrap();
    (y.value.data().to_vec(), pulled.data().to_vec())
}

#[track_caller]
fn close(found: &[f32], exact: &[f64], what: &str) {
    exegete_testkit::close(what, found, exact, Of::Largest(0.0), 1e-5);
}

/// Outputs and inputs: whole panels and sweeps, and both with edges.
const SHAPES: [(usize, usize); 4] = [(64, 128), (100, 203), (144, 384), (256, 600)];

#[test]
fn products_are_right_for_any_number_of_rows() {
    for (outputs, inputs) in SHAPES {
        for bias in [false, true] {
            for rows in (1..=14).chain([50, 289, 300]) {
                let (exact, exact_pull) = linear::<f64>(1, rows, &numbers(outputs, inputs, 4), bias);
                let (found, pull) = linear::<f32>(1, rows, &numbers(outputs, inputs, 4), bias);
                let what = format!("{rows} rows, {outputs} × {inputs}, bias {bias}");
                close(&found, &exact, &what);
                close(&pull, &exact_pull, &what);
            }
        }
    }
}

/// One wrong weight of tens of thousands.
fn planted(by: f32) {
    let exact = numbers::<f64>(144, 384, 4);
    let mut data: Vec<f32> = exact.data().iter().map(|&x| x as f32).collect();
    data[143 * 384 + 200] += by;
    let found = linear(1, 7, &Tensor::new(144, 384, data), false);
    close(&found.0, &linear(1, 7, &exact, false).0, "planted");
}

#[test]
#[should_panic(expected = "planted: element 143: ")]
fn a_wrong_weight_is_seen() {
    planted(0.01);
}

#[test]
#[should_panic(expected = "planted: element 143: NaN")]
fn a_weight_that_is_no_number_is_seen() {
    planted(f32::NAN);
}

/// The general product's sums depend on the number of rows.
const BY_PANELS: bool = !cfg!(feature = "general-products");

#[test]
fn kept_panels_threads_and_neighbours_change_no_bit() {
    if !BY_PANELS {
        return println!("there are no products by panels");
    }
    for (outputs, inputs) in SHAPES {
        let fresh = numbers::<f32>(outputs, inputs, 4);
        let kept = numbers::<f32>(outputs, inputs, 4).keeping_panels(&PanelBudget::new(1 << 30));
        let (all, all_pull) = linear(1, 200, &fresh, true);
        for threads in [1, 2] {
            // The second run finds panels that the first has made.
            for _ in 0..2 {
                assert!((all.clone(), all_pull.clone()) == linear(threads, 200, &kept, true), "kept");
            }
            for rows in [1, 2, 5, 7, 33, 300] {
                let (some, some_pull) = linear(threads, rows, &kept, true);
                let (len, pull_len) = (all.len().min(some.len()), all_pull.len().min(some_pull.len()));
                assert!(some[..len] == all[..len], "{rows} rows of {outputs} × {inputs}");
                assert!(some_pull[..pull_len] == all_pull[..pull_len], "{rows} rows of {outputs} × {inputs}");
            }
        }
    }
}
