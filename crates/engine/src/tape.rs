use crate::NoRule;
use crate::context::Context;
use crate::kernels::norm::Normalised;
use crate::kernels::recurrent::{self, Inputs, States};
use crate::kernels::{attention, dropout, elementwise, joins, linear, norm, rows, segments, softmax};
use crate::op::{Op, Unary};
use crate::scalar::Scalar;
use crate::tables::{Ledger, RuleTable, Sink};
use crate::tensor::Tensor;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a tape remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Nothing is remembered, operations only give their values.
    Off,
    /// What the plain gradient needs, from fused kernels.
    Gradient,
    /// Plain operations only, each with all its inputs and its output, for every other rule table.
    Lowered,
}

/// The name of a recorded value on its tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NodeId(usize);

impl NodeId {
    pub(crate) fn index(self) -> usize {
        self.0
    }
}

/// A value, and where it stands on the tape if it leads from a watched one.
#[derive(Debug, Clone)]
pub struct Var<T> {
    /// The value that the operation gave.
    pub value: Tensor<T>,
    /// Its place on the tape.
    pub node: Option<NodeId>,
}

impl<T: Scalar> From<Tensor<T>> for Var<T> {
    fn from(value: Tensor<T>) -> Self {
        Self { value, node: None }
    }
}

/// One operation as the tape remembers it.
#[derive(Debug)]
pub struct Node<T> {
    /// Which operation it was.
    pub op: Op<T>,
    /// The inputs that stand on the tape themselves.
    pub inputs: Vec<Option<NodeId>>,
    /// Rows and columns of each input.
    pub shapes: Vec<(usize, usize)>,
    /// The inputs' values, as far as rules need them.
    pub saved: Vec<Option<Tensor<T>>>,
    /// The output, where rules need it.
    pub output: Option<Tensor<T>>,
    /// Rows and columns of the output.
    pub shape: (usize, usize),
    pub(crate) kept: Kept<T>,
}

/// What a fused kernel keeps for its own backward rule.
#[derive(Debug)]
pub(crate) enum Kept<T> {
    Nothing,
    Normalised(Normalised<T>),
    Probs(Tensor<T>),
    States(Box<States<T>>),
}

/// Evaluates operations at once and remembers those downstream of a watched value.
pub struct Tape<T> {
    ctx: Arc<Context<T>>,
    mode: Mode,
    nodes: Vec<Node<T>>,
    ops: AtomicUsize,
    /// What stands for max(x, 0), if anything does, and how often it did.
    softened: Option<(f64, usize)>,
}

impl<T: Scalar> Tape<T> {
    /// A tape on which nothing has happened yet.
    pub fn new(ctx: Arc<Context<T>>, mode: Mode) -> Self {
        Self { ctx, mode, nodes: Vec::new(), ops: AtomicUsize::new(0), softened: None }
    }

    /// The context it runs on.
    pub fn context(&self) -> &Arc<Context<T>> {
        &self.ctx
    }

    /// What the tape remembers of operations.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// How many operations have run, forward and backward.
    pub fn ops(&self) -> usize {
        self.ops.load(Ordering::Relaxed)
    }

    /// From now on every ReLU is a softplus with this β instead, forward and backward.
    pub fn soften(&mut self, beta: f64) {
        self.softened = Some((beta, 0));
    }

    /// How many ReLUs became a softplus.
    pub fn softened(&self) -> usize {
        self.softened.map_or(0, |(_, count)| count)
    }

    /// The operation that runs where a network asks for one.
    fn meant(&mut self, op: Op<T>) -> Op<T> {
        match (&op, &mut self.softened) {
            (Op::Unary(Unary::Relu), Some((beta, count))) => {
                *count += 1;
                Op::Unary(Unary::Softplus(*beta))
            }
            _ => op,
        }
    }

    /// Makes a value one that gradients can be asked for; everything computed from it is remembered from now on.
    pub fn watch(&mut self, mut var: Var<T>) -> Var<T> {
        if self.mode != Mode::Off && var.node.is_none() {
            let shape = (var.value.rows(), var.value.cols());
            let (inputs, shapes, saved, kept) = (Vec::new(), Vec::new(), Vec::new(), Kept::Nothing);
            let output = (self.mode == Mode::Lowered).then(|| var.value.clone());
            var.node = Some(self.push(Node { op: Op::Leaf, inputs, shapes, saved, output, shape, kept }));
        }
        var
    }

