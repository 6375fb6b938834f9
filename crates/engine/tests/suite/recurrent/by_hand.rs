//! Cells of width one, worked by hand under every rule.

use exegete_engine::*;
use exegete_testkit::{Of, check, close};

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
            input: column(INPUT).into(),
            hidden: column(HIDDEN).into(),
            input_bias: row(INPUT_BIAS).into(),
            hidden_bias: row(HIDDEN_BIAS).into(),
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

/// What a toy cell gives.
struct ByHand {
    cell: RecurrentCell,
    /// F of the text and of zeros.
    values: [f64; 2],
    gradient: [f64; 3],
    lifted: [f64; 3],
    relevance: [f64; 3],
    booked: f64,
}

const BY_HAND: [ByHand; 2] = [
    ByHand {
        cell: RecurrentCell::Lstm,
        values: [0.4644834, 0.2072292],
        gradient: [0.1243667, -0.0432681, 0.4800770],
        lifted: [0.1160418, -0.0895440, 0.2307564],
        relevance: [0.1241906, -0.1043610, 0.2317923],
        booked: 0.2128614,
    },
    ByHand {
        cell: RecurrentCell::Gru,
        values: [0.5301668, 0.1445403],
        gradient: [0.1844200, -0.0368214, 0.7224914],
        lifted: [0.1930708, -0.1699461, 0.3625018],
        relevance: [0.1856399, -0.1751688, 0.3539669],
        booked: 0.1657288,
    },
];

