//! Operations that are fused where the tape allows it, and composed of plain ones where it does not.

use crate::heads::Heads;
use crate::op::{Op, Unary};
use crate::scalar::Scalar;
use crate::segments::Segments;
use crate::tape::{Mode, Tape, Var};
use crate::tensor::Tensor;
use crate::windows::Windows;

impl<T: Scalar> Tape<T> {
    /// softmax(scale·q·kᵀ)·v for every sequence and head: q \[Tq, N·D\], k and v \[Tk, N·D\] → \[Tq, N·D\].
    pub fn attention(&mut self, heads: &Heads, q: Var<T>, k: Var<T>, v: Var<T>) -> Var<T> {
        if self.mode() != Mode::Lowered {
            return self.apply(Op::Attention(heads.clone()), [q, k, v]);
        }
        let scores = self.apply(Op::Scores(heads.clone()), [q, k]);
        let probs = self.apply(Op::Softmax(heads.clone()), [scores]);
        self.apply(Op::Context(heads.clone()), [probs, v])
    }

    /// Rows of x \[T, H\] brought to mean 0 and variance 1, then scaled and shifted.
    pub fn layer_norm(&mut self, x: Var<T>, gain: Var<T>, bias: Var<T>, epsilon: f64) -> Var<T> {
        if self.mode() != Mode::Lowered {
            return self.apply(Op::LayerNorm(epsilon), [x, gain, bias]);
        }
        let share = 1.0 / x.value.cols() as f64;
        let total = self.apply(Op::RowSum, [x.clone()]);
        let minus_mean = self.apply(Op::Scale(-share), [total]);
        let centred = self.apply(Op::AddColumn, [x, minus_mean]);
        let squares = self.apply(Op::Unary(Unary::Square), [centred.clone()]);
        let total = self.apply(Op::RowSum, [squares]);
        let variance = self.apply(Op::Scale(share), [total]);
        let variance = self.apply(Op::Shift(epsilon), [variance]);
        let deviation = self.apply(Op::Unary(Unary::Sqrt), [variance]);
        let inverse = self.apply(Op::Unary(Unary::Recip), [deviation]);
        let normalised = self.apply(Op::MulColumn, [centred, inverse]);
        let scaled = self.apply(Op::MulRow, [normalised, gain]);
        self.apply(Op::AddRow, [scaled, bias])
    }

    /// The layer norm of x + residual.
    pub fn add_layer_norm(
        &mut self,
        x: Var<T>,
        residual: Var<T>,
        gain: Var<T>,
        bias: Var<T>,
        epsilon: f64,
    ) -> Var<T> {
        if self.mode() != Mode::Lowered {
            return self.apply(Op::AddLayerNorm(epsilon), [x, residual, gain, bias]);
        }
        let sum = self.apply(Op::Add, [x, residual]);
        self.layer_norm(sum, gain, bias, epsilon)
    }

    /// Softmax over the rows of each sequence: scores \[T, 1\] → \[T, 1\].
    pub fn segment_softmax(&mut self, segments: &Segments, scores: Var<T>) -> Var<T> {
        let rows = scores.value.rows();
        let ragged = self.apply(Op::Reshape(1, rows), [scores]);
        let probs = self.apply(Op::Softmax(one_query(segments, 1)), [ragged]);
        self.apply(Op::Reshape(rows, 1), [probs])
    }

    /// Σ αₜhₜ over the rows of each sequence: α \[T, 1\], h \[T, H\] → \[B, H\]; zero where a sequence is empty.
    pub fn segment_weighted_sum(&mut self, segments: &Segments, weights: Var<T>, h: Var<T>) -> Var<T> {
        let (rows, width) = (weights.value.rows(), h.value.cols());
        let ragged = self.apply(Op::Reshape(1, rows), [weights]);
        self.apply(Op::Context(one_query(segments, width)), [ragged, h])
    }

    /// The mean of each sequence's rows: x \[T, H\] → \[B, H\]; zero where a sequence is empty.
    pub fn segment_mean(&mut self, segments: &Segments, x: Var<T>) -> Var<T> {
        let shares = segments.lengths().flat_map(|n| std::iter::repeat_n(T::from_f64(1.0 / n as f64), n));
        let shares = Tensor::new(segments.total(), 1, shares.collect());
        let scaled = self.apply(Op::MulColumn, [x, shares.into()]);
        self.apply(Op::SegmentSum(segments.clone()), [scaled])
    }

    /// A convolution along each sequence, with zeros beyond its ends as PyTorch's `same` padding has them: x \[T, I\], weight
    /// \[O, I·K\] as a file's \[O, I, K\] lies, perhaps a bias \[1, O\] → \[T, O\].
    pub fn convolution(
        &mut self,
        segments: &Segments,
        x: Var<T>,
        weight: Var<T>,
        bias: Option<Var<T>>,
    ) -> Var<T> {
        let (outputs, inputs) = (weight.value.rows(), x.value.cols());
        let width = weight.value.cols() / inputs.max(1);
        let windows = self.apply(Op::Unfold(Windows::new(segments, width, true)), [x]); // [T, K·I]
        let mut sides = vec![windows, self.by_place(weight, (outputs, inputs, width))];
        sides.extend(bias);
        self.apply(Op::Linear, sides)
    }

    /// A weight \[O, I, K\] as \[O, K, I\]: a window's rows lie one after the other.
    fn by_place(&mut self, weight: Var<T>, (outputs, inputs, width): (usize, usize, usize)) -> Var<T> {
        if width == 1 {
            return weight;
        }
        let element = |i: usize| {
            let (output, place, input) = (i / (width * inputs), i / inputs % width, i % inputs);
            (output * inputs + input) * width + place
        };
        let len = outputs * inputs * width;
        let column = self.apply(Op::Reshape(len, 1), [weight]);
        let turned = self.apply(Op::Gather((0..len).map(element).collect()), [column]);
        self.apply(Op::Reshape(outputs, width * inputs), [turned])
    }
}

/// One query a sequence over its rows.
fn one_query(segments: &Segments, width: usize) -> Heads {
    Heads::new(1, width, Segments::new(segments.lengths().map(|_| 1)), segments.clone())
}
