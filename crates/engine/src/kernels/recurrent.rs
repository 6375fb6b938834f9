//! Recurrent layers over packed sequences: one product a step over all that still run, and one for the gradient of the
//! weight over all steps.

mod cells;
mod pull;
mod schedule;

pub(crate) use pull::backward;

use super::pack::{Pack, PanelBudget};
use super::vectorised;
use crate::context::{Buffer, Context};
use crate::gemm::{Product, View};
use crate::recurrent::{Recurrence, RecurrentCell};
use crate::scalar::Scalar;
use crate::tensor::Tensor;
use cells::Row;
use rayon::prelude::*;
use schedule::{Schedule, SequencePart};

/// What a recurrence is computed from.
pub(crate) struct Inputs<'a, T> {
    /// What the input adds to the gates \[T, G·H\].
    pub(crate) projected: &'a Tensor<T>,
    pub(crate) weight: &'a Tensor<T>,
    pub(crate) bias: &'a Tensor<T>,
    pub(crate) start: Option<&'a Tensor<T>>,
}

/// What the pull of a recurrence needs, in the order of the schedule.
#[derive(Debug)]
pub(crate) struct States<T> {
    schedule: Schedule,
    /// Activated gates \[T, K·H\].
    gates: Tensor<T>,
    /// Cells of an LSTM \[T, H\].
    cells: Option<Tensor<T>>,
    hidden: Tensor<T>,
}

/// How many vectors of H numbers are kept of each step's gates.
fn kept(cell: RecurrentCell) -> usize {
    match cell {
        RecurrentCell::Lstm | RecurrentCell::Gru => 4,
        RecurrentCell::Tanh => 1,
    }
}

/// Multiplications below which a second thread costs more than it brings.
const LEAST_PARALLEL_WORK: usize = 1 << 20;

