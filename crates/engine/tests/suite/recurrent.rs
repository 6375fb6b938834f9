//! Recurrent layers: PyTorch's numbers, and the composed form against the fused one.

mod by_hand;
mod looks;

use crate::cases::{OF, Random, moved, nudged};
use exegete_engine::*;
use exegete_testkit::{Comparison, Of, check, close};

const CELLS: [RecurrentCell; 3] = [RecurrentCell::Lstm, RecurrentCell::Gru, RecurrentCell::Tanh];

/// Numbers that a line of Python makes as well: ((7i + 13k) mod 23 − 11)/16.
fn fill<T: Scalar>(rows: usize, cols: usize, k: usize) -> Tensor<T> {
    let number = |i: usize| T::from_f64((((i * 7 + k * 13) % 23) as f64 - 11.0) / 16.0);
    Tensor::new(rows, cols, (0..rows * cols).map(number).collect())
}

/// The tensors of both directions, in PyTorch's order, for two inputs and two hidden numbers.
fn both_directions(cell: RecurrentCell) -> Vec<Tensor<f64>> {
    let gates = 2 * cell.gates();
    let shapes = [(gates, 2), (gates, 2), (1, gates), (1, gates)];
    (0..8).map(|i| fill(shapes[i % 4].0, shapes[i % 4].1, i + 1)).collect()
}

/// Directions of these tensors, four each, the second one reversed.
fn directions<T: Scalar>(tensors: &[Var<T>]) -> Vec<RecurrentWeights<T>> {
    let direction = |(i, w): (usize, &[Var<T>])| RecurrentWeights {
        reverse: i == 1,
        input: w[0].clone(),
        hidden: w[1].clone(),
        input_bias: w[2].clone(),
        hidden_bias: w[3].clone(),
        start: None,
    };
    tensors.chunks(4).enumerate().map(direction).collect()
}

/// The output and the gradients of x and all weights, for a seed.
fn run<T: Scalar>(
    (threads, mode): (usize, Mode),
    cell: RecurrentCell,
    segments: &Segments,
    inputs: &[Tensor<T>],
    seed: &Tensor<T>,
) -> Vec<Tensor<T>> {
    let ctx = Context::new(threads);
    let mut tape = Tape::new(ctx.clone(), mode);
    ctx.install(|| {
        let vars: Vec<_> = inputs.iter().map(|x| tape.watch(x.clone().into())).collect();
        let out = tape.recurrent(cell, segments, vars[0].clone(), &directions(&vars[1..]));
        let wrt: Vec<_> = vars.iter().map(|x| x.node.unwrap()).collect();
        let pulls = tape.backward(vec![(out.node.unwrap(), seed.clone())], &wrt, &Gradient).unwrap();
        std::iter::once(out.value).chain(pulls.into_iter().map(Option::unwrap)).collect()
    })
}

struct Golden {
    y: [f64; 24],
    x: [f64; 12],
    /// The first four elements of `weight_hh_l0_reverse`'s gradient.
    weight: [f64; 4],
    /// The first two of `bias_hh_l0`'s.
    bias: [f64; 2],
}

/// From torch 2, `nn.LSTM/GRU/RNN(2, 2, bidirectional=True)` over packed sequences of 3, 1 and 2, in double precision.
fn golden(cell: RecurrentCell) -> Golden {
    match cell {
        RecurrentCell::Lstm => Golden {
            y: [
                0.1521035, -0.0511958, 0.0907, -0.3222208, 0.1374488, 0.0510669, 0.0299092, -0.2137116,
                0.2062897, 0.0183247, 0.0223516, -0.1754059, 0.0557, -0.0343269, -0.1065709, -0.0226314,
                0.1080177, 0.0550787, 0.0586406, -0.2306515, 0.2050919, -0.0247365, 0.0371201, -0.1890897,
            ],
            x: [
                0.0046258, -0.1105681, 0.1601973, -0.0046833, -0.0815095, 0.0513409, 0.0741596, 0.0532028,
                -0.0480991, -0.1170211, 0.0246986, -0.0890435,
            ],
            weight: [-0.0001679, 0.000856, -0.0016531, 0.0117149],
            bias: [0.043884, -0.0188365],
        },
        RecurrentCell::Gru => Golden {
            y: [
                0.3793337, -0.2454432, -0.032096, -0.4349191, 0.3285551, -0.0681357, -0.1050682, -0.2964768,
                0.5113466, -0.1656431, -0.0409893, -0.2056434, 0.1184201, -0.2627084, -0.2250936, 0.0817468,
                0.2496101, 0.0049038, -0.0508292, -0.3439358, 0.5141245, -0.2197716, -0.0143517, -0.2418148,
            ],
            x: [
                0.0202676, -0.2532955, 0.3254952, 0.0401163, 0.0208066, 0.053047, 0.1156938, 0.1600503,
                -0.1918306, -0.3123186, 0.0276402, -0.1344361,
            ],
            weight: [2.89e-05, 0.0024166, 0.0033789, 0.0136671],
            bias: [0.0094257, -0.0720019],
        },
        RecurrentCell::Tanh => Golden {
            y: [
                -0.2227639, -0.2559024, 0.442315, -0.205066, 0.4639836, -0.5139837, 0.4947934, 0.0182543,
                -0.2084846, 0.096495, 0.486336, 0.2301757, -0.2153263, -0.6534236, 0.8482836, -0.0312398,
                0.2003767, -0.4893127, 0.4768449, -0.0410494, -0.2479244, 0.0916414, 0.486336, 0.1549907,
            ],
            x: [
                0.1732664, 0.4808261, 0.0043261, 0.0252461, 0.0045356, -0.4360883, -0.1807448, 0.0320374,
                0.0409294, 0.1018543, 0.1959946, 0.4897806,
            ],
            weight: [-0.1153921, -0.029236, 0.5517238, 0.1694828],
            bias: [0.4061615, -0.8942699],
        },
    }
}

