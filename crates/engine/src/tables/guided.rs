//! Guided backpropagation (Springenberg et al. 2015) and deconvolution (Zeiler and Fergus 2014).
//!
//! At a rectifier y = max(x, 0) with what comes back g: guided g·\[x > 0\]·\[g > 0\], deconvolution g·\[g > 0\].
//! Both were made for rectifiers. The smooth ones (both GELUs, SiLU and softplus) are treated alike, with their own derivative in
//! guided backpropagation; tanh, sigmoid and every other operation follow the gradient.

use super::{Gradient, RuleTable, Sink};
use crate::kernels::elementwise;
use crate::op::Op;
use crate::scalar::Scalar;
use crate::tape::Node;
use crate::tensor::Tensor;

/// The gradient, where both the input of a rectifier and what comes back are positive.
#[derive(Debug, Clone, Copy, Default)]
pub struct GuidedBackprop;

/// What comes back, where it is positive at a rectifier.
#[derive(Debug, Clone, Copy, Default)]
pub struct Deconvolution;

impl<T: Scalar> RuleTable<T> for GuidedBackprop {
    fn name(&self) -> &'static str {
        "guided backpropagation"
    }

    fn pull(&self, node: &Node<T>, g: Tensor<T>, sink: &mut Sink<'_, T>) -> Option<()> {
        let g = match rectifies(&node.op) {
            true => elementwise::zip(sink.context(), positive(g, sink), node.saved[0].as_ref()?, |g, x| {
                if x.above(T::default()) { g } else { T::default() }
            }),
            false => g,
        };
        Gradient.pull(node, g, sink)
    }
}

impl<T: Scalar> RuleTable<T> for Deconvolution {
    fn name(&self) -> &'static str {
        "deconvolution"
    }

    fn pull(&self, node: &Node<T>, g: Tensor<T>, sink: &mut Sink<'_, T>) -> Option<()> {
        if !rectifies(&node.op) {
            return Gradient.pull(node, g, sink);
        }
        let g = positive(g, sink);
        sink.give(0, g);
        Some(())
    }
}

fn rectifies<T>(op: &Op<T>) -> bool {
    matches!(op, Op::Unary(unary) if unary.rectifies())
}

fn positive<T: Scalar>(g: Tensor<T>, sink: &Sink<'_, T>) -> Tensor<T> {
    elementwise::map(sink.context(), g, elementwise::relu)
}
