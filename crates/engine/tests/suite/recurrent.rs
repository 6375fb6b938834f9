//! Recurrent layers: PyTorch's numbers, the composed form against the fused one, rules worked by hand, looks inside.

use crate::cases::{OF, Random, dot, moved};
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

/// A layer of width one over a text, F = 2·h of the last token + ¼, worked by hand.
struct Toy {
    cell: RecurrentCell,
    epsilon: f64,
    /// Halves the relevance between gates and signals, as a product does.
    halved: bool,
}

impl Toy {
    fn new(cell: RecurrentCell) -> Self {
        Self { cell, epsilon: 0.001, halved: false }
    }

    /// The texts' F, the values at x, and what the table gives at x and books.
    fn run(&self, lowered: Mode, x: &[f64], table: &dyn RuleTable<f64>) -> (Vec<f64>, Vec<f64>, f64) {
        let gates = self.cell.gates();
        let row = |numbers: [f64; 4]| Tensor::new(1, gates, numbers[..gates].to_vec());
        let column = |numbers: [f64; 4]| Tensor::new(gates, 1, numbers[..gates].to_vec());
        let weights = RecurrentWeights {
            reverse: false,
            input: column([0.5, -0.3, 0.8, 0.2]).into(),
            hidden: column([0.1, 0.4, -0.5, 0.3]).into(),
            input_bias: row([0.1, 0.2, -0.1, 0.05]).into(),
            hidden_bias: row([0.0, 0.1, 0.05, -0.05]).into(),
            start: None,
        };
        let texts = x.len() / 3;
        let mut tape = Tape::new(Context::new(1), lowered);
        let x = tape.watch(Tensor::new(x.len(), 1, x.to_vec()).into());
        let h = tape.recurrent(self.cell, &Segments::new(vec![3; texts]), x.clone(), &[weights]);
        let last = tape.apply(Op::Gather((0..texts).map(|i| 3 * i + 2).collect()), [h]);
        let head = [Tensor::new(1, 1, vec![2.0]), Tensor::new(1, 1, vec![0.25])].map(Var::from);
        let [w, b] = head;
        let f = tape.apply(Op::Linear, [last, w, b]);
        let seed = (0..texts).map(|i| if i == 0 { 1.0 } else { 0.0 }).collect();
        let seeds = || vec![(f.node.unwrap(), Tensor::new(texts, 1, Vec::clone(&seed)))];
        let pull = tape.backward(seeds(), &[x.node.unwrap()], table).unwrap().remove(0).unwrap();
        let booked = tape.booked(seeds(), &[x.node.unwrap()], table).unwrap().total();
        (f.value.data().to_vec(), pull.data().to_vec(), booked)
    }

    /// Relevance of the three tokens, what is booked, and F.
    fn relevance(&self) -> ([f64; 3], f64, f64) {
        let table = ToyLrp(self.epsilon, self.halved);
        let (f, m, booked) = self.run(Mode::Lowered, &TEXT, &table);
        ([m[0] * TEXT[0], m[1] * TEXT[1], m[2] * TEXT[2]], booked, f[0])
    }
}

struct ToyLrp(f64, bool);

impl RuleTable<f64> for ToyLrp {
    fn name(&self) -> &'static str {
        "toy lrp"
    }

    fn pull(&self, node: &Node<f64>, m: Tensor<f64>, sink: &mut Sink<'_, f64>) -> Option<()> {
        if self.1 && node.op.kind() == OpKind::Gate {
            return Gradient.pull(node, m.map(|m| 0.5 * m), sink);
        }
        Lrp(Shares::Epsilon(self.0)).pull(node, m, sink)
    }
}

const TEXT: [f64; 3] = [1.0, -2.0, 0.5];

/// F of the text and of zeros; gradient, DeepLIFT and relevance of the tokens, and what is booked.
const BY_HAND: [(RecurrentCell, [f64; 2], [f64; 3], [f64; 3], [f64; 3], f64); 2] = [
    (
        RecurrentCell::Lstm,
        [0.4644834, 0.2072292],
        [0.1243667, -0.0432681, 0.4800770],
        [0.1160418, -0.0895440, 0.2307564],
        [0.1241906, -0.1043610, 0.2317923],
        0.2128614,
    ),
    (
        RecurrentCell::Gru,
        [0.5301668, 0.1445403],
        [0.1844200, -0.0368214, 0.7224914],
        [0.1930708, -0.1699461, 0.3625018],
        [0.1856399, -0.1751688, 0.3539669],
        0.1657288,
    ),
];

