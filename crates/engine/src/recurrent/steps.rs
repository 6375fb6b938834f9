//! The composed form: plain operations, step by step, over all sequences that still run.

use super::taps::{Taps, positions};
use super::{CellLook, CellPart, CellSite, RecurrentCell, RecurrentWeights};
use crate::op::{Op, Unary};
use crate::scalar::Scalar;
use crate::segments::Segments;
use crate::tape::{Tape, Var};
use crate::tensor::Tensor;
use std::sync::Arc;

impl<T: Scalar> Tape<T> {
    /// [`Tape::recurrent`] in plain operations, with a look at parts of the cell: the output \[T, directions·H\] and what was
    /// found at each look, in their order.
    ///
    /// An edit acts on all that is computed from the token's value, later steps included. Panics where the cell has no
    /// such part, which is a defect of the caller.
    pub fn recurrent_inside(
        &mut self,
        cell: RecurrentCell,
        segments: &Segments,
        x: Var<T>,
        directions: &[RecurrentWeights<T>],
        looks: Vec<CellLook<T>>,
    ) -> (Var<T>, Vec<CellSite<T>>) {
        for look in &looks {
            assert!(cell.parts().contains(&look.part), "a {cell:?} cell has no part {:?}", look.part);
        }
        let hidden = directions.first().map_or(0, |w| w.hidden.value.cols());
        let mut taps = Taps::new(self, (segments.total(), hidden, directions.len()), looks);
        let run = |(i, weights): (usize, &RecurrentWeights<T>)| {
            taps.begin(self, i);
            let out = Steps::new(self, cell, weights).run(self, segments, &x, &mut taps);
            taps.end(self, segments.total());
            out
        };
        let out = directions.iter().enumerate().map(run).collect();
        (self.side_by_side(out), taps.finish(self))
    }
}

/// The products of one direction. Each is one linear layer over all that it sums, so that a rule which shares out a
/// sum by its summands sees every one of them at once.
pub(super) struct Steps<T> {
    reverse: bool,
    start: Option<Var<T>>,
    hidden: usize,
    kind: Kind<T>,
}

/// A linear layer: its weight and bias.
struct Layer<T>(Var<T>, Var<T>);

enum Kind<T> {
    /// All gates over \[x; h\].
    Lstm(Layer<T>),
    /// r and z over \[x; h\], u over h, and what goes into n over \[x; r⊙u\].
    Gru([Layer<T>; 3]),
    /// The one sum over \[x; h\].
    Tanh(Layer<T>),
}

impl<T: Scalar> Layer<T> {
    fn apply(&self, tape: &mut Tape<T>, x: Var<T>) -> Var<T> {
        tape.apply(Op::Linear, [x, self.0.clone(), self.1.clone()])
    }

    /// Some of the outputs.
    fn outputs(&self, tape: &mut Tape<T>, from: usize, to: usize) -> Self {
        let rows = tape.apply(Op::Gather((from..to).collect()), [self.0.clone()]);
        Self(rows, tape.apply(Op::Columns(from, to), [self.1.clone()]))
    }
}

impl<T: Scalar> Steps<T> {
    pub(super) fn new(tape: &mut Tape<T>, cell: RecurrentCell, weights: &RecurrentWeights<T>) -> Self {
        let hidden = weights.hidden.value.cols();
        let bias = [weights.input_bias.clone(), weights.hidden_bias.clone()];
        let weight = [weights.input.clone(), weights.hidden.clone()];
        let all = Layer(tape.apply(Op::JoinColumns, weight), tape.apply(Op::Add, bias));
        let kind = match cell {
            RecurrentCell::Lstm => Kind::Lstm(all),
            RecurrentCell::Tanh => Kind::Tanh(all),
            RecurrentCell::Gru => {
                let gates = all.outputs(tape, 0, 2 * hidden);
                let last = (2 * hidden, 3 * hidden);
                let own =
                    Layer(weights.input.clone(), weights.input_bias.clone()).outputs(tape, last.0, last.1);
                let state = Layer(weights.hidden.clone(), weights.hidden_bias.clone());
                let state = state.outputs(tape, last.0, last.1);
                let sum = tape.apply(Op::JoinColumns, [own.0, identity(hidden).into()]);
                Kind::Gru([gates, state, Layer(sum, own.1)])
            }
        };
        Self { reverse: weights.reverse, start: weights.start.clone(), hidden, kind }
    }

    fn run(&self, tape: &mut Tape<T>, segments: &Segments, x: &Var<T>, taps: &mut Taps<T>) -> Var<T> {
        let longest = segments.lengths().max().unwrap_or(0);
        let mut running: Vec<usize> = (0..segments.count()).collect();
        let mut state = self.start(tape, segments.count());
        let mut states = Vec::new();
        for step in 0..longest {
            // In the order of the batch, so that a text stays as far from its baseline as it was.
            let still: Vec<usize> = running.iter().copied().filter(|&s| segments.len(s) > step).collect();
            if still.len() < running.len() {
                let index = positions(&running, &still);
                state = state.map(|s| s.map(|s| tape.apply(Op::Gather(index.clone()), [s])));
            }
            running = still;
            let token = |&s: &usize| match self.reverse {
                true => segments.range(s).end - 1 - step,
                false => segments.range(s).start + step,
            };
            taps.at(running.iter().map(token).collect());
            let input = tape.apply(Op::Gather(taps.tokens().clone()), [x.clone()]); // [n, I]
            state = self.step(tape, input, state, taps);
            states.extend(state[0].clone().map(|h| (h, taps.tokens().clone())));
        }
        in_order(tape, states, (segments.total(), self.hidden))
    }

