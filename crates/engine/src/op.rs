use crate::heads::Heads;
use crate::recurrent::Recurrence;
use crate::scalar::Scalar;
use crate::segments::Segments;
use crate::windows::Windows;
use std::ops::Range;
use std::sync::Arc;

/// Declares the kinds of operation once, so that the list of all of them cannot miss one.
macro_rules! kinds {
    ($($name:ident = $text:literal,)*) => {
        /// An operation without its data: what rule tables and tests enumerate.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the names are the documentation; see Op")]
        pub enum OpKind { $($name,)* }

        impl OpKind {
            /// Every kind of operation.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Its name in messages.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

kinds! {
    Leaf = "leaf",
    Linear = "linear",
    Gather = "gather",
    Scores = "attention scores",
    Softmax = "softmax",
    Context = "attention context",
    Attention = "attention",
    Add = "add",
    Sub = "sub",
    Mul = "mul",
    Div = "div",
    AddRow = "add row",
    MulRow = "mul row",
    AddColumn = "add column",
    MulColumn = "mul column",
    RowSum = "row sum",
    Scale = "scale",
    Shift = "shift",
    Exp = "exp",
    Ln = "ln",
    Sqrt = "sqrt",
    Recip = "recip",
    Square = "square",
    Tanh = "tanh",
    Sigmoid = "sigmoid",
    Softplus = "softplus",
    Relu = "relu",
    Gelu = "gelu",
    GeluTanh = "gelu tanh",
    Silu = "silu",
    LayerNorm = "layer norm",
    AddLayerNorm = "add layer norm",
    LogSoftmax = "log softmax",
    Pick = "pick",
    Patch = "patch",
    Dropout = "dropout",
    Reshape = "reshape",
    Columns = "columns",
    JoinColumns = "join columns",
    JoinRows = "join rows",
    AddRows = "add rows",
    Gate = "gate",
    Unfold = "unfold",
    SegmentSum = "segment sum",
    SegmentMax = "segment max",
    Recurrent = "recurrence",
}

/// An operation. Inputs stand before the arrow; T, H and so on are the shape letters of the workspace.
#[derive(Debug, Clone)]
pub enum Op<T> {
    /// A value that came from outside.
    Leaf,
    /// x \[T, I\], w \[O, I\], optionally b \[1, O\] → x·wᵀ + b \[T, O\]
    Linear,
    /// table \[V, H\] → its rows at these indices
    Gather(Arc<[usize]>),
    /// q, k \[T, N·D\] → scale·q·kᵀ for each sequence and head, ragged
    Scores(Heads),
    /// ragged scores → probabilities over the keys
    Softmax(Heads),
    /// ragged probabilities, v \[T, N·D\] → weighted values \[T, N·D\]
    Context(Heads),
    /// q, k, v → context: the three above in one kernel
    Attention(Heads),
    /// a, b → a + b
    Add,
    /// a, b → a − b
    Sub,
    /// a, b → a ⊙ b
    Mul,
    /// a, b → a / b
    Div,
    /// x \[T, H\], r \[1, H\] → x with r added to every row
    AddRow,
    /// x \[T, H\], r \[1, H\] → x with every row multiplied by r
    MulRow,
    /// x \[T, H\], c \[T, 1\] → x with c added to every column
    AddColumn,
    /// x \[T, H\], c \[T, 1\] → x with every column multiplied by c
    MulColumn,
    /// x \[T, H\] → the sum of each row \[T, 1\]
    RowSum,
    /// x → factor · x
    Scale(f64),
    /// x → x + constant
    Shift(f64),
    /// x → f(x), element by element
    Unary(Unary),
    /// x, gain \[1, H\], bias \[1, H\] → normalised rows; the number is the epsilon under the root
    LayerNorm(f64),
    /// x, residual, gain, bias → the layer norm of x + residual
    AddLayerNorm(f64),
    /// x \[T, C\] → the logarithm of each row's softmax
    LogSoftmax,
    /// x \[T, C\] → one element of each row \[T, 1\]
    Pick(Arc<[usize]>),
    /// x → x with some elements changed
    Patch(Arc<Patch<T>>),
    /// x → x with some elements zeroed and the others scaled up
    Dropout(Arc<Dropout>),
    /// x → the same elements in this many rows and columns
    Reshape(usize, usize),
    /// x \[T, H\] → its columns from the first number up to but not including the second
    Columns(usize, usize),
    /// any number of matrices of T rows → side by side
    JoinColumns,
    /// any number of matrices of H columns → one below the other
    JoinRows,
    /// x \[T, H\], table \[V, H\] → x plus the table's rows at these indices
    AddRows(Arc<[usize]>),
    /// gate, signal → gate ⊙ signal, where relevance is the signal's alone
    Gate,
    /// x \[T, I\] → the rows that each window of K reads, one after the other \[T, K·I\]
    Unfold(Windows),
    /// x \[T, H\] → the sum of each sequence's rows \[B, H\]
    SegmentSum(Segments),
    /// x \[T, H\] → the largest of each sequence's rows, column by column \[B, H\]; of an empty sequence zero
    SegmentMax(Segments),
    /// x·W_ihᵀ + b_ih \[T, G·H\], W_hh \[G·H, H\], b_hh \[1, G·H\], perhaps a first state → hidden states \[T, H\]
    Recurrent(Recurrence),
}

impl<T> Op<T> {
    /// The kind of operation, without its parameters.
    pub fn kind(&self) -> OpKind {
        match self {
            Self::Leaf => OpKind::Leaf,
            Self::Linear => OpKind::Linear,
            Self::Gather(_) => OpKind::Gather,
            Self::Scores(_) => OpKind::Scores,
            Self::Softmax(_) => OpKind::Softmax,
            Self::Context(_) => OpKind::Context,
            Self::Attention(_) => OpKind::Attention,
            Self::Add => OpKind::Add,
            Self::Sub => OpKind::Sub,
            Self::Mul => OpKind::Mul,
            Self::Div => OpKind::Div,
            Self::AddRow => OpKind::AddRow,
            Self::MulRow => OpKind::MulRow,
            Self::AddColumn => OpKind::AddColumn,
            Self::MulColumn => OpKind::MulColumn,
            Self::RowSum => OpKind::RowSum,
            Self::Scale(_) => OpKind::Scale,
            Self::Shift(_) => OpKind::Shift,
            Self::Unary(unary) => unary.kind(),
            Self::LayerNorm(_) => OpKind::LayerNorm,
            Self::AddLayerNorm(_) => OpKind::AddLayerNorm,
            Self::LogSoftmax => OpKind::LogSoftmax,
            Self::Pick(_) => OpKind::Pick,
            Self::Patch(_) => OpKind::Patch,
            Self::Dropout(_) => OpKind::Dropout,
            Self::Reshape(..) => OpKind::Reshape,
            Self::Columns(..) => OpKind::Columns,
            Self::JoinColumns => OpKind::JoinColumns,
            Self::JoinRows => OpKind::JoinRows,
            Self::AddRows(_) => OpKind::AddRows,
            Self::Gate => OpKind::Gate,
            Self::Unfold(_) => OpKind::Unfold,
            Self::SegmentSum(_) => OpKind::SegmentSum,
            Self::SegmentMax(_) => OpKind::SegmentMax,
            Self::Recurrent(_) => OpKind::Recurrent,
        }
    }

    /// Which inputs, and whether the output, the plain gradient needs, given which inputs want one.
    pub(crate) fn saves(&self, wants: &[bool]) -> (Vec<bool>, bool) {
        let want = |i: usize| wants.get(i).copied().unwrap_or(false);
        match self {
            Self::Linear | Self::Scores(_) | Self::Context(_) => (vec![want(1), want(0), false], false),
            Self::Mul | Self::Gate | Self::MulRow | Self::MulColumn => (vec![want(1), want(0)], false),
            Self::Div => (vec![false, true], want(1)),
            Self::Attention(_) => (vec![true; 3], false),
            // The weight and the first state; what else is needed the kernel keeps itself.
            Self::Recurrent(_) => (vec![false, true, false, true], false),
            Self::LayerNorm(_) => (vec![false, true], false),
            Self::AddLayerNorm(_) => (vec![false, false, true], false),
            Self::Softmax(_) | Self::LogSoftmax | Self::Unary(Unary::Tanh) => (vec![false], true),
            Self::Unary(_) | Self::SegmentMax(_) => (vec![true], false),
            _ => (vec![], false),
        }
    }
}

/// A function of one number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Unary {
    /// The exponential function e^x.
    Exp,
    /// The natural logarithm ln x.
    Ln,
    /// The square root √x.
    Sqrt,
    /// The reciprocal value 1/x.
    Recip,
    /// The square of x.
    Square,
    /// The hyperbolic tangent tanh x.
    Tanh,
    /// The logistic function 1/(1 + e^−x).
    Sigmoid,
    /// The smooth rectifier (1/β)·ln(1 + e^(βx)) for this β above zero: the larger it is, the nearer to [`Unary::Relu`]
    Softplus(f64),
    /// max(x, 0), with derivative 0 at 0
    Relu,
    /// The exact GELU: x·Φ(x).
    Gelu,
    /// The tanh approximation of [`Unary::Gelu`]
    GeluTanh,
    /// The sigmoid-weighted unit: x·sigmoid(x).
    Silu,
}

impl Unary {
    /// Whether it is a rectifier, sharp or smooth: about 0 below zero and about x above.
    pub(crate) fn rectifies(self) -> bool {
        matches!(self, Self::Relu | Self::Softplus(_) | Self::Gelu | Self::GeluTanh | Self::Silu)
    }

    fn kind(self) -> OpKind {
        match self {
            Self::Exp => OpKind::Exp,
            Self::Ln => OpKind::Ln,
            Self::Sqrt => OpKind::Sqrt,
            Self::Recip => OpKind::Recip,
            Self::Square => OpKind::Square,
            Self::Tanh => OpKind::Tanh,
            Self::Sigmoid => OpKind::Sigmoid,
            Self::Softplus(_) => OpKind::Softplus,
            Self::Relu => OpKind::Relu,
            Self::Gelu => OpKind::Gelu,
            Self::GeluTanh => OpKind::GeluTanh,
            Self::Silu => OpKind::Silu,
        }
    }
}

/// Changes of some elements: x ← keep·x + shift, over runs of neighbouring elements, in order.
#[derive(Debug, Clone)]
pub struct Patch<T> {
    pub(crate) runs: Vec<Run<T>>,
    pub(crate) values: Vec<T>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Run<T> {
    pub(crate) start: usize,
    pub(crate) len: usize,
    pub(crate) keep: T,
    /// Index of the first shift in `values`.
    pub(crate) shift: usize,
    /// Whether all elements share that one shift.
    pub(crate) shared: bool,
}

impl<T: Scalar> Default for Patch<T> {
    fn default() -> Self {
        Self { runs: Vec::new(), values: Vec::new() }
    }
}

impl<T: Scalar> Patch<T> {
    /// Changes `len` elements from `start` on; `shift` holds one number an element, or one for all.
    pub fn push(&mut self, start: usize, len: usize, keep: T, shift: &[T]) {
        assert!(shift.len() == len || shift.len() == 1, "{} shifts for {len} elements", shift.len());
        let run = Run { start, len, keep, shift: self.values.len(), shared: shift.len() == 1 };
        self.values.extend_from_slice(shift);
        self.runs.push(run);
    }

    /// The changes of some rows and columns of a matrix of `width` columns, as changes of the matrix that these are;
    /// the rows rise.
    pub fn within(&self, width: usize, rows: &[usize], columns: Range<usize>) -> Self {
        let mut part = Self::default();
        for run in self.runs.iter().filter(|run| run.len > 0) {
            for row in run.start / width..=(run.start + run.len - 1) / width {
                let Ok(at) = rows.binary_search(&row) else { continue };
                let first = run.start.max(row * width + columns.start);
                let end = (run.start + run.len).min(row * width + columns.end);
                if first < end {
                    let start = at * columns.len() + first - row * width - columns.start;
                    let shifts = match run.shared {
                        true => run.shift..run.shift + 1,
                        false => run.shift + first - run.start..run.shift + end - run.start,
                    };
                    part.push(start, end - first, run.keep, &self.values[shifts]);
                }
            }
        }
        part
    }

    /// Whether the patch changes nothing.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }
}

/// Which elements a dropout keeps. The choice depends on the keys alone, so that it is the same forward and backward,
/// on any number of threads and in any company.
#[derive(Debug, Clone, PartialEq)]
pub struct Dropout {
    /// The share of elements that become zero, from 0 up to but not including 1.
    pub rate: f64,
    /// Runs of elements that cover the value in order: how many, and the key of their random numbers.
    pub runs: Vec<(usize, u64)>,
}
