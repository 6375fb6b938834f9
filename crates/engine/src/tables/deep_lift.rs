//! DeepLIFT (Shrikumar et al. 2017) for every operation of a transformer.
//!
//! Texts and baselines are run together: in every value the first half belongs to the texts, the second to their
//! baselines, in the same order, so that Δv = v\[e\] − v\[e + len/2\]. A multiplier m obeys Σ m_in ⊙ Δin = Σ m ⊙ Δout:
//!
//! - f(x): m·Δf/Δx (rescale), the derivative where Δx is tiny;
//! - a·b: m·b̄ to a and m·ā to b, with the mean of text and baseline (Δ(ab) = Δa·b̄ + ā·Δb);
//! - softmax: with the logarithmic mean Lᵢ = Δpᵢ/Δln pᵢ, L⊙m − (L/ΣL)·Σ(L⊙m);
//! - max: all to the text's largest where it is not below the baseline's, else to the baseline's largest;
//! - what is linear: the gradient.
//!
//! RevealCancel treats the contributions of a linear layer to a rectifier apart: those that raise its input have the
//! mean effect of coming first and of coming last, those that lower it likewise.
//!
//! Multipliers stand in the first half; the second is zero, but for what RevealCancel notes there for a linear layer:
//! how much more the multiplier of raising contributions is than that of lowering ones.

mod halves;
mod largest;
mod reveal;
mod softmax;

use super::{Gradient, RuleTable, Sink};
use crate::context::Context;
use crate::kernels::elementwise;
use crate::op::{Op, Unary};
use crate::scalar::Real;
use crate::tape::{Kept, Node};
use crate::tensor::Tensor;
use halves::{mean, rising};

/// Differences of outputs over differences of inputs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeepLift {
    /// Treat what pushes a rectifier up and what pushes it down apart (RevealCancel).
    pub reveal_cancel: bool,
}

impl<T: Real> RuleTable<T> for DeepLift {
    fn name(&self) -> &'static str {
        "deep lift"
    }

    fn pull(&self, node: &Node<T>, m: Tensor<T>, sink: &mut Sink<'_, T>) -> Option<()> {
        let ctx = sink.context();
        match &node.op {
            Op::Linear if self.reveal_cancel => reveal::linear(node, m, sink),
            Op::Leaf | Op::Linear | Op::Gather(_) | Op::Pick(_) | Op::Reshape(..) => {
                Gradient.pull(node, m, sink)
            }
            Op::Add | Op::Sub | Op::AddRow | Op::AddColumn | Op::RowSum => Gradient.pull(node, m, sink),
            Op::Scale(_) | Op::Shift(_) | Op::MulRow | Op::Patch(_) | Op::Dropout(_) => {
                Gradient.pull(node, m, sink)
            }
            Op::Columns(..) | Op::JoinColumns | Op::JoinRows | Op::AddRows(_) | Op::Unfold(_) => {
                Gradient.pull(node, m, sink)
            }
            Op::SegmentSum(_) => Gradient.pull(node, m, sink),
            Op::SegmentMax(segments) => {
                let x = node.saved[0].as_ref()?;
                sink.add(0, |out| largest::add_pull(out, segments, &m, x));
                Some(())
            }
            Op::Mul | Op::Gate | Op::MulColumn | Op::Scores(_) | Op::Context(_) => {
                Gradient.pull(&at_mean(ctx, node), m, sink)
            }
            Op::Div => divide(node, m, sink),
            Op::Unary(unary) if self.reveal_cancel && reveal::applies(*unary, sink) => {
                reveal::unary(node, *unary, m, sink)
            }
            Op::Unary(unary) => {
                sink.give(0, rescale(ctx, node, *unary, m)?);
                Some(())
            }
            Op::Softmax(heads) => {
                let (scores, probs) = (node.saved[0].as_ref()?, node.output.as_ref()?);
                sink.give(0, softmax::ragged(ctx, heads, &m, scores, probs));
                Some(())
            }
            Op::LogSoftmax => {
                sink.give(0, softmax::logarithm(ctx, &m, node.output.as_ref()?));
                Some(())
            }
            Op::LayerNorm(_) | Op::AddLayerNorm(_) | Op::Attention(_) | Op::Recurrent(_) => None,
        }
    }

    fn told(&self, ctx: &Context<T>, node: &Node<T>, m: &Tensor<T>) -> Tensor<T> {
        match node.op {
            Op::Linear if self.reveal_cancel => reveal::told(ctx, node, m),
            _ => m.clone(),
        }
    }
}

/// The node as if its inputs had been the mean of text and baseline.
fn at_mean<T: Real>(ctx: &Context<T>, node: &Node<T>) -> Node<T> {
    let saved = node.saved.iter().map(|x| x.as_ref().map(|x| mean(ctx, x)));
    Node {
        op: node.op.clone(),
        inputs: node.inputs.clone(),
        shapes: node.shapes.clone(),
        saved: saved.collect(),
        output: None,
        shape: node.shape,
        kept: Kept::Nothing,
    }
}

/// a/b = a·(1/b): the product rule, with Δ(1/b) = −Δb/(b·b′).
fn divide<T: Real>(node: &Node<T>, m: Tensor<T>, sink: &mut Sink<'_, T>) -> Option<()> {
    let ctx = sink.context();
    let (a, b) = (node.saved[0].as_ref()?, node.saved[1].as_ref()?);
    let half = T::from_f64(0.5);
    sink.give(0, rising(ctx, &m, [b], |m, [(b, b0)]| m * half * (b + b0) / (b * b0)));
    sink.give(1, rising(ctx, &m, [a, b], |m, [(a, a0), (b, b0)]| -m * half * (a + a0) / (b * b0)));
    Some(())
}

/// m·Δf/Δx, by formulas that lose no digits where there are such.
fn rescale<T: Real>(ctx: &Context<T>, node: &Node<T>, unary: Unary, m: Tensor<T>) -> Option<Tensor<T>> {
    let (x, y) = (node.saved[0].as_ref()?, node.output.as_ref()?);
    Some(match unary {
        Unary::Square => rising(ctx, &m, [x], |m, [(x, x0)]| m * (x + x0)),
        Unary::Recip => rising(ctx, &m, [y], |m, [(y, y0)]| -m * y * y0),
        Unary::Sqrt => rising(ctx, &m, [y], |m, [(y, y0)]| m / (y + y0)),
        _ => {
            let near = elementwise::unary_pull(ctx, unary, m.clone(), &mean(ctx, x));
            rising(
                ctx,
                &m,
                [x, y, &near],
                |m, [(x, x0), (y, y0), (near, _)]| {
                    if tiny(unary, x, x0) { near } else { m * (y - y0) / (x - x0) }
                },
            )
        }
    })
}

/// Whether the derivative in the middle is nearer to Δf/Δx than the quotient of rounded differences.
fn tiny<T: Real>(unary: Unary, x: T, x0: T) -> bool {
    let (x, x0) = (x.value(), x0.value());
    // The derivative is off by Δ²/24 of its size or so, the quotient by a rounding error over Δ.
    let single = T::from_f64(1.0 + 1e-10).value() == 1.0;
    let limit = if single { 2e-3 } else { 1e-5 };
    let scale = match unary {
        // Exact but for a difference of nothing, and kinked.
        Unary::Relu => 0.0,
        Unary::Ln => x.abs().min(x0.abs()),
        // It bends within 1/β of zero.
        Unary::Softplus(beta) => (1.0 / beta).min(1.0),
        _ => 1.0,
    };
    (x - x0).abs() <= limit * scale
}
