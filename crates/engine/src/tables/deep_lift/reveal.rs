//! RevealCancel: a rectifier f after a linear layer whose contributions raise its input by Δ⁺ and lower it by Δ⁻.
//!
//! Δy⁺ = ½(f(x′ + Δ⁺) − f(x′)) + ½(f(x) − f(x′ + Δ⁻)), Δy⁻ likewise, and m⁺ = m·Δy⁺/Δ⁺, m⁻ = m·Δy⁻/Δ⁻.

use super::halves::{difference, half, split, texts_only};
use super::{Gradient, rescale};
use crate::context::Context;
use crate::kernels::{elementwise, signed};
use crate::op::{Op, Unary};
use crate::scalar::Real;
use crate::tables::{RuleTable, Sink};
use crate::tape::Node;
use crate::tensor::Tensor;

/// Sums of contributions smaller than this have no effect of their own to speak of.
const NOTHING: f64 = 1e-9;

/// Whether this is a rectifier straight after a linear layer.
pub(super) fn applies<T: Real>(unary: Unary, sink: &Sink<'_, T>) -> bool {
    unary.rectifies() && sink.producer(0).is_some_and(|node| matches!(node.op, Op::Linear))
}

/// To the linear layer: m⁻ in the texts' half, m⁺ − m⁻ in the other.
pub(super) fn unary<T: Real>(
    node: &Node<T>,
    unary: Unary,
    m: Tensor<T>,
    sink: &mut Sink<'_, T>,
) -> Option<()> {
    let ctx = sink.context();
    let (x, y) = (node.saved[0].as_ref()?, node.output.as_ref()?);
    let (up, down) = contributions(ctx, sink.producer(0)?)?;
    let alone = |part: &Tensor<T>| {
        let moved = elementwise::zip(ctx, half(ctx, x, true), part, |x0, part| x0 + part);
        elementwise::unary(ctx, unary, moved)
    };
    let (raised, lowered) = (alone(&up), alone(&down));
    let rescaled = rescale(ctx, node, unary, m.clone())?;
    let (y, y0) = split(y);
    let effect = |i: usize, own: &Tensor<T>, other: &Tensor<T>, part: &Tensor<T>| {
        let (own, other, part) = (own.data()[i], other.data()[i], part.data()[i]);
        if part.value().abs() < NOTHING {
            return rescaled.data()[i];
        }
        m.data()[i] * T::from_f64(0.5) * ((own - y0[i]) + (y[i] - other)) / part
    };
    let pull = Tensor::fill(ctx, x.rows(), x.cols(), |out| {
        let (first, second) = out.split_at_mut(y.len());
        for i in 0..y.len() {
            first[i] = effect(i, &lowered, &raised, &down);
            second[i] = effect(i, &raised, &lowered, &up) - first[i];
        }
    });
    sink.give(0, pull);
    Some(())
}

/// The linear layer's own contributions above and below zero get their own multipliers.
pub(super) fn linear<T: Real>(node: &Node<T>, m: Tensor<T>, sink: &mut Sink<'_, T>) -> Option<()> {
    let ctx = sink.context();
    let (lower, more) = (half(ctx, &m, false), half(ctx, &m, true));
    if more.data().iter().all(|more| more.value() == 0.0) {
        return Gradient.pull(node, m, sink);
    }
    let raise = elementwise::zip(ctx, more, &lower, |more, lower| lower + more);
    let (x, w) = (node.saved[0].as_ref()?, node.saved[1].as_ref()?);
    let pull = signed::pull(ctx, &difference(ctx, x), w, &raise, &lower);
    sink.give(0, texts_only(ctx, x.rows(), x.cols(), |out| out.copy_from_slice(pull.data())));
    Some(())
}

/// One multiplier for the layer's whole difference: what all contributions had together.
pub(super) fn told<T: Real>(ctx: &Context<T>, node: &Node<T>, m: &Tensor<T>) -> Tensor<T> {
    let (lower, more) = split(m);
    let parts = contributions(ctx, node);
    texts_only(ctx, m.rows(), m.cols(), |out| {
        for (i, out) in out.iter_mut().enumerate() {
            let whole = parts.as_ref().map_or(T::default(), |(up, down)| up.data()[i] + down.data()[i]);
            *out = match &parts {
                Some((up, _)) if whole.value().abs() >= NOTHING => lower[i] + more[i] * up.data()[i] / whole,
                _ => lower[i] + more[i] * T::from_f64(0.5),
            };
        }
    })
}

/// By how much the linear layer's inputs raise each output of the texts, and lower it.
fn contributions<T: Real>(ctx: &Context<T>, node: &Node<T>) -> Option<(Tensor<T>, Tensor<T>)> {
    let (x, w) = (node.saved[0].as_ref()?, node.saved[1].as_ref()?);
    Some(signed::contributions(ctx, &difference(ctx, x), w))
}
