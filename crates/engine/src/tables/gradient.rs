use super::{RuleTable, Sink};
use crate::kernels::norm::Normalised;
use crate::kernels::{
    attention, dropout, elementwise, joins, linear, norm, recurrent, rows, segments, softmax,
};
use crate::op::{Op, Unary};
use crate::recurrent::Recurrence;
use crate::scalar::Scalar;
use crate::tape::{Kept, Node};
use crate::tensor::Tensor;

/// The plain derivative. Kinks follow PyTorch: relu′(0) = 0.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gradient;

impl<T: Scalar> RuleTable<T> for Gradient {
    fn name(&self) -> &'static str {
        "gradient"
    }

    fn pull(&self, node: &Node<T>, g: Tensor<T>, sink: &mut Sink<'_, T>) -> Option<()> {
        let ctx = sink.context();
        let saved = |i: usize| node.saved.get(i)?.as_ref();
        match &node.op {
            Op::Leaf => sink.give(0, g),
            Op::Linear => pull_linear(node, &g, sink)?,
            Op::Gather(index) => sink.add(0, |out| rows::scatter(out, &g, index)),
            Op::Scores(heads) => {
                let sides = (saved(0).filter(|_| sink.wants(1)), saved(1).filter(|_| sink.wants(0)));
                let (to_q, to_k) = attention::scores_pull(ctx, heads, &g, sides);
                give_both(sink, to_q, to_k);
            }
            Op::Softmax(heads) => {
                sink.give(0, softmax::ragged_pull(ctx, heads, &g, node.output.as_ref()?));
            }
            Op::Context(heads) => {
                let sides = (saved(0).filter(|_| sink.wants(1)), saved(1).filter(|_| sink.wants(0)));
                let (to_p, to_v) = attention::context_pull(ctx, heads, &g, sides);
                give_both(sink, to_p, to_v);
            }
            Op::Attention(heads) => {
                let Kept::Probs(probs) = &node.kept else { return None };
                let inputs = [saved(0)?, saved(1)?, saved(2)?];
                let pulls = attention::attention_pull(ctx, heads, &g, inputs, probs);
                pulls.into_iter().enumerate().for_each(|(i, pull)| sink.give(i, pull));
            }
            Op::Add => {
                sink.give(0, g.clone());
                sink.give(1, g);
            }
            Op::Sub => {
                sink.give(0, g.clone());
                if sink.wants(1) {
                    sink.give(1, elementwise::map(ctx, g, |g| -g));
                }
            }
            Op::Mul | Op::Gate => pull_mul(node, g, sink)?,
            Op::Div => pull_div(node, g, sink)?,
            Op::AddRow => {
                sink.add(1, |out| rows::add_column_sums(out, &g, &g, |g, _| g));
                sink.give(0, g);
            }
            Op::MulRow => {
                if sink.wants(1) {
                    let x = saved(0)?;
                    sink.add(1, |out| rows::add_column_sums(out, &g, x, |g, x| g * x));
                }
                if sink.wants(0) {
                    sink.give(0, rows::with_row(ctx, &g, saved(1)?, |g, r| g * r));
                }
            }
            Op::AddColumn => {
                if sink.wants(1) {
                    sink.give(1, rows::sum_rows(ctx, &g, &g, |g, _| g));
                }
                sink.give(0, g);
            }
            Op::MulColumn => {
                if sink.wants(1) {
                    sink.give(1, rows::sum_rows(ctx, &g, saved(0)?, |g, x| g * x));
                }
                if sink.wants(0) {
                    sink.give(0, rows::with_column(ctx, &g, saved(1)?, |g, c| g * c));
                }
            }
            Op::RowSum => sink.give(0, rows::spread_column(ctx, &g, node.shapes[0].1)),
            Op::Scale(factor) => {
                let factor = T::from_f64(*factor);
                sink.give(0, elementwise::map(ctx, g, |g| g * factor));
            }
            Op::Shift(_) => sink.give(0, g),
            Op::Unary(Unary::Tanh) => sink.give(0, elementwise::tanh_pull(ctx, g, node.output.as_ref()?)),
            Op::Unary(unary) => sink.give(0, elementwise::unary_pull(ctx, *unary, g, saved(0)?)),
            Op::LayerNorm(_) => pull_norm(node, g, sink, &[0], 1)?,
            Op::AddLayerNorm(_) => pull_norm(node, g, sink, &[0, 1], 2)?,
            Op::LogSoftmax => sink.give(0, softmax::log_softmax_pull(ctx, &g, node.output.as_ref()?)),
            Op::Pick(columns) => sink.add(0, |out| {
                let cols = node.shapes[0].1;
                for (row, (&column, &g)) in columns.iter().zip(g.data()).enumerate() {
                    out[row * cols + column] += g;
                }
            }),
            Op::Patch(patch) => sink.give(0, elementwise::patch_pull(ctx, patch, g)),
            // Every element is multiplied by a constant, so the pull is the operation itself.
            Op::Dropout(choice) => sink.give(0, dropout::dropout(ctx, choice, g)),
            Op::Reshape(..) => {
                let (rows, cols) = node.shapes[0];
                sink.give(0, g.reshaped(rows, cols));
            }
            Op::Columns(from, _) => {
                let cols = node.shapes[0].1;
                sink.add(0, |out| joins::add_to_columns(out, cols, *from, &g));
            }
            Op::JoinColumns => {
                let mut from = 0;
                for (i, (_, cols)) in node.shapes.iter().enumerate() {
                    if sink.wants(i) {
                        sink.give(i, joins::columns(ctx, &g, from..from + cols));
                    }
                    from += cols;
                }
            }
            Op::JoinRows => {
                let mut from = 0;
                for (i, (rows, _)) in node.shapes.iter().enumerate() {
                    if sink.wants(i) {
                        sink.give(i, joins::rows(ctx, &g, from..from + rows));
                    }
                    from += rows;
                }
            }
            Op::AddRows(index) => {
                sink.add(1, |out| rows::scatter(out, &g, index));
                sink.give(0, g);
            }
            Op::Unfold(windows) => sink.add(0, |out| segments::fold(out, windows, &g)),
            Op::SegmentSum(segments) => sink.give(0, rows::gather(ctx, &g, &segments.owners())),
            Op::SegmentMax(segments) => {
                let x = saved(0)?;
                sink.add(0, |out| segments::max_pull(out, segments, x, &g));
            }
            Op::Recurrent(recurrence) => pull_recurrent(node, recurrence, &g, sink)?,
        }
        Some(())
    }
}

