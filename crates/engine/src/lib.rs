//! Tensors, about forty operations, a tape with rule tables, second order by dual scalars: exact gradients at any node.
//!
//! 1. A [`Context`] owns the threads and the recycled memory.
//! 2. A [`Tape`] evaluates operations at once and remembers only what leads from a [watched](Tape::watch) value on.
//! 3. [`Tape::backward`] pulls cotangents back through a [`RuleTable`] of rules, pruned to what was asked.
//! 4. Everything is generic over [`Scalar`]: `f32`, `f64`, and [`Dual`] of either for Jacobian- and Hessian-vector
//!    products (forward over reverse).
//!
//! A batch is packed, never padded: sequences lie end to end in `[T, H]` and [`Segments`] say where each begins.

mod context;
mod dual;
mod emit;
pub mod gemm;
mod heads;
mod kernels;
mod math;
mod op;
mod optimiser;
mod param_grad;
pub mod peak;
mod recurrent;
mod scalar;
mod segments;
mod tables;
mod tape;
mod tensor;
pub mod tile;
mod windows;

pub use context::{Context, Counts};
pub use dual::Dual;
pub use heads::Heads;
pub use kernels::dropout::random_bits;
pub use kernels::pack::PanelBudget;
pub use op::{Dropout, Op, OpKind, Patch, Unary};
pub use optimiser::{Moments, Optimiser, Update};
pub use param_grad::ParamGrad;
pub use recurrent::{
    CellLook, CellPart, CellSite, Recurrence, RecurrentCell, RecurrentStepper, RecurrentWeights,
};
pub use scalar::{Real, Scalar};
pub use segments::Segments;
pub use tables::{Deconvolution, DeepLift, Gradient, GuidedBackprop, Ledger, Lrp, RuleTable, Shares, Sink};
pub use tape::{Mode, Node, NodeId, Tape, Var};
pub use tensor::Tensor;
pub use windows::Windows;

/// The engine's one error: an operation without a rule in the requested table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the operation '{op}' has no rule in the table '{table}'")]
pub struct NoRule {
    /// The operation that has no rule.
    pub op: &'static str,
    /// The rule table that was asked.
    pub table: &'static str,
}
