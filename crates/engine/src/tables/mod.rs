//! Rule tables: how a cotangent travels backward through each operation.
//!
//! A table is one implementation of [`RuleTable`]; the operations know nothing of it. The plain [`Gradient`] serves every
//! operation; other tables serve the plain ones and run on a tape in [`Mode::Lowered`](crate::Mode::Lowered).

mod deep_lift;
mod gradient;
mod guided;
mod ledger;
mod lrp;

pub use deep_lift::DeepLift;
pub use gradient::Gradient;
pub use guided::{Deconvolution, GuidedBackprop};
pub use ledger::Ledger;
pub use lrp::{Lrp, Shares};

use crate::context::Context;
use crate::kernels::elementwise::{unshared, zip};
use crate::scalar::Scalar;
use crate::tape::Node;
use crate::tensor::Tensor;

/// One rule for each operation it can handle.
pub trait RuleTable<T: Scalar>: Sync {
    /// Its name in messages.
    fn name(&self) -> &'static str;

    /// Pulls the cotangent of a node's output back to the inputs that the sink wants; none where there is no rule.
    fn pull(&self, node: &Node<T>, cotangent: Tensor<T>, sink: &mut Sink<'_, T>) -> Option<()>;

    /// What is told of a node's cotangent to who asked for it, where the table keeps notes of its own in there.
    fn told(&self, _ctx: &Context<T>, _node: &Node<T>, cotangent: &Tensor<T>) -> Tensor<T> {
        cotangent.clone()
    }
}

/// Collects the cotangents of one node's inputs.
pub struct Sink<'a, T> {
    pub(crate) ctx: &'a Context<T>,
    pub(crate) cotangents: &'a mut [Option<Tensor<T>>],
    pub(crate) nodes: &'a [Node<T>],
    pub(crate) node: &'a Node<T>,
    pub(crate) useful: &'a [bool],
    /// Where shares are booked that no input gets, if anybody asks.
    pub(crate) ledger: Option<&'a mut Ledger>,
    /// The one input that may get something, where a rule holds the others constant.
    pub(crate) only: Option<usize>,
}

impl<'a, T: Scalar> Sink<'a, T> {
    /// The context to compute on.
    pub fn context(&self) -> &'a Context<T> {
        self.ctx
    }

    /// Whether anybody asked for what lies behind this input.
    pub fn wants(&self, input: usize) -> bool {
        self.slot(input).is_some()
    }

    fn slot(&self, input: usize) -> Option<usize> {
        if self.only.is_some_and(|only| only != input) {
            return None;
        }
        let id = self.node.inputs.get(input).copied().flatten()?.index();
        self.useful[id].then_some(id)
    }

    /// What made an input, where it stands on the tape.
    pub fn producer(&self, input: usize) -> Option<&'a Node<T>> {
        let id = self.node.inputs.get(input).copied().flatten()?;
        self.nodes.get(id.index())
    }

    /// Lets a rule give to one input only, as if the others were constants.
    pub(crate) fn on<R>(&mut self, input: usize, rule: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.only.replace(input);
        let result = rule(self);
        self.only = before;
        result
    }

    /// Whether anybody asks for what is booked.
    pub(crate) fn books(&self) -> bool {
        self.ledger.is_some()
    }

    /// Books Σ f(a, b) over each row of `b` as a share that no input gets; `a` may be one row or one column for all.
    pub(crate) fn book(&mut self, a: &Tensor<T>, b: &Tensor<T>, f: impl Fn(f64, f64) -> f64) {
        if let Some(ledger) = &mut self.ledger {
            ledger.add(a, b, f);
        }
    }

    /// Adds a cotangent to what the input has already.
    pub fn give(&mut self, input: usize, cotangent: Tensor<T>) {
        let Some(id) = self.slot(input) else { return };
        let sum = match self.cotangents[id].take() {
            Some(earlier) => zip(self.ctx, earlier, &cotangent, |a, b| a + b),
            None => cotangent,
        };
        self.cotangents[id] = Some(sum);
    }

    /// Lets `write(destination, accumulate)` write the cotangent, or add to the one that is there.
    pub(crate) fn write(&mut self, input: usize, write: impl FnOnce(&mut [T], bool)) {
        let Some(id) = self.slot(input) else { return };
        let (rows, cols) = self.node.shapes[input];
        let sum = match self.cotangents[id].take() {
            Some(earlier) => {
                let mut earlier = unshared(self.ctx, earlier);
                if let Some(data) = earlier.data_mut() {
                    write(data, true);
                }
                earlier
            }
            None => Tensor::fill(self.ctx, rows, cols, |out| write(out, false)),
        };
        self.cotangents[id] = Some(sum);
    }

    /// Lets `add(destination)` add to the cotangent, which starts from zero.
    pub(crate) fn add(&mut self, input: usize, add: impl FnOnce(&mut [T])) {
        self.write(input, |out, accumulate| {
            if !accumulate {
                out.fill(T::default());
            }
            add(out);
        });
    }
}