#[test]
fn gradient_deep_lift_and_relevance_of_a_toy_cell() {
    let near = |name: &str, found: &[f64], truth: &[f64]| close(name, found, truth, Of::Size(1.0), 1e-6);
    for ByHand { cell, values, gradient, lifted, relevance, booked } in BY_HAND {
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
    for ByHand { cell, relevance, .. } in BY_HAND {
        let (found, _, _) = Toy { halved: true, ..Toy::new(cell) }.relevance();
        assert!(check("halved", &found[..], &relevance[..], Of::Size(1.0), 1e-3).is_err());
    }
}

const INPUT: [f64; 4] = [0.5, -0.3, 0.8, 0.2];
const HIDDEN: [f64; 4] = [0.1, 0.4, -0.5, 0.3];
const INPUT_BIAS: [f64; 4] = [0.1, 0.2, -0.1, 0.05];
const HIDDEN_BIAS: [f64; 4] = [0.0, 0.1, 0.05, -0.05];

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// What each part of a sum gets of its relevance.
fn shared<const N: usize>(parts: [f64; N], sum: f64, epsilon: f64, relevance: f64) -> [f64; N] {
    parts.map(|part| part / (sum + epsilon.copysign(sum)) * relevance)
}

/// Relevance of an LSTM in numbers, without any tape. The fault takes the sum before the candidate for two layers, over the
/// word and over the state, each with a stabiliser of its own after that of their sum.
fn lstm_relevance(epsilon: f64, second_stabiliser: bool) -> [f64; 3] {
    let (mut h, mut c, mut steps) = (0.0, 0.0, Vec::new());
    for x in TEXT {
        let part = |k: usize, h: f64| [INPUT[k] * x + INPUT_BIAS[k], HIDDEN[k] * h + HIDDEN_BIAS[k]];
        let [i, f, g, o] = [0, 1, 2, 3].map(|k| part(k, h).iter().sum::<f64>());
        let (i, f, o) = (sigmoid(i), sigmoid(f), sigmoid(o));
        let (kept, new) = (f * c, i * g.tanh());
        steps.push((x, h, part(2, h), g, kept, new));
        c = kept + new;
        h = o * c.tanh();
    }
    let value = 2.0 * h + 0.25;
    let ([mut to_h], mut to_c, mut found) = (shared([2.0 * h], value, epsilon, value), 0.0, [0.0; 3]);
    for (t, (x, before, parts, g, kept, new)) in steps.into_iter().enumerate().rev() {
        let [to_kept, to_new] = shared([kept, new], kept + new, epsilon, to_c + to_h);
        let own = [INPUT[2] * x, HIDDEN[2] * before];
        [found[t], to_h] = match second_stabiliser {
            false => shared(own, g, epsilon, to_new),
            true => {
                let [word, state] = shared(parts, g, epsilon, to_new);
                [shared([own[0]], parts[0], epsilon, word)[0], shared([own[1]], parts[1], epsilon, state)[0]]
            }
        };
        to_c = to_kept;
    }
    found
}

/// Relevance of a GRU in numbers. The fault adds the state's bias of the candidate outside of r ⊙ (…).
fn gru_relevance(epsilon: f64, bias_outside: bool) -> [f64; 3] {
    let (mut h, mut steps) = (0.0, Vec::new());
    for x in TEXT {
        let gate = |k: usize| sigmoid(INPUT[k] * x + INPUT_BIAS[k] + HIDDEN[k] * h + HIDDEN_BIAS[k]);
        let (r, z) = (gate(0), gate(1));
        let (inside, outside) = if bias_outside { (0.0, HIDDEN_BIAS[2]) } else { (HIDDEN_BIAS[2], 0.0) };
        let u = HIDDEN[2] * h + inside;
        let sum = INPUT[2] * x + INPUT_BIAS[2] + r * u + outside;
        let (kept, new) = (z * h, (1.0 - z) * sum.tanh());
        steps.push((x, h, r, u, sum, kept, new));
        h = kept + new;
    }
    let value = 2.0 * h + 0.25;
    let ([mut to_h], mut found) = (shared([2.0 * h], value, epsilon, value), [0.0; 3]);
    for (t, (x, before, r, u, sum, kept, new)) in steps.into_iter().enumerate().rev() {
        let [to_kept, to_new] = shared([kept, new], kept + new, epsilon, to_h);
        let [word, to_u] = shared([INPUT[2] * x, r * u], sum, epsilon, to_new);
        let [through] = shared([HIDDEN[2] * before], u, epsilon, to_u);
        (found[t], to_h) = (word, to_kept + through);
    }
    found
}

/// The engine's relevance is the one in numbers, and either fault is noticed.
#[test]
fn a_second_stabiliser_and_a_bias_outside_are_noticed() {
    for ByHand { cell, relevance, .. } in BY_HAND {
        let numbers = |fault: bool| match cell {
            RecurrentCell::Gru => gru_relevance(0.001, fault),
            _ => lstm_relevance(0.001, fault),
        };
        let (found, _, _) = Toy::new(cell).relevance();
        close("in numbers", &found[..], &numbers(false)[..], Of::Size(1.0), 1e-12);
        close("as worked by hand", &numbers(false)[..], &relevance[..], Of::Size(1.0), 1e-6);
        assert!(check("a fault", &numbers(true)[..], &relevance[..], Of::Size(1.0), 2e-4).is_err());
    }
}

#[test]
fn a_planted_nan_is_noticed() {
    for ByHand { cell, relevance, .. } in BY_HAND {
        let (found, _, _) = Toy { epsilon: f64::NAN, ..Toy::new(cell) }.relevance();
        assert!(check("NaN", &found[..], &relevance[..], Of::Size(1.0), f64::MAX).is_err(), "{cell:?}");
    }
    let mut tape = Tape::new(Context::new(1), Mode::Off);
    let text = column(&[TEXT[0], f64::NAN, TEXT[2]]);
    let h = tape.recurrent(RecurrentCell::Lstm, &Segments::new([3]), text, &both_ways()).value;
    let expected = [0.199656, 0.142998, 0.004176, -0.095965, 0.069935, 0.067619];
    assert!(check("NaN", h.data(), &expected[..], Of::Size(1.0), f64::MAX).is_err());
}

fn column(numbers: &[f64]) -> Var<f64> {
    Tensor::new(numbers.len(), 1, numbers.to_vec()).into()
}

fn row(numbers: &[f64]) -> Var<f64> {
    Tensor::new(1, numbers.len(), numbers.to_vec()).into()
}

/// An LSTM of width one that reads from both ends with the same weights.
fn both_ways() -> [RecurrentWeights<f64>; 2] {
    [false, true].map(|reverse| RecurrentWeights {
        reverse,
        input: column(&[0.5, -0.3, 0.8, 0.1]),
        hidden: column(&[0.2, 0.4, -0.6, 0.7]),
        input_bias: row(&[0.1, 1.0, -0.2, 0.3]),
        hidden_bias: row(&[0.0; 4]),
        start: None,
    })
}

/// Forward and backward states of a width of one, from PyTorch's equations by hand.
#[test]
fn states_worked_by_hand() {
    let mut tape = Tape::new(Context::new(1), Mode::Off);
    let (text, both) = (column(&TEXT), both_ways());
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

/// A text of two words between its markers, with additive attention over the words and a head of two classes.
#[test]
fn a_classifier_with_attention_worked_by_hand() {
    for mode in [Mode::Off, Mode::Lowered] {
        let mut tape = Tape::new(Context::new(1), mode);
        let text = column(&[1.0, -2.0, 0.5, -1.0]);
        let h = tape.recurrent(RecurrentCell::Lstm, &Segments::new([4]), text, &both_ways()); // [4, 2]
        let states = [0.199656, 0.102957, 0.004176, -0.155342, 0.069935, -0.023714, -0.121949, -0.163005];
        close("states", h.value.data(), &states[..], Of::Size(1.0), 1e-6);
        let sum = tape.apply(Op::Linear, [h.clone(), row(&[0.7, -0.4]), row(&[0.1])]); // [4, 1]
        let inner = tape.apply(Op::Unary(Unary::Tanh), [sum]);
        let scores = tape.apply(Op::Scale(2.0), [inner]);
        let last = [h.value.data()[6], h.value.data()[1]];
        close("last states", &[first_class(&mut tape, row(&last))], &[0.384652], Of::Size(1.0), 1e-6);
        let mut attended = |rows: &[usize]| {
            let [h, scores] = [&h, &scores].map(|x| tape.apply(Op::Gather(rows.into()), [x.clone()]));
            let segments = Segments::new([rows.len()]);
            let weights = tape.segment_softmax(&segments, scores.clone());
            let context = tape.segment_weighted_sum(&segments, weights.clone(), h.clone());
            let mean = tape.segment_mean(&segments, h);
            (scores.value, weights.value, context, mean)
        };
        let (scores, weights, context, mean) = attended(&[1, 2]);
        let with_markers = attended(&[0, 1, 2, 3]).2;
        close("scores", scores.data(), &[0.327155, 0.314254][..], Of::Size(1.0), 1e-6);
        close("weights", weights.data(), &[0.503225, 0.496775][..], Of::Size(1.0), 1e-6);
        close("attended", &[first_class(&mut tape, context)], &[0.546931], Of::Size(1.0), 1e-6);
        close("uniform", &[first_class(&mut tape, mean)], &[0.546642], Of::Size(1.0), 1e-6);
        // What it would be if the markers were attended to as well: a mistake that shows.
        close("with markers", &[first_class(&mut tape, with_markers)], &[0.520615], Of::Size(1.0), 1e-6);
    }
}

/// The probability of the first of two classes.
fn first_class(tape: &mut Tape<f64>, context: Var<f64>) -> f64 {
    let weight = Tensor::new(2, 2, vec![1.0, -1.0, 0.5, 2.0]).into();
    let logits = tape.apply(Op::Linear, [context, weight, row(&[0.0, 0.1])]); // [1, 2]
    tape.apply(Op::LogSoftmax, [logits]).value.data()[0].exp()
}
