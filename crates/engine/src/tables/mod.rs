//! Rule tables: how a cotangent travels backward through each operation.
//!
//! A table is one implementation of [`Table`]; the operations know nothing of it. The plain [`Gradient`] serves every
//! operation; other tables serve the plain ones and run on a tape in [`Mode::Lowered`](crate::Mode::Lowered).

mod gradient;

pub use gradient::Gradient;

use crate::context::Context;
use crate::kernels::elementwise::{unshared, zip};
use crate::scalar::Scalar;
use crate::tape::Node;
use crate::tensor::Tensor;

/// One rule for each operation it can handle.
pub trait Table<T: Scalar>: Sync {
    /// Its name in messages.
    fn name(&self) -> &'static str;

    /// Pulls the cotangent of a node's output back to the inputs that the sink wants; none where there is no rule.
    fn pull(&self, node: &Node<T>, cotangent: Tensor<T>, sink: &mut Sink<'_, T>) -> Option<()>;
}

/// Collects the cotangents of one node's inputs.
pub struct Sink<'a, T> {
    ctx: &'a Context<T>,
    cotangents: &'a mut [Option<Tensor<T>>],
    node: &'a Node<T>,
    useful: &'a [bool],
}

impl<'a, T: Scalar> Sink<'a, T> {
    pub(crate) fn new(
        ctx: &'a Context<T>,
        cotangents: &'a mut [Option<Tensor<T>>],
        node: &'a Node<T>,
        useful: &'a [bool],
    ) -> Self {
        Self { ctx, cotangents, node, useful }
    }

    /// The context to compute on.
    pub fn context(&self) -> &'a Context<T> {
        self.ctx
    }

    /// Whether anybody asked for what lies behind this input.
    pub fn wants(&self, input: usize) -> bool {
        self.slot(input).is_some()
    }

    fn slot(&self, input: usize) -> Option<usize> {
        let id = self.node.inputs.get(input).copied().flatten()?.index();
        self.useful[id].then_some(id)
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