    /// Runs one operation. Inputs that nobody else holds may be overwritten in place.
    pub fn apply(&mut self, op: Op<T>, inputs: impl Into<Vec<Var<T>>>) -> Var<T> {
        let (op, inputs) = (self.meant(op), inputs.into());
        self.ops.fetch_add(1, Ordering::Relaxed);
        let wants: Vec<bool> = inputs.iter().map(|v| v.node.is_some()).collect();
        let record = self.mode != Mode::Off && wants.contains(&true);
        if !record {
            let values = inputs.into_iter().map(|v| v.value).collect();
            return evaluate(&self.ctx, &op, values, false).0.into();
        }
        let (save_inputs, save_output) = match self.mode {
            Mode::Lowered => (vec![true; inputs.len()], true),
            _ => op.saves(&wants),
        };
        let save = |i: usize| save_inputs.get(i) == Some(&true);
        let saved = inputs.iter().enumerate().map(|(i, v)| save(i).then(|| v.value.clone())).collect();
        let shapes = inputs.iter().map(|v| (v.value.rows(), v.value.cols())).collect();
        let nodes = inputs.iter().map(|v| v.node).collect();
        let values = inputs.into_iter().map(|v| v.value).collect();
        let (value, kept) = evaluate(&self.ctx, &op, values, true);
        let output = save_output.then(|| value.clone());
        let shape = (value.rows(), value.cols());
        let node = self.push(Node { op, inputs: nodes, shapes, saved, output, shape, kept });
        Var { value, node: Some(node) }
    }

    fn push(&mut self, node: Node<T>) -> NodeId {
        self.nodes.push(node);
        NodeId(self.nodes.len() - 1)
    }

    /// Pulls the seeds back to the nodes of `wrt`; a node that no seed reaches gives none.
    ///
    /// Only operations between the seeds and `wrt` are visited. Can be called again with other seeds.
    pub fn backward(
        &self,
        seeds: Vec<(NodeId, Tensor<T>)>,
        wrt: &[NodeId],
        table: &dyn RuleTable<T>,
    ) -> Result<Vec<Option<Tensor<T>>>, NoRule> {
        self.pull_back(seeds, wrt, table, None)
    }

    /// What the rules of a table take aside between the seeds and `wrt`: biases, constants, stabilisers.
    pub fn booked(
        &self,
        seeds: Vec<(NodeId, Tensor<T>)>,
        wrt: &[NodeId],
        table: &dyn RuleTable<T>,
    ) -> Result<Ledger, NoRule> {
        let mut ledger = Ledger::default();
        self.pull_back(seeds, wrt, table, Some(&mut ledger))?;
        Ok(ledger)
    }

    fn pull_back(
        &self,
        seeds: Vec<(NodeId, Tensor<T>)>,
        wrt: &[NodeId],
        table: &dyn RuleTable<T>,
        mut ledger: Option<&mut Ledger>,
    ) -> Result<Vec<Option<Tensor<T>>>, NoRule> {
        let useful = self.downstream_of(wrt);
        let mut cotangents: Vec<Option<Tensor<T>>> = vec![None; self.nodes.len()];
        let mut last = 0;
        for (NodeId(id), seed) in seeds {
            assert_eq!(
                (seed.rows(), seed.cols()),
                self.nodes[id].shape,
                "a seed of another shape than its node"
            );
            last = last.max(id + 1);
            let sum = match cotangents[id].take() {
                Some(earlier) => elementwise::zip(&self.ctx, earlier, &seed, |a, b| a + b),
                None => seed,
            };
            cotangents[id] = Some(sum);
        }
        let mut results = vec![None; wrt.len()];
        for id in (0..last).rev() {
            let Some(cotangent) = cotangents[id].take() else { continue };
            let node = &self.nodes[id];
            for (result, _) in results.iter_mut().zip(wrt).filter(|(_, node)| node.0 == id) {
                *result = Some(table.told(&self.ctx, node, &cotangent));
            }
            // A seed on what does not lead from `wrt` is a constant as a whole.
            if let (false, Some(ledger), Some(output)) = (useful[id], &mut ledger, &node.output) {
                ledger.add(output, &cotangent, |y, m| y * m);
            }
            if node.inputs.iter().flatten().any(|input| useful[input.0]) {
                self.ops.fetch_add(1, Ordering::Relaxed);
                let mut sink = Sink {
                    ctx: &self.ctx,
                    cotangents: &mut cotangents,
                    nodes: &self.nodes,
                    node,
                    useful: &useful,
                    ledger: ledger.as_deref_mut(),
                    only: None,
                };
                table
                    .pull(node, cotangent, &mut sink)
                    .ok_or(NoRule { op: node.op.kind().name(), table: table.name() })?;
            }
        }
        Ok(results)
    }

    /// Which nodes depend on one of these, themselves included.
    fn downstream_of(&self, wrt: &[NodeId]) -> Vec<bool> {
        let mut useful = vec![false; self.nodes.len()];
        for (id, node) in self.nodes.iter().enumerate() {
            useful[id] =
                wrt.contains(&NodeId(id)) || node.inputs.iter().flatten().any(|input| useful[input.0]);
        }
        useful
    }
}

