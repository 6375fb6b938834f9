//! Operations that are fused where the tape allows it, and composed of plain ones where it does not.

use crate::heads::Heads;
use crate::op::{Op, Unary};
use crate::scalar::Scalar;
use crate::tape::{Mode, Tape, Var};

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
}