/// The hidden states, and what their pull needs where `keep` is set.
pub(crate) fn forward<T: Scalar>(
    ctx: &Context<T>,
    recurrence: &Recurrence,
    inputs: &Inputs<'_, T>,
    keep: bool,
) -> (Tensor<T>, Option<States<T>>) {
    let (cell, rows, width) = (recurrence.cell, recurrence.segments.total(), inputs.weight.cols());
    check(recurrence, inputs);
    let work = (rows, cell.gates() * width, width);
    ctx.count(work);
    let parallel = ctx.threads() > 1 && work.0 * work.1 * work.2 > LEAST_PARALLEL_WORK;
    let schedule = Schedule::new(recurrence, if parallel { ctx.threads() } else { 1 });
    let kept_width = kept(cell) * width;
    let mut hidden = ctx.buffer(rows * width);
    let mut cells = (cell == RecurrentCell::Lstm).then(|| ctx.buffer(rows * width));
    let mut gates = keep.then(|| ctx.buffer(rows * kept_width));
    let pack = StepPanels::new(inputs.weight, false);
    {
        let mut hidden = split(&schedule, hidden.slice_mut(), width);
        let mut cells = cells.as_mut().map(|cells| split(&schedule, cells.slice_mut(), width));
        let mut gates = gates.as_mut().map(|gates| split(&schedule, gates.slice_mut(), kept_width));
        let parts = schedule.parts.iter().map(|part| Forward {
            part,
            tokens: &schedule.tokens[part.first..][..part.rows],
            hidden: hidden.next().unwrap_or_default(),
            cells: cells.as_mut().and_then(Iterator::next).unwrap_or_default(),
            gates: gates.as_mut().and_then(Iterator::next),
        });
        each(parts.collect(), |part: Forward<'_, T>| part.run(ctx, cell, inputs, pack.get()));
    }
    let hidden = Tensor::from_buffer(rows, width, hidden);
    let out = in_token_order(ctx, &schedule, &hidden, |row, out| out.copy_from_slice(row), width);
    let states = gates.map(|gates| States {
        schedule,
        gates: Tensor::from_buffer(rows, kept_width, gates),
        cells: cells.map(|cells| Tensor::from_buffer(rows, width, cells)),
        hidden,
    });
    (out, states)
}

/// Panics where an input is not as the recurrence says, which is a defect of the caller.
fn check<T: Scalar>(recurrence: &Recurrence, inputs: &Inputs<'_, T>) {
    let (cell, width) = (recurrence.cell, inputs.weight.cols());
    let shape = |x: &Tensor<T>| (x.rows(), x.cols());
    let gates = cell.gates() * width;
    assert_eq!(shape(inputs.weight), (gates, width), "recurrence: the weight of the state");
    assert_eq!(shape(inputs.bias), (1, gates), "recurrence: the bias of the state");
    assert_eq!(shape(inputs.projected), (recurrence.segments.total(), gates), "recurrence: the input");
    if let Some(start) = inputs.start {
        let expected = (recurrence.segments.count(), cell.states() * width);
        assert_eq!(shape(start), expected, "recurrence: the first state");
    }
}

/// Panels of the weight: its own, or some for the length of one run, because every step multiplies by it.
enum StepPanels<'a, T> {
    Own(&'a Pack<T>),
    Run(Pack<T>),
}

impl<'a, T: Scalar> StepPanels<'a, T> {
    fn new(weight: &'a Tensor<T>, backward: bool) -> Self {
        match weight.panels() {
            Some(panels) => Self::Own(if backward { &panels.backward } else { &panels.forward }),
            // Panels are as large as the weight, but for a few columns.
            None => Self::Run(Pack::new(&PanelBudget::new(usize::MAX))),
        }
    }

    fn get(&self) -> &Pack<T> {
        match self {
            Self::Own(pack) => pack,
            Self::Run(pack) => pack,
        }
    }
}

/// The rows of each part.
fn split<'a, T>(
    schedule: &'a Schedule,
    mut data: &'a mut [T],
    width: usize,
) -> impl Iterator<Item = &'a mut [T]> + 'a {
    schedule.parts.iter().map(move |part| {
        let (own, rest) = std::mem::take(&mut data).split_at_mut(part.rows * width);
        data = rest;
        own
    })
}

/// Runs the parts, each on one thread.
fn each<P: Send>(mut parts: Vec<P>, run: impl Fn(P) + Sync + Send) {
    match parts.len() {
        1 => run(parts.remove(0)),
        _ => parts.into_par_iter().with_max_len(1).for_each(run),
    }
}

/// Rows of the schedule as rows of the tokens.
fn in_token_order<T: Scalar>(
    ctx: &Context<T>,
    schedule: &Schedule,
    x: &Tensor<T>,
    copy: impl Fn(&[T], &mut [T]) + Sync,
    width: usize,
) -> Tensor<T> {
    let cols = x.cols();
    Tensor::fill(ctx, x.rows(), width, |out| {
        ctx.rows(out, width, |first, part| {
            for (out, &row) in part.chunks_exact_mut(width).zip(&schedule.rows[first..]) {
                copy(&x.data()[row * cols..][..cols], out);
            }
        });
    })
}

/// The first states of a part's sequences \[n, H\]: the hidden ones, or the cells.
fn first_states<T: Scalar>(
    ctx: &Context<T>,
    part: &SequencePart,
    start: Option<&Tensor<T>>,
    (vector, width): (usize, usize),
) -> Buffer<T> {
    let mut states = ctx.buffer(part.sequences.len() * width);
    let rows = states.slice_mut().chunks_exact_mut(width.max(1));
    for (state, &sequence) in rows.zip(&part.sequences) {
        match start {
            Some(start) => {
                let own = &start.data()[sequence * start.cols() + vector * width..][..width];
                state.copy_from_slice(own);
            }
            None => state.fill(T::default()),
        }
    }
    states
}