    /// The first hidden state, and the first cell of an LSTM.
    fn start(&self, tape: &mut Tape<T>, count: usize) -> [Option<Var<T>>; 2] {
        let two = matches!(self.kind, Kind::Lstm(_));
        let mut state = |i: usize| match &self.start {
            Some(start) if !two => start.clone(),
            Some(start) => tape.apply(Op::Columns(i * self.hidden, (i + 1) * self.hidden), [start.clone()]),
            None => Tensor::zeros(tape.context(), count, self.hidden).into(),
        };
        [Some(state(0)), two.then(|| state(1))]
    }

    /// One step: the states after it.
    pub(super) fn step(
        &self,
        tape: &mut Tape<T>,
        x: Var<T>,
        [hidden, cell]: [Option<Var<T>>; 2],
        taps: &mut Taps<T>,
    ) -> [Option<Var<T>>; 2] {
        let Some(before) = hidden else { return [None, None] };
        let both = tape.apply(Op::JoinColumns, [x.clone(), before.clone()]); // [n, I + H]
        let (h, cell) = match (&self.kind, cell) {
            (Kind::Lstm(all), Some(cell)) => {
                let (h, cell) = self.lstm(tape, all, both, cell, taps);
                (h, Some(cell))
            }
            (Kind::Gru(layers), _) => (self.gru(tape, layers, [x, before, both], taps), None),
            (Kind::Tanh(all) | Kind::Lstm(all), _) => {
                let sum = all.apply(tape, both); // [n, H]
                (tape.apply(Op::Unary(Unary::Tanh), [sum]), None)
            }
        };
        [Some(taps.look(tape, CellPart::Hidden, h)), cell]
    }

    /// One gate: its columns of the sums, through its activation.
    fn gate(
        &self,
        tape: &mut Tape<T>,
        sums: &Var<T>,
        (place, part, unary): (usize, CellPart, Unary),
        taps: &mut Taps<T>,
    ) -> Var<T> {
        let columns = Op::Columns(place * self.hidden, (place + 1) * self.hidden);
        let sum = tape.apply(columns, [sums.clone()]); // [n, H]
        let gate = tape.apply(Op::Unary(unary), [sum]); // [n, H]
        taps.look(tape, part, gate)
    }

    fn lstm(
        &self,
        tape: &mut Tape<T>,
        all: &Layer<T>,
        both: Var<T>,
        cell: Var<T>,
        taps: &mut Taps<T>,
    ) -> (Var<T>, Var<T>) {
        let sums = all.apply(tape, both); // [n, 4·H]
        let input = self.gate(tape, &sums, (0, CellPart::Input, Unary::Sigmoid), taps);
        let forget = self.gate(tape, &sums, (1, CellPart::Forget, Unary::Sigmoid), taps);
        let candidate = self.gate(tape, &sums, (2, CellPart::Candidate, Unary::Tanh), taps);
        let output = self.gate(tape, &sums, (3, CellPart::Output, Unary::Sigmoid), taps);
        let kept = tape.apply(Op::Gate, [forget, cell]); // [n, H]
        let new = tape.apply(Op::Gate, [input, candidate]); // [n, H]
        let cell = tape.apply(Op::Add, [kept, new]); // [n, H]
        let cell = taps.look(tape, CellPart::Cell, cell);
        let shown = tape.apply(Op::Unary(Unary::Tanh), [cell.clone()]); // [n, H]
        (tape.apply(Op::Gate, [output, shown]), cell)
    }

    fn gru(
        &self,
        tape: &mut Tape<T>,
        [gates, state, candidate]: &[Layer<T>; 3],
        [x, before, both]: [Var<T>; 3],
        taps: &mut Taps<T>,
    ) -> Var<T> {
        let sums = gates.apply(tape, both); // [n, 2·H]
        let reset = self.gate(tape, &sums, (0, CellPart::Reset, Unary::Sigmoid), taps);
        let update = self.gate(tape, &sums, (1, CellPart::Update, Unary::Sigmoid), taps);
        let recurrent = state.apply(tape, before.clone()); // [n, H]
        let recurrent = tape.apply(Op::Gate, [reset, recurrent]); // [n, H]
        let both = tape.apply(Op::JoinColumns, [x, recurrent]); // [n, I + H]
        let sum = candidate.apply(tape, both); // [n, H]
        let new = tape.apply(Op::Unary(Unary::Tanh), [sum]); // [n, H]
        let new = taps.look(tape, CellPart::Candidate, new);
        let rest = tape.apply(Op::Scale(-1.0), [update.clone()]);
        let rest = tape.apply(Op::Shift(1.0), [rest]); // [n, H]
        let new = tape.apply(Op::Gate, [rest, new]); // [n, H]
        let kept = tape.apply(Op::Gate, [update, before]); // [n, H]
        tape.apply(Op::Add, [new, kept])
    }
}

/// What the steps gave, each with its tokens, as rows in the order of the tokens.
pub(super) fn in_order<T: Scalar>(
    tape: &mut Tape<T>,
    steps: Vec<(Var<T>, Arc<[usize]>)>,
    (rows, cols): (usize, usize),
) -> Var<T> {
    if steps.is_empty() {
        return Tensor::zeros(tape.context(), rows, cols).into();
    }
    let mut place = vec![0; rows];
    steps.iter().flat_map(|(_, tokens)| tokens.iter()).enumerate().for_each(|(i, &t)| place[t] = i);
    let all: Vec<Var<T>> = steps.into_iter().map(|(value, _)| value).collect();
    let stacked = tape.apply(Op::JoinRows, all);
    tape.apply(Op::Gather(place.into()), [stacked])
}

fn identity<T: Scalar>(size: usize) -> Tensor<T> {
    let number = |i: usize| T::from_f64(if i / size == i % size { 1.0 } else { 0.0 });
    Tensor::new(size, size, (0..size * size).map(number).collect())
}