#[test]
fn gradient_deep_lift_and_relevance_of_a_toy_cell() {
    let near = |name: &str, found: &[f64], truth: &[f64]| close(name, found, truth, Of::Size(1.0), 1e-6);
    for (cell, values, gradient, lifted, relevance, booked) in BY_HAND {
        let (toy, both) = (Toy::new(cell), [TEXT, [0.0; 3]].concat());
        for mode in [Mode::Gradient, Mode::Lowered] {
            let (f, slopes, _) = toy.run(mode, &both, &Gradient);
            near("F", &f, &values);
            near("gradient", &slopes[..3], &gradient);
        }
        let (_, m, _) = toy.run(Mode::Lowered, &both, &DeepLift { reveal_cancel: false });
        let shares: Vec<f64> = (0..3).map(|i| m[i] * TEXT[i]).collect();
        near("DeepLIFT", &shares, &lifted);
        close("sum", &[shares.iter().sum::<f64>()], &[values[0] - values[1]], Of::Size(1.0), 2e-7);
        let (found, aside, f) = toy.relevance();
        near("relevance", &found, &relevance);
        near("booked", &[aside], &[booked]);
        close("together", &[found.iter().sum::<f64>() + aside], &[f], Of::Size(1.0), 1e-12);
    }
    let (found, aside, _) = Toy { epsilon: 0.0, ..Toy::new(RecurrentCell::Lstm) }.relevance();
    near("without a stabiliser", &found, &[0.1310915, -0.1098119, 0.2340898]);
    near("booked", &[aside], &[0.2091139]);
}

#[test]
fn a_gate_that_takes_its_half_is_noticed() {
    for (cell, _, _, _, relevance, _) in BY_HAND {
        let (found, _, _) = Toy { halved: true, ..Toy::new(cell) }.relevance();
        assert!(check("halved", &found[..], &relevance[..], Of::Size(1.0), 1e-3).is_err());
    }
}

/// Forward and backward states of a width of one, from PyTorch's equations by hand.
#[test]
fn states_worked_by_hand() {
    let column = |numbers: &[f64]| Var::from(Tensor::new(numbers.len(), 1, numbers.to_vec()));
    let row = |numbers: &[f64]| Var::from(Tensor::new(1, numbers.len(), numbers.to_vec()));
    let mut tape = Tape::new(Context::new(1), Mode::Off);
    let lstm = |reverse| RecurrentWeights {
        reverse,
        input: column(&[0.5, -0.3, 0.8, 0.1]),
        hidden: column(&[0.2, 0.4, -0.6, 0.7]),
        input_bias: row(&[0.1, 1.0, -0.2, 0.3]),
        hidden_bias: row(&[0.0; 4]),
        start: None,
    };
    let (text, both) = (column(&TEXT), [lstm(false), lstm(true)]);
    let look = CellLook { part: CellPart::Cell, patch: Patch::default(), watch: false };
    let segments = Segments::new([3]);
    let (h, sites) = tape.recurrent_inside(RecurrentCell::Lstm, &segments, text.clone(), &both, vec![look]);
    let fused = tape.recurrent(RecurrentCell::Lstm, &segments, text.clone(), &both);
    let expected = [0.199656, 0.142998, 0.004176, -0.095965, 0.069935, 0.067619];
    close("composed", h.value.data(), &expected[..], Of::Size(1.0), 1e-6);
    close("fused", fused.value.data(), &expected[..], Of::Size(1.0), 1e-6);
    let cells: Vec<f64> = sites[0].var.value.data().iter().copied().step_by(2).collect();
    close("cells", &cells, &[0.346749, 0.007463, 0.119641][..], Of::Size(1.0), 1e-6);
    let gru = RecurrentWeights {
        reverse: false,
        input: column(&[0.5, -0.3, 0.8]),
        hidden: column(&[0.2, 0.4, -0.6]),
        input_bias: row(&[0.1, 0.2, -0.2]),
        hidden_bias: row(&[0.0, 0.0, 0.5]),
        start: None,
    };
    let h = tape.recurrent(RecurrentCell::Gru, &segments, text, &[gru]).value;
    close("gru", h.data(), &[0.381782, 0.014561, 0.227687][..], Of::Size(1.0), 1e-6);
    // With the bias outside of what the reset gate multiplies the first state would be another.
    assert!((h.data()[0] - 0.420245).abs() > 0.03);
}

/// A state handed from one run to the next is the state of one run over both; a GRU's as well as an LSTM's.
#[test]
fn a_run_goes_on_from_a_start() {
    for cell in CELLS {
        let weights: Vec<Var<f64>> = both_directions(cell)[..4].iter().cloned().map(Var::from).collect();
        let direction = directions(&weights).remove(0);
        for mode in [Mode::Off, Mode::Lowered] {
            let mut tape = Tape::new(Context::new(1), mode);
            let x: Var<f64> = fill(4, 2, 3).into();
            let one = Segments::new([4]);
            let whole = tape.recurrent(cell, &one, x.clone(), std::slice::from_ref(&direction)).value;
            let looks = |part| vec![CellLook { part, patch: Patch::default(), watch: false }];
            let part = if cell == RecurrentCell::Lstm { CellPart::Cell } else { CellPart::Hidden };
            let directions = std::slice::from_ref(&direction);
            let (h, sites) = tape.recurrent_inside(cell, &one, x.clone(), directions, looks(part));
            let [h, c] = [h, sites[0].var.clone()].map(|s| tape.apply(Op::Gather([1].into()), [s]));
            let state = if cell == RecurrentCell::Lstm { tape.apply(Op::JoinColumns, [h, c]) } else { h };
            let rest = tape.apply(Op::Gather([2, 3].into()), [x]);
            let from = RecurrentWeights { start: Some(state), ..direction.clone() };
            let rest = tape.recurrent(cell, &Segments::new([2]), rest, &[from]).value;
            close("the rest", rest.data(), &whole.data()[4..], Of::Size(1.0), 1e-14);
        }
    }
}