/// The memory that one part uses on its way forward.
struct Forward<'a, T> {
    part: &'a SequencePart,
    /// The token of each row.
    tokens: &'a [usize],
    hidden: &'a mut [T],
    cells: &'a mut [T],
    gates: Option<&'a mut [T]>,
}

impl<T: Scalar> Forward<'_, T> {
    fn run(self, ctx: &Context<T>, cell: RecurrentCell, inputs: &Inputs<'_, T>, pack: &Pack<T>) {
        let Self { part, tokens, hidden, cells, gates } = self;
        let width = inputs.weight.cols();
        let (wide, products) = (kept(cell) * width, cell.gates() * width);
        let mut scratch = ctx.buffer(if gates.is_some() { 0 } else { part.sequences.len() * wide });
        let mut kept_gates = gates;
        let start = [0, 1].map(|vector| {
            let start = inputs.start.filter(|_| vector < cell.states());
            first_states(ctx, part, start, (vector, width))
        });
        for (step, (first, n)) in part.offsets().enumerate() {
            let gates = match &mut kept_gates {
                Some(gates) => &mut gates[first * wide..][..n * wide],
                None => &mut scratch.slice_mut()[..n * wide],
            };
            let (hidden_before, hidden) = hidden.split_at_mut(first * width);
            let (cell_before, cells) = cells.split_at_mut((first * width).min(cells.len()));
            let (hidden_before, cell_before): (&[T], &[T]) = match step {
                0 => (start[0].slice(), start[1].slice()),
                _ => {
                    let before = part.before(step, first) * width;
                    (&hidden_before[before..], cell_before.get(before..).unwrap_or_default())
                }
            };
            if step > 0 || inputs.start.is_some() {
                let (lhs, rhs) =
                    ((hidden_before, View::rows(width)), (inputs.weight.data(), View::rows(width).t()));
                let dst = (&mut *gates, View::rows(wide));
                let product = Product::new((n, products, width), dst, lhs, rhs);
                T::product(&product.bias(Some(inputs.bias.data())).kept(Some(pack)));
            } else {
                gates
                    .chunks_exact_mut(wide)
                    .for_each(|row| row[..products].copy_from_slice(inputs.bias.data()));
            }
            step_rows(
                cell,
                (n, width, wide),
                [gates, cells, hidden],
                #[inline(always)]
                |j, gates, cell, hidden| Row {
                    gates,
                    input: &inputs.projected.data()[tokens[first + j] * products..][..products],
                    hidden_before: &hidden_before[j * width..][..width],
                    cell_before: cell_before.get(j * width..(j + 1) * width).unwrap_or_default(),
                    cell,
                    hidden,
                },
            );
        }
    }
}

/// The arithmetic of a step, for each sequence that runs.
fn step_rows<'a, T: Scalar>(
    cell: RecurrentCell,
    (n, width, wide): (usize, usize, usize),
    [gates, cells, hidden]: [&'a mut [T]; 3],
    row: impl Fn(usize, &'a mut [T], &'a mut [T], &'a mut [T]) -> Row<'a, T>,
) {
    let gates = gates.chunks_exact_mut(wide);
    let hidden = hidden.chunks_exact_mut(width);
    let each = gates.zip(hidden).take(n).enumerate();
    // Loops and no closures of iterators, which would be compiled for the oldest machine.
    match cell {
        RecurrentCell::Lstm => vectorised(
            #[inline(always)]
            || {
                for ((j, (gates, hidden)), cell) in each.zip(cells.chunks_exact_mut(width)) {
                    cells::lstm(row(j, gates, cell, hidden));
                }
            },
        ),
        RecurrentCell::Gru => vectorised(
            #[inline(always)]
            || {
                for (j, (gates, hidden)) in each {
                    cells::gru(row(j, gates, Default::default(), hidden));
                }
            },
        ),
        RecurrentCell::Tanh => vectorised(
            #[inline(always)]
            || {
                for (j, (gates, hidden)) in each {
                    cells::tanh(row(j, gates, Default::default(), hidden));
                }
            },
        ),
    }
}
