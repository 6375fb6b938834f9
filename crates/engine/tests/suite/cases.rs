//! One or more examples of every operation, and how far a backward rule is from central differences.

use exegete_engine::*;
use exegete_testkit::{Comparison, Of};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

/// An operation with inputs to run it on.
#[derive(Clone)]
pub(crate) struct Case<T> {
    pub(crate) name: &'static str,
    pub(crate) op: Op<T>,
    pub(crate) inputs: Vec<Tensor<T>>,
}

/// Random numbers in a range, the same for every kind of number.
pub(crate) struct Random(pub(crate) ChaCha8Rng);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0.random_range(0..end as u64) as usize
    }

    pub(crate) fn number(&mut self, low: f64, high: f64) -> f64 {
        self.0.random_range(low..high)
    }

    pub(crate) fn tensor<T: Scalar>(&mut self, rows: usize, cols: usize) -> Tensor<T> {
        self.within(rows, cols, -1.5, 1.5)
    }

    pub(crate) fn within<T: Scalar>(&mut self, rows: usize, cols: usize, low: f64, high: f64) -> Tensor<T> {
        Tensor::new(rows, cols, (0..rows * cols).map(|_| T::from_f64(self.number(low, high))).collect())
    }

    /// Of both signs, at least 0.2 away from zero.
    pub(crate) fn off_zero<T: Scalar>(&mut self, rows: usize, cols: usize) -> Tensor<T> {
        let sign = |x: f64| if x < 0.0 { x - 0.2 } else { x + 0.2 };
        self.tensor::<f64>(rows, cols).map(|x| T::from_f64(sign(x)))
    }
}

/// Heads over sequences of these lengths of queries and keys.
pub(crate) fn heads(count: usize, width: usize, queries: &[usize], keys: &[usize]) -> Heads {
    let segments = |lengths: &[usize]| Segments::new(lengths.iter().copied());
    Heads::new(count, width, segments(queries), segments(keys))
}

/// The examples. The last sequence and the last element of a patch matter, so that a dropped one is noticed.
pub(crate) fn all<T: Scalar>() -> Vec<Case<T>> {
    drawn(7)
}

/// The same examples with other numbers.
pub(crate) fn drawn<T: Scalar>(seed: u64) -> Vec<Case<T>> {
    let r = &mut Random::new(seed);
    let mut cases = Vec::new();
    plain(r, &mut cases);
    attention(r, &mut cases);
    unary(r, &mut cases);
    joined(r, &mut cases);
    by_sequence(r, &mut cases);
    recurrent(r, &mut cases);
    cases
}