/// The sum of weighted outputs where one part is patched, the cotangent at it, and its own value.
fn looked(
    cell: RecurrentCell,
    part: CellPart,
    shift: Option<(usize, f64)>,
) -> (f64, Tensor<f64>, Tensor<f64>) {
    let segments = Segments::new([3, 1, 2]);
    let mut tape = Tape::new(Context::new(1), Mode::Gradient);
    let vars: Vec<_> = both_directions(cell).into_iter().map(Var::from).collect();
    let mut patch = Patch::default();
    if let Some((element, by)) = shift {
        patch.push(element, 1, 1.0, &[by]);
    }
    let looks = vec![CellLook { part, patch, watch: true }];
    let (out, sites) =
        tape.recurrent_inside(cell, &segments, fill(6, 2, 0).into(), &directions(&vars), looks);
    let seed = fill(6, 4, 5);
    let f = dot(&seed, &out.value);
    let wrt = [sites[0].slope.unwrap()];
    let pull = tape.backward(vec![(out.node.unwrap(), seed)], &wrt, &Gradient).unwrap().remove(0).unwrap();
    (f, pull, sites[0].var.value.clone())
}

/// The cotangent at every element of every part of both directions is how an edit there changes the output, later steps
/// included.
#[test]
fn parts_can_be_edited_and_asked_for() {
    for cell in CELLS {
        for &part in cell.parts() {
            let (_, pull, value) = looked(cell, part, None);
            assert_eq!((value.rows(), value.cols()), (6, 4));
            let f = |element: usize, by: f64| looked(cell, part, Some((element, by))).0;
            let slopes: Vec<f64> = (0..24).map(|i| (f(i, 1e-5) - f(i, -1e-5)) / 2e-5).collect();
            close(&format!("{cell:?}, {part:?}"), pull.data(), &slopes[..], Of::Size(1.0), 1e-8);
            // An edit at the middle token of the first sequence: its own direction's later steps move, nothing else does.
            for (element, later) in [(5, 8..10), (7, 2..4)] {
                let edited = looked(cell, part, Some((element, 0.5))).2;
                let moved: Vec<usize> = (0..24).filter(|&i| edited.data()[i] != value.data()[i]).collect();
                assert!(moved.contains(&element), "{cell:?}, {part:?}: {moved:?}");
                assert!(moved.iter().any(|i| later.contains(i)), "{cell:?}, {part:?}: {moved:?}");
                assert!(
                    moved.iter().all(|i| *i == element || later.contains(i)),
                    "{cell:?}, {part:?}: {moved:?}"
                );
            }
        }
    }
}

/// A seed at a part goes back to the input, and the hidden part is the output.
#[test]
fn parts_can_be_seeded() {
    let (cell, segments) = (RecurrentCell::Lstm, Segments::new([3, 1, 2]));
    let vars: Vec<Var<f64>> = both_directions(cell).into_iter().map(Var::from).collect();
    let gates = |x: Tensor<f64>, mode: Mode| {
        let mut tape = Tape::new(Context::new(1), mode);
        let x = tape.watch(x.into());
        let look = |part| CellLook { part, patch: Patch::default(), watch: mode != Mode::Off };
        let looks = vec![look(CellPart::Forget), look(CellPart::Hidden)];
        let (out, sites) = tape.recurrent_inside(cell, &segments, x.clone(), &directions(&vars), looks);
        close("hidden", &sites[1].var.value, &out.value, Of::Size(1.0), 1e-15);
        let pull = sites[0].var.node.map(|node| {
            tape.backward(vec![(node, fill(6, 4, 5))], &[x.node.unwrap()], &Gradient)
                .unwrap()
                .remove(0)
                .unwrap()
        });
        (dot(&fill(6, 4, 5), &sites[0].var.value), pull)
    };
    let x = fill::<f64>(6, 2, 0);
    let pull = gates(x.clone(), Mode::Gradient).1.unwrap();
    let at = |i: usize, by: f64| gates(crate::cases::nudged(&x, i, by), Mode::Off).0;
    let slopes: Vec<f64> = (0..12).map(|i| (at(i, 1e-5) - at(i, -1e-5)) / 2e-5).collect();
    close("seeded", pull.data(), &slopes[..], Of::Size(1.0), 1e-8);
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
