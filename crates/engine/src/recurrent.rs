//! Recurrent layers: Elman's network (1990), the LSTM (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al.
//! 2000) and the GRU (Cho et al. 2014), by the equations of PyTorch. With the input's part aₖ = Wₖx + bₖ of a gate and the
//! recurrent part uₖ = Uₖh₋ + b′ₖ:
//!
//! - simple: h = tanh(a + u)
//! - LSTM: i, f, o = σ(a + u), g = tanh(a + u), c = f⊙c₋ + i⊙g, h = o⊙tanh c
//! - GRU: r, z = σ(a + u), n = tanh(aₙ + r⊙uₙ), h = (1 − z)⊙n + z⊙h₋
//!
//! One fused operation computes all steps of all sequences where nobody looks inside. The composed form of
//! [`Tape::recurrent_inside`] goes step by step through plain operations, for other rule tables, for edits and for whoever
//! asks for a gate.

mod stepper;
mod steps;
mod taps;

pub use stepper::RecurrentStepper;

use crate::op::{Op, Patch};
use crate::scalar::Scalar;
use crate::segments::Segments;
use crate::tape::{Mode, NodeId, Tape, Var};

/// Which equations a recurrent layer follows, with PyTorch's order of gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecurrentCell {
    /// Gates in the order i, f, g, o.
    Lstm,
    /// Gates in the order r, z, n; the reset gate multiplies the recurrent product with its bias.
    Gru,
    /// A simple recurrence with one tanh.
    Tanh,
}

/// A quantity inside a cell, one row a token; gates are meant after their activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CellPart {
    /// The input gate i of an LSTM.
    Input,
    /// The forget gate f of an LSTM.
    Forget,
    /// What may be written: g of an LSTM, n of a GRU.
    Candidate,
    /// The output gate o of an LSTM.
    Output,
    /// The cell c of an LSTM.
    Cell,
    /// The reset gate r of a GRU.
    Reset,
    /// The update gate z of a GRU.
    Update,
    /// The hidden state h, which is what the layer hands on.
    Hidden,
}

impl RecurrentCell {
    /// How many gates its weights hold, one below the other.
    pub fn gates(self) -> usize {
        match self {
            Self::Lstm => 4,
            Self::Gru => 3,
            Self::Tanh => 1,
        }
    }

    /// What can be looked at, in the order of computation.
    pub fn parts(self) -> &'static [CellPart] {
        use CellPart::{Candidate, Cell, Forget, Hidden, Input, Output, Reset, Update};
        match self {
            Self::Lstm => &[Input, Forget, Candidate, Output, Cell, Hidden],
            Self::Gru => &[Reset, Update, Candidate, Hidden],
            Self::Tanh => &[Hidden],
        }
    }

    /// How many vectors a state has.
    pub(crate) fn states(self) -> usize {
        if self == Self::Lstm { 2 } else { 1 }
    }
}

/// The geometry of one direction of a recurrent layer over packed sequences.
#[derive(Debug, Clone)]
pub struct Recurrence {
    /// The equations of a step.
    pub cell: RecurrentCell,
    /// Whether each sequence is read from its end.
    pub reverse: bool,
    /// Where each sequence begins and ends.
    pub segments: Segments,
}

/// One direction of a recurrent layer: the four tensors that PyTorch has, and where to begin.
#[derive(Debug, Clone)]
pub struct RecurrentWeights<T> {
    /// Whether each sequence is read from its end.
    pub reverse: bool,
    /// The weight of the input, `weight_ih` \[gates·H, I\].
    pub input: Var<T>,
    /// The weight of the state, `weight_hh` \[gates·H, H\].
    pub hidden: Var<T>,
    /// The bias beside the input, `bias_ih` \[1, gates·H\].
    pub input_bias: Var<T>,
    /// The bias beside the state, `bias_hh` \[1, gates·H\].
    pub hidden_bias: Var<T>,
    /// The first state \[B, H\], for an LSTM \[B, 2·H\] with the cell beside the hidden state; zeros where there is none.
    pub start: Option<Var<T>>,
}

/// A part of a cell that somebody edits or asks for.
#[derive(Debug, Clone)]
pub struct CellLook<T> {
    /// Which quantity is meant.
    pub part: CellPart,
    /// Changes of the whole packed quantity \[T, directions·H\]; may be empty.
    pub patch: Patch<T>,
    /// Whether gradients at it will be asked for.
    pub watch: bool,
}

/// What was found where somebody looked into a cell.
#[derive(Debug, Clone)]
pub struct CellSite<T> {
    /// The quantity after its edits \[T, directions·H\]; seeds are placed at its node.
    pub var: Var<T>,
    /// The node that [`Tape::backward`] is asked for to get the cotangent of the quantity; none where nobody watches.
    pub slope: Option<NodeId>,
}

impl<T: Scalar> Tape<T> {
    /// A recurrent layer with its directions side by side: x \[T, I\] → \[T, directions·H\].
    ///
    /// A single step of a decoder is a batch of sequences of one token with a start.
    pub fn recurrent(
        &mut self,
        cell: RecurrentCell,
        segments: &Segments,
        x: Var<T>,
        directions: &[RecurrentWeights<T>],
    ) -> Var<T> {
        if self.mode() == Mode::Lowered {
            return self.recurrent_inside(cell, segments, x, directions, Vec::new()).0;
        }
        let run = |w: &RecurrentWeights<T>| {
            let projected = [x.clone(), w.input.clone(), w.input_bias.clone()];
            let projected = self.apply(Op::Linear, projected); // [T, gates·H]
            let mut inputs = vec![projected, w.hidden.clone(), w.hidden_bias.clone()];
            inputs.extend(w.start.clone());
            let recurrence = Recurrence { cell, reverse: w.reverse, segments: segments.clone() };
            self.apply(Op::Recurrent(recurrence), inputs) // [T, H]
        };
        let hidden: Vec<_> = directions.iter().map(run).collect();
        self.side_by_side(hidden)
    }

    /// Matrices side by side; one alone stays what it is.
    fn side_by_side(&mut self, mut parts: Vec<Var<T>>) -> Var<T> {
        match parts.len() {
            1 => parts.remove(0),
            _ => self.apply(Op::JoinColumns, parts),
        }
    }
}