fn plain<T: Scalar>(r: &mut Random, cases: &mut Vec<Case<T>>) {
    let mut case = |name, op, inputs| cases.push(Case { name, op, inputs });
    case("leaf", Op::Leaf, vec![r.tensor(3, 4)]);
    case("linear", Op::Linear, vec![r.tensor(3, 4), r.tensor(5, 4)]);
    case("linear, bias", Op::Linear, vec![r.tensor(3, 4), r.tensor(5, 4), r.tensor(1, 5)]);
    case("linear, one row", Op::Linear, vec![r.tensor(1, 7), r.tensor(2, 7), r.tensor(1, 2)]);
    case("gather", Op::Gather(Arc::from([2, 0, 2, 2, 3])), vec![r.tensor(5, 3)]);
    for (name, op) in [("add", Op::Add), ("sub", Op::Sub), ("mul", Op::Mul)] {
        case(name, op, vec![r.tensor(3, 4), r.tensor(3, 4)]);
    }
    case("div", Op::Div, vec![r.tensor(3, 4), r.off_zero(3, 4)]);
    case("add row", Op::AddRow, vec![r.tensor(3, 4), r.tensor(1, 4)]);
    case("mul row", Op::MulRow, vec![r.tensor(3, 4), r.off_zero(1, 4)]);
    case("add column", Op::AddColumn, vec![r.tensor(3, 4), r.tensor(3, 1)]);
    case("mul column", Op::MulColumn, vec![r.tensor(3, 4), r.off_zero(3, 1)]);
    case("row sum", Op::RowSum, vec![r.tensor(3, 19)]);
    case("scale", Op::Scale(-1.7), vec![r.tensor(3, 4)]);
    case("shift", Op::Shift(0.3), vec![r.tensor(3, 4)]);
    let affine = |r: &mut Random, cols| [r.off_zero(1, cols), r.tensor(1, cols)];
    for cols in [5, 18] {
        let [gain, bias] = affine(r, cols);
        case("layer norm", Op::LayerNorm(1e-3), vec![r.tensor(3, cols), gain.clone(), bias.clone()]);
        let inputs = vec![r.tensor(3, cols), r.tensor(3, cols), gain, bias];
        case("add layer norm", Op::AddLayerNorm(1e-3), inputs);
    }
    case("log softmax", Op::LogSoftmax, vec![r.tensor(3, 4)]);
    case("log softmax, wide", Op::LogSoftmax, vec![r.tensor(2, 21)]);
    case("pick", Op::Pick(Arc::from([1, 3, 1])), vec![r.tensor(3, 4)]);
    case("patch", Op::Patch(Arc::new(patch(r))), vec![r.tensor(3, 4)]);
    let half = Dropout { rate: 0.5, runs: vec![(5, 1), (7, 2)] };
    case("dropout", Op::Dropout(Arc::new(half)), vec![r.tensor(3, 4)]);
    case("reshape", Op::Reshape(2, 6), vec![r.tensor(3, 4)]);
}

/// Shared and single shifts, runs that overlap, one that forgets what was there.
fn patch<T: Scalar>(r: &mut Random) -> Patch<T> {
    let mut patch = Patch::default();
    let number = T::from_f64;
    patch.push(1, 5, number(0.5), &[number(0.7)]);
    patch.push(3, 4, number(-2.0), r.tensor(1, 4).data());
    patch.push(8, 2, number(0.0), &[number(1.5)]);
    patch.push(11, 1, number(3.0), &[number(-0.2)]);
    patch
}

fn attention<T: Scalar>(r: &mut Random, cases: &mut Vec<Case<T>>) {
    let shapes: [(&[usize], &[usize]); 3] =
        [(&[3, 1, 2], &[3, 1, 2]), (&[2, 4, 1], &[5, 1, 3]), (&[1, 0, 2], &[1, 2, 2])];
    for (queries, keys) in shapes {
        let heads = heads(2, 3, queries, keys);
        let (tq, tk) = (heads.queries().total(), heads.keys().total());
        let maps = heads.total();
        let (q, k, v) = (r.tensor(tq, 6), r.tensor(tk, 6), r.tensor(tk, 6));
        let mut case = |name, op, inputs| cases.push(Case { name, op, inputs });
        case("scores", Op::Scores(heads.clone()), vec![q.clone(), k.clone()]);
        case("softmax", Op::Softmax(heads.clone()), vec![r.tensor(1, maps)]);
        case("context", Op::Context(heads.clone()), vec![r.tensor(1, maps), v.clone()]);
        case("attention", Op::Attention(heads), vec![q, k, v]);
    }
}

fn unary<T: Scalar>(r: &mut Random, cases: &mut Vec<Case<T>>) {
    use Unary::*;
    for f in UNARY {
        let x = match f {
            Ln | Sqrt => r.within(3, 6, 0.3, 3.0),
            Relu | Recip => r.off_zero(3, 6),
            _ => r.within(3, 6, -3.0, 3.0),
        };
        cases.push(Case { name: "unary", op: Op::Unary(f), inputs: vec![x] });
    }
}