/// The value of an operation, and what its fused backward rule needs where `keep` is set.
fn evaluate<T: Scalar>(
    ctx: &Context<T>,
    op: &Op<T>,
    inputs: Vec<Tensor<T>>,
    keep: bool,
) -> (Tensor<T>, Kept<T>) {
    let mut inputs = inputs.into_iter();
    let mut next = || inputs.next().unwrap_or_else(|| panic!("{} lacks an input", op.kind().name()));
    let value = match op {
        Op::Leaf => next(),
        Op::Linear => {
            let (x, w) = (next(), next());
            linear::linear(ctx, &x, &w, inputs.next().as_ref())
        }
        Op::Gather(index) => rows::gather(ctx, &next(), index),
        Op::Scores(heads) => attention::scores(ctx, heads, &next(), &next()),
        Op::Softmax(heads) => softmax::ragged(ctx, heads, &next()),
        Op::Context(heads) => attention::context(ctx, heads, &next(), &next()),
        Op::Attention(heads) => {
            let (q, k, v) = (next(), next(), next());
            let (value, probs) = attention::attention(ctx, heads, [&q, &k, &v], keep);
            return (value, probs.map_or(Kept::Nothing, Kept::Probs));
        }
        Op::Add => elementwise::zip(ctx, next(), &next(), |a, b| a + b),
        Op::Sub => elementwise::zip(ctx, next(), &next(), |a, b| a - b),
        Op::Mul | Op::Gate => elementwise::zip(ctx, next(), &next(), |a, b| a * b),
        Op::Div => elementwise::zip(ctx, next(), &next(), |a, b| a / b),
        Op::AddRow => rows::with_row(ctx, &next(), &next(), |x, r| x + r),
        Op::MulRow => rows::with_row(ctx, &next(), &next(), |x, r| x * r),
        Op::AddColumn => rows::with_column(ctx, &next(), &next(), |x, c| x + c),
        Op::MulColumn => rows::with_column(ctx, &next(), &next(), |x, c| x * c),
        Op::RowSum => {
            let x = next();
            rows::sum_rows(ctx, &x, &x, |x, _| x)
        }
        Op::Scale(factor) => {
            let factor = T::from_f64(*factor);
            elementwise::map(ctx, next(), |x| x * factor)
        }
        Op::Shift(constant) => {
            let constant = T::from_f64(*constant);
            elementwise::map(ctx, next(), |x| x + constant)
        }
        Op::Unary(unary) => elementwise::unary(ctx, *unary, next()),
        Op::LayerNorm(epsilon) => {
            let (x, gain, bias) = (next(), next(), next());
            let (value, kept) = norm::layer_norm(ctx, x, None, &gain, &bias, *epsilon, keep);
            return (value, kept.map_or(Kept::Nothing, Kept::Normalised));
        }
        Op::AddLayerNorm(epsilon) => {
            let (x, residual, gain, bias) = (next(), next(), next(), next());
            let (value, kept) = norm::layer_norm(ctx, x, Some(&residual), &gain, &bias, *epsilon, keep);
            return (value, kept.map_or(Kept::Nothing, Kept::Normalised));
        }
        Op::LogSoftmax => softmax::log_softmax(ctx, &next()),
        Op::Pick(columns) => rows::pick(ctx, &next(), columns),
        Op::Patch(patch) => elementwise::patch(ctx, patch, next()),
        Op::Dropout(choice) => dropout::dropout(ctx, choice, next()),
        Op::Reshape(rows, cols) => next().reshaped(*rows, *cols),
        Op::Columns(from, to) => joins::columns(ctx, &next(), *from..*to),
        Op::JoinColumns => joins::join_columns(ctx, &inputs.collect::<Vec<_>>()),
        Op::JoinRows => joins::join_rows(ctx, &inputs.collect::<Vec<_>>()),
        Op::AddRows(index) => joins::add_rows(ctx, next(), &next(), index),
        Op::Unfold(windows) => segments::unfold(ctx, windows, &next()),
        Op::SegmentSum(segments) => segments::sum(ctx, segments, &next()),
        Op::SegmentMax(segments) => segments::max(ctx, segments, &next()),
        Op::Recurrent(recurrence) => {
            let (x, weight, bias) = (next(), next(), next());
            let start = inputs.next();
            let inputs = Inputs { projected: &x, weight: &weight, bias: &bias, start: start.as_ref() };
            let (value, states) = recurrent::forward(ctx, recurrence, &inputs, keep);
            return (value, states.map_or(Kept::Nothing, |states| Kept::States(Box::new(states))));
        }
    };
    (value, Kept::Nothing)
}