fn give_both<T: Scalar>(sink: &mut Sink<'_, T>, first: Option<Tensor<T>>, second: Option<Tensor<T>>) {
    if let Some(first) = first {
        sink.give(0, first);
    }
    if let Some(second) = second {
        sink.give(1, second);
    }
}

fn pull_linear<T: Scalar>(node: &Node<T>, g: &Tensor<T>, sink: &mut Sink<'_, T>) -> Option<()> {
    let ctx = sink.context();
    if sink.wants(0) {
        let w = node.saved[1].as_ref()?;
        sink.write(0, |out, accumulate| linear::pull_input(ctx, out, accumulate, g, w));
    }
    if sink.wants(1) {
        let x = node.saved[0].as_ref()?;
        sink.write(1, |out, accumulate| linear::pull_weight(ctx, out, accumulate, g, x));
    }
    sink.add(2, |out| rows::add_column_sums(out, g, g, |g, _| g));
    Some(())
}

fn pull_mul<T: Scalar>(node: &Node<T>, g: Tensor<T>, sink: &mut Sink<'_, T>) -> Option<()> {
    let ctx = sink.context();
    if sink.wants(0) {
        sink.give(0, elementwise::zip(ctx, g.clone(), node.saved[1].as_ref()?, |g, b| g * b));
    }
    if sink.wants(1) {
        sink.give(1, elementwise::zip(ctx, g, node.saved[0].as_ref()?, |g, a| g * a));
    }
    Some(())
}

/// y = a/b: to a goes g/b, to b goes −g·y/b.
fn pull_div<T: Scalar>(node: &Node<T>, g: Tensor<T>, sink: &mut Sink<'_, T>) -> Option<()> {
    let ctx = sink.context();
    let to_a = elementwise::zip(ctx, g, node.saved[1].as_ref()?, |g, b| g / b);
    if sink.wants(1) {
        let y = node.output.as_ref()?;
        sink.give(1, elementwise::zip(ctx, to_a.clone(), y, |to_a, y| -to_a * y));
    }
    sink.give(0, to_a);
    Some(())
}

fn pull_recurrent<T: Scalar>(
    node: &Node<T>,
    recurrence: &Recurrence,
    g: &Tensor<T>,
    sink: &mut Sink<'_, T>,
) -> Option<()> {
    let Kept::States(states) = &node.kept else { return None };
    let start = node.saved.get(3).and_then(Option::as_ref);
    let pull = recurrent::backward(sink.context(), recurrence, states, (node.saved[1].as_ref()?, start), g);
    if sink.wants(0) {
        sink.give(0, pull.to_input(sink.context()));
    }
    let ctx = sink.context();
    sink.write(1, |out, accumulate| pull.to_weight(ctx, out, accumulate));
    sink.add(2, |out| pull.to_bias(out));
    if let Some(start) = pull.start {
        sink.give(3, start);
    }
    Some(())
}

/// `xs` are the inputs that are summed and normalised; `gain` and the one after it are the affine part.
fn pull_norm<T: Scalar>(
    node: &Node<T>,
    g: Tensor<T>,
    sink: &mut Sink<'_, T>,
    xs: &[usize],
    gain: usize,
) -> Option<()> {
    let Kept::Normalised(kept @ Normalised { x, .. }) = &node.kept else { return None };
    sink.add(gain, |out| rows::add_column_sums(out, &g, x, |g, x| g * x));
    sink.add(gain + 1, |out| rows::add_column_sums(out, &g, &g, |g, _| g));
    if xs.iter().any(|&i| sink.wants(i)) {
        let pull = norm::layer_norm_pull(sink.context(), g, kept, node.saved[gain].as_ref()?);
        xs.iter().for_each(|&i| sink.give(i, pull.clone()));
    }
    Some(())
}