fn joined<T: Scalar>(r: &mut Random, cases: &mut Vec<Case<T>>) {
    let mut case = |name, op, inputs| cases.push(Case { name, op, inputs });
    case("columns", Op::Columns(1, 4), vec![r.tensor(3, 6)]);
    case("join columns", Op::JoinColumns, vec![r.tensor(3, 2), r.tensor(3, 1), r.tensor(3, 4)]);
    case("join rows", Op::JoinRows, vec![r.tensor(2, 3), r.tensor(2, 3), r.tensor(4, 3)]);
    case("add rows", Op::AddRows(Arc::from([2, 0, 2])), vec![r.tensor(3, 4), r.tensor(3, 4)]);
    case("gate", Op::Gate, vec![r.tensor(3, 4), r.tensor(3, 4)]);
}

fn by_sequence<T: Scalar>(r: &mut Random, cases: &mut Vec<Case<T>>) {
    let segments = Segments::new([3, 0, 1, 4]);
    let mut case = |name, op, inputs| cases.push(Case { name, op, inputs });
    case("segment sum", Op::SegmentSum(segments.clone()), vec![r.tensor(8, 3)]);
    case("segment max", Op::SegmentMax(segments.clone()), vec![r.tensor(8, 3)]);
    for (width, padded) in [(1, true), (3, true), (4, true), (7, true), (2, false), (4, false)] {
        let windows = Windows::new(&segments, width, padded);
        case("unfold", Op::Unfold(windows), vec![r.tensor(8, 3)]);
    }
}

fn recurrent<T: Scalar>(r: &mut Random, cases: &mut Vec<Case<T>>) {
    for cell in [RecurrentCell::Lstm, RecurrentCell::Gru, RecurrentCell::Tanh] {
        for (reverse, started) in [(false, false), (true, false), (false, true), (true, true)] {
            let segments = Segments::new([2, 4, 0, 1, 3]);
            let (gates, states) = (3 * cell.gates(), if cell == RecurrentCell::Lstm { 6 } else { 3 });
            let mut inputs = vec![r.tensor(10, gates), r.tensor(gates, 3), r.tensor(1, gates)];
            inputs.extend(started.then(|| r.tensor(5, states)));
            let op = Op::Recurrent(Recurrence { cell, reverse, segments });
            cases.push(Case { name: "recurrence", op, inputs });
        }
    }
}

/// Every unary function; `gradients.rs` checks that the table covers every kind of operation.
pub(crate) const UNARY: [Unary; 12] = {
    use Unary::*;
    [Exp, Ln, Sqrt, Recip, Square, Tanh, Sigmoid, Softplus(1.0), Relu, Gelu, GeluTanh, Silu]
};

impl<T: Scalar> Case<T> {
    /// The value of the operation.
    pub(crate) fn value(&self) -> Tensor<T> {
        let mut tape = Tape::new(Context::new(1), Mode::Off);
        tape.apply(self.op.clone(), self.vars()).value
    }

    pub(crate) fn vars(&self) -> Vec<Var<T>> {
        self.inputs.iter().cloned().map(Var::from).collect()
    }

    /// The pull of `seed` to every input; an input that nothing reaches gets zeros.
    pub(crate) fn pull(
        &self,
        mode: Mode,
        table: &dyn RuleTable<T>,
        seed: &Tensor<T>,
    ) -> Result<Vec<Tensor<T>>, NoRule> {
        let pulls = self.pull_watched(mode, table, seed, &|_| true)?;
        let zeros = |x: &Tensor<T>| x.map(|_| T::default());
        Ok(pulls.into_iter().zip(&self.inputs).map(|(pull, x)| pull.unwrap_or_else(|| zeros(x))).collect())
    }

    /// The pull of `seed` to the inputs for which `watched` holds, and none for the others.
    pub(crate) fn pull_watched(
        &self,
        mode: Mode,
        table: &dyn RuleTable<T>,
        seed: &Tensor<T>,
        watched: &dyn Fn(usize) -> bool,
    ) -> Result<Vec<Option<Tensor<T>>>, NoRule> {
        let mut tape = Tape::new(Context::new(1), mode);
        let watch = |(i, x): (usize, Var<T>)| if watched(i) { tape.watch(x) } else { x };
        let inputs: Vec<_> = self.vars().into_iter().enumerate().map(watch).collect();
        let nodes: Vec<_> = inputs.iter().map(|x| x.node).collect();
        let out = tape.apply(self.op.clone(), inputs).node.unwrap();
        let wrt: Vec<_> = nodes.iter().flatten().copied().collect();
        let mut pulls = tape.backward(vec![(out, seed.clone())], &wrt, table)?.into_iter();
        Ok(nodes.iter().map(|node| node.and_then(|_| pulls.next().flatten())).collect())
    }
}