/// What a layer over these sequences and weights differs by from PyTorch.
fn from_torch(cell: RecurrentCell, mode: Mode, lengths: [usize; 3], weights: Vec<Tensor<f64>>) -> Comparison {
    let inputs = [vec![fill(6, 2, 0)], weights].concat();
    let found = run((1, mode), cell, &Segments::new(lengths), &inputs, &fill(6, 4, 5));
    let (golden, mut comparison) = (golden(cell), Comparison::default());
    let name = |what: &str| format!("{cell:?}, {mode:?}: {what}");
    comparison.compare(&name("hidden"), found[0].data(), &golden.y[..], Of::Size(1.0));
    comparison.compare(&name("input"), found[1].data(), &golden.x[..], Of::Size(1.0));
    comparison.compare(&name("weight"), &found[7].data()[..4], &golden.weight[..], Of::Size(1.0));
    comparison.compare(&name("bias"), &found[5].data()[..2], &golden.bias[..], Of::Size(1.0));
    comparison
}

#[test]
fn layers_are_pytorchs_layers() {
    for (cell, mode) in CELLS.into_iter().flat_map(|cell| [(cell, Mode::Gradient), (cell, Mode::Lowered)]) {
        from_torch(cell, mode, [3, 1, 2], both_directions(cell)).assert_within(1e-7);
    }
}

/// Two gates in another order, states that run on into the next sequence, directions taken for each other.
#[test]
fn a_swapped_gate_a_leak_and_a_wrong_direction_are_noticed() {
    for cell in [RecurrentCell::Lstm, RecurrentCell::Gru] {
        let swapped = both_directions(cell).into_iter().map(|w| {
            let mut data = w.data().to_vec();
            let gate = data.len() / cell.gates();
            (0..gate).for_each(|i| data.swap(i, gate + i));
            Tensor::new(w.rows(), w.cols(), data)
        });
        from_torch(cell, Mode::Gradient, [3, 1, 2], swapped.collect()).assert_beyond(1e-3);
    }
    for cell in CELLS {
        from_torch(cell, Mode::Gradient, [4, 0, 2], both_directions(cell)).assert_beyond(1e-3);
        let mut turned = both_directions(cell);
        turned.rotate_left(4);
        from_torch(cell, Mode::Gradient, [3, 1, 2], turned).assert_beyond(1e-3);
    }
}

/// A weight that is NaN reaches outputs or gradients of every kind, wherever it stands.
#[test]
fn a_planted_nan_is_noticed() {
    for cell in CELLS {
        for tensor in 0..8 {
            let mut weights = both_directions(cell);
            weights[tensor] = nudged(&weights[tensor], 1, f64::NAN);
            for mode in [Mode::Gradient, Mode::Lowered] {
                let found = from_torch(cell, mode, [3, 1, 2], weights.clone()).check(f64::MAX);
                assert!(found.is_err(), "{cell:?}, {mode:?}: tensor {tensor}");
            }
        }
    }
}

/// A reversed direction is the other one over reversed rows; one row off it is not.
#[test]
fn a_reversed_direction_reads_from_the_last_row() {
    for cell in CELLS {
        let weights: Vec<Var<f64>> = both_directions(cell)[..4].iter().cloned().map(Var::from).collect();
        let hidden = |reverse: bool, rows: &[usize]| {
            let mut tape = Tape::new(Context::new(1), Mode::Off);
            let x = tape.apply(Op::Gather(rows.into()), [fill(6, 2, 3).into()]);
            let direction = RecurrentWeights { reverse, ..directions(&weights).remove(0) };
            let out = tape.recurrent(cell, &Segments::new([4, 2]), x, &[direction]);
            tape.apply(Op::Gather(rows.into()), [out]).value
        };
        let (there, back) = ([0, 1, 2, 3, 4, 5], [3, 2, 1, 0, 5, 4]);
        let expected = hidden(false, &back);
        close("reversed", &hidden(true, &there), &expected, Of::Size(1.0), 1e-15);
        let off_by_one = hidden(false, &[2, 1, 0, 3, 4, 5]);
        assert!(check("off by one", &hidden(true, &there), &off_by_one, Of::Size(1.0), 1e-3).is_err());
    }
}