impl Case<f64> {
    /// The distance of the rule from central differences, over every element of every input, and relative to the
    /// largest derivative where that is above one.
    pub(crate) fn error(&self, mode: Mode, table: &dyn RuleTable<f64>) -> Comparison {
        let value = self.value();
        let seed = Random::new(11).off_zero(value.rows(), value.cols());
        let pulls = self.pull(mode, table, &seed).unwrap();
        let mut comparison = Comparison::default();
        for (i, pull) in pulls.iter().enumerate() {
            let name = format!("{} ({:?}, {mode:?}), input {i}", self.name, self.op.kind());
            comparison.compare(&name, pull, &self.differences(i, &seed), OF);
        }
        comparison
    }

    fn differences(&self, input: usize, seed: &Tensor<f64>) -> Tensor<f64> {
        let at = |element: usize, step: f64| {
            let mut moved = self.clone();
            moved.inputs[input] = nudged(&self.inputs[input], element, step);
            dot(seed, &moved.value())
        };
        let x = &self.inputs[input];
        let step = 1e-5;
        let slopes = (0..x.data().len()).map(|i| (at(i, step) - at(i, -step)) / (2.0 * step));
        Tensor::new(x.rows(), x.cols(), slopes.collect())
    }
}

/// The tensor with one element moved.
pub(crate) fn nudged(x: &Tensor<f64>, element: usize, step: f64) -> Tensor<f64> {
    let mut data = x.data().to_vec();
    data[element] += step;
    Tensor::new(x.rows(), x.cols(), data)
}

/// x + step · v.
pub(crate) fn moved(x: &Tensor<f64>, v: &Tensor<f64>, step: f64) -> Tensor<f64> {
    Tensor::new(x.rows(), x.cols(), x.data().iter().zip(v.data()).map(|(x, v)| x + step * v).collect())
}

/// Σ a·b.
pub(crate) fn dot(a: &Tensor<f64>, b: &Tensor<f64>) -> f64 {
    assert_eq!((a.rows(), a.cols()), (b.rows(), b.cols()));
    exegete_testkit::dot(a.data(), b.data())
}

/// Errors are relative to the largest element of the truth where that is above one.
pub(crate) const OF: Of = Of::Largest(1.0);

/// The largest error of one tensor, infinite where there is nothing to compare or NaN in either.
pub(crate) fn relative<A: Scalar, B: Scalar>(a: &Tensor<A>, truth: &Tensor<B>) -> f64 {
    Comparison::default().compare("", a, truth, OF)
}

#[test]
fn a_planted_nan_another_shape_and_nothing_are_infinitely_far() {
    let right = Random::new(1).tensor::<f64>(3, 4);
    assert_eq!(relative(&right, &right), 0.0);
    let nan = nudged(&right, 7, f64::NAN);
    for (a, b) in [(&nan, &right), (&right, &nan), (&nan, &nan)] {
        assert_eq!(relative(a, b), f64::INFINITY);
    }
    let flat = Tensor::new(4, 3, right.data().to_vec());
    assert_eq!(relative(&flat, &right), f64::INFINITY);
    let empty = Tensor::<f64>::new(0, 4, Vec::new());
    assert_eq!(relative(&empty, &empty), f64::INFINITY);
}

/// The bits of every element, by which two results are the same or not.
pub(crate) fn bits<T: Scalar>(x: &Tensor<T>) -> Vec<(u64, u64)> {
    x.data().iter().map(|x| (x.value().to_bits(), x.tangent().to_bits())).collect()
}