fn random_layer<T: Scalar>(cell: RecurrentCell, rows: usize, width: usize) -> Vec<Tensor<T>> {
    let (r, gates) = (&mut Random::new(width as u64), width * cell.gates());
    let mut inputs = vec![r.tensor(rows, 5)];
    // Larger weights of the state would make a chaos of it, in which every rounding grows from step to step.
    let small = T::from_f64(1.0 / (width as f64).sqrt());
    for _ in 0..2 {
        let state = r.tensor::<T>(gates, width).map(|w| w * small);
        inputs.extend([r.tensor(gates, 5), state, r.tensor(1, gates), r.tensor(1, gates)]);
    }
    inputs
}

fn fused_and_lowered<T: Scalar>(
    comparison: &mut Comparison,
    cell: RecurrentCell,
    width: usize,
    threads: usize,
) {
    let segments = Segments::new([7, 1, 0, 12, 7, 3, 9]);
    let inputs = random_layer::<T>(cell, segments.total(), width);
    let seed = Random::new(8).tensor(segments.total(), 2 * width);
    let truth = run((1, Mode::Lowered), cell, &segments, &inputs, &seed);
    let found = run((threads, Mode::Gradient), cell, &segments, &inputs, &seed);
    for (i, (found, truth)) in found.iter().zip(&truth).enumerate() {
        comparison.compare(&format!("{cell:?} of {width}, {i}"), found, truth, OF);
    }
}

#[test]
fn fused_is_composed_for_every_kind_of_number_and_on_threads() {
    let [mut double, mut single, mut dual] = [(); 3].map(|()| Comparison::default());
    for cell in CELLS {
        for (width, threads) in [(1, 1), (3, 1), (16, 1), (37, 1), (128, 2), (128, 3)] {
            fused_and_lowered::<f64>(&mut double, cell, width, threads);
            fused_and_lowered::<f32>(&mut single, cell, width.min(37), threads);
        }
        fused_and_lowered::<Dual<f64>>(&mut dual, cell, 5, 1);
    }
    double.assert_within(1e-13);
    single.assert_within(1e-5);
    dual.assert_within(1e-13);
}

/// Tangents of gradients along a direction, by duals and by differences, through both forms.
#[test]
fn second_order_passes_through_a_layer() {
    let segments = Segments::new([2, 3]);
    for (cell, mode) in CELLS.into_iter().flat_map(|cell| [(cell, Mode::Gradient), (cell, Mode::Lowered)]) {
        let inputs = random_layer::<f64>(cell, 5, 3);
        let along: Vec<Tensor<f64>> =
            inputs.iter().map(|x| Random::new(2).tensor(x.rows(), x.cols())).collect();
        let pairs = inputs.iter().zip(&along);
        let dual = |(x, v): (&Tensor<f64>, &Tensor<f64>)| {
            let both = x.data().iter().zip(v.data()).map(|(&v, &t)| Dual { v, t });
            Tensor::new(x.rows(), x.cols(), both.collect())
        };
        let duals: Vec<Tensor<Dual<f64>>> = pairs.clone().map(dual).collect();
        let found = run((1, mode), cell, &segments, &duals, &fill(5, 6, 1));
        let at = |step: f64| {
            let inputs: Vec<_> = pairs.clone().map(|(x, v)| moved(x, v, step)).collect();
            run((1, mode), cell, &segments, &inputs, &fill(5, 6, 1))
        };
        let (high, low) = (at(1e-5), at(-1e-5));
        for (i, found) in found.iter().enumerate() {
            let truth = moved(&high[i], &low[i], -1.0).map(|d| d / 2e-5);
            close(&format!("{cell:?}, {mode:?}, {i}"), &found.map(|x| x.t), &truth, OF, 1e-7);
        }
    }
}

#[test]
fn nothing_to_read_gives_nothing() {
    for cell in CELLS {
        let weights: Vec<Var<f64>> = both_directions(cell).into_iter().map(Var::from).collect();
        for mode in [Mode::Off, Mode::Lowered] {
            let mut tape = Tape::new(Context::new(1), mode);
            let x = Tensor::new(0, 2, Vec::new()).into();
            let out = tape.recurrent(cell, &Segments::new([0, 0]), x, &directions(&weights)).value;
            assert_eq!((out.rows(), out.cols()), (0, 4));
        }
    }
}
