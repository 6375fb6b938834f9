//! The way back through a recurrence.

use super::cells::{self, Pull};
use super::schedule::{Schedule, SequencePart};
use super::{States, StepPanels, each, first_states, in_token_order, kept, split};
use crate::context::{Buffer, Context};
use crate::gemm::{Product, View};
use crate::kernels::pack::Pack;
use crate::kernels::vectorised;
use crate::recurrent::{Recurrence, RecurrentCell};
use crate::scalar::Scalar;
use crate::tensor::Tensor;

/// What comes back from a recurrence.
pub(crate) struct Pulled<'a, T> {
    cell: RecurrentCell,
    states: &'a States<T>,
    first: Option<&'a Tensor<T>>,
    /// Of the products with the state \[T, K·H\], in the order of the schedule.
    gates: Tensor<T>,
    /// Of the first state, where there is one.
    pub(crate) start: Option<Tensor<T>>,
}

/// Pulls the cotangent of the hidden states back through all steps.
pub(crate) fn backward<'a, T: Scalar>(
    ctx: &Context<T>,
    recurrence: &Recurrence,
    states: &'a States<T>,
    (weight, start): (&Tensor<T>, Option<&'a Tensor<T>>),
    outside: &Tensor<T>,
) -> Pulled<'a, T> {
    let (cell, rows, width) = (recurrence.cell, recurrence.segments.total(), weight.cols());
    ctx.count((rows, cell.gates() * width, width));
    let wide = kept(cell) * width;
    let schedule = &states.schedule;
    let pack = StepPanels::new(weight, true);
    let carries = |part: &SequencePart| [0, 1].map(|vector| first_states(ctx, part, None, (vector, width)));
    let mut carried: Vec<[Buffer<T>; 2]> = schedule.parts.iter().map(carries).collect();
    let gates = Tensor::fill(ctx, rows, wide, |out| {
        let parts = schedule.parts.iter().zip(&mut carried).zip(split(schedule, out, wide));
        let parts = parts.map(|((part, carried), out)| Backward { part, carried, out }).collect();
        each(parts, |part: Backward<'_, T>| {
            part.run(ctx, (cell, weight, pack.get()), (states, start), outside);
        });
    });
    let start_pull = start.map(|start| {
        Tensor::fill(ctx, start.rows(), start.cols(), |out| {
            out.fill(T::default());
            for (part, carried) in schedule.parts.iter().zip(&carried) {
                for (vector, carried) in carried.iter().enumerate().take(cell.states()) {
                    for (&s, row) in part.sequences.iter().zip(carried.slice().chunks_exact(width)) {
                        out[s * start.cols() + vector * width..][..width].copy_from_slice(row);
                    }
                }
            }
        })
    });
    Pulled { cell, states, first: start, gates, start: start_pull }
}

impl<T: Scalar> Pulled<'_, T> {
    /// What goes to the input's part of the gates \[T, G·H\].
    pub(crate) fn to_input(&self, ctx: &Context<T>) -> Tensor<T> {
        let width = self.states.hidden.cols();
        let gru = self.cell == RecurrentCell::Gru;
        let copy = |row: &[T], out: &mut [T]| match gru {
            // The input is added to n outside of what the reset gate multiplies.
            true => {
                out[..2 * width].copy_from_slice(&row[..2 * width]);
                out[2 * width..].copy_from_slice(&row[3 * width..]);
            }
            false => out.copy_from_slice(row),
        };
        in_token_order(ctx, &self.states.schedule, &self.gates, copy, self.cell.gates() * width)
    }

    /// Writes or adds the pull to the weight \[G·H, H\]: one product over all steps.
    pub(crate) fn to_weight(&self, ctx: &Context<T>, dst: &mut [T], accumulate: bool) {
        let hidden = &self.states.hidden;
        let (rows, width) = (hidden.rows(), hidden.cols());
        let mut before = ctx.buffer(rows * width);
        for (part, out) in
            self.states.schedule.parts.iter().zip(split(&self.states.schedule, before.slice_mut(), width))
        {
            let own = &hidden.data()[part.first * width..][..part.rows * width];
            for (step, (first, n)) in part.offsets().enumerate() {
                let out = &mut out[first * width..][..n * width];
                match step {
                    0 => out.copy_from_slice(first_states(ctx, part, self.first, (0, width)).slice()),
                    _ => out.copy_from_slice(&own[part.before(step, first) * width..][..n * width]),
                }
            }
        }
        let lhs = (self.gates.data(), View::rows(self.gates.cols()).t());
        let mnk = (self.cell.gates() * width, width, rows);
        let product = Product::new(mnk, (dst, View::rows(width)), lhs, (before.slice(), View::rows(width)));
        ctx.product(product.accumulate(accumulate));
    }

    /// Adds the pull to the bias of the state \[1, G·H\].
    pub(crate) fn to_bias(&self, dst: &mut [T]) {
        vectorised(
            #[inline(always)]
            || {
                for row in self.gates.data().chunks_exact(self.gates.cols()) {
                    dst.iter_mut().zip(row).for_each(|(d, &g)| *d += g);
                }
            },
        );
    }
}

/// The memory that one part uses on its way back.
struct Backward<'a, T> {
    part: &'a SequencePart,
    /// The cotangents of hidden states and cells that a step hands to the one before.
    carried: &'a mut [Buffer<T>; 2],
    out: &'a mut [T],
}

impl<T: Scalar> Backward<'_, T> {
    fn run(
        self,
        ctx: &Context<T>,
        (cell, weight, pack): (RecurrentCell, &Tensor<T>, &Pack<T>),
        (states, start): (&States<T>, Option<&Tensor<T>>),
        outside: &Tensor<T>,
    ) {
        let Self { part, carried: [hidden, carry], out } = self;
        let (width, wide) = (weight.cols(), kept(cell) * weight.cols());
        let Schedule { tokens, .. } = &states.schedule;
        let rows = |x: &Tensor<T>| part.first * x.cols()..(part.first + part.rows) * x.cols();
        let own_hidden = &states.hidden.data()[rows(&states.hidden)];
        let own_cells = states.cells.as_ref().map_or(&[][..], |cells| &cells.data()[rows(cells)]);
        let own_gates = &states.gates.data()[rows(&states.gates)];
        let firsts = [0, 1].map(|vector| {
            let start = start.filter(|_| vector < cell.states());
            first_states(ctx, part, start, (vector, width))
        });
        let offsets: Vec<_> = part.offsets().collect();
        for (step, (first, n)) in offsets.into_iter().enumerate().rev() {
            let (hidden_before, cell_before): (&[T], &[T]) = match step {
                0 => (firsts[0].slice(), firsts[1].slice()),
                _ => {
                    let before = part.before(step, first) * width;
                    (&own_hidden[before..], own_cells.get(before..).unwrap_or_default())
                }
            };
            let out = &mut out[first * wide..][..n * wide];
            let hidden = &mut hidden.slice_mut()[..n * width];
            let carry = &mut carry.slice_mut()[..n * width];
            let each = out.chunks_exact_mut(wide).zip(hidden.chunks_exact_mut(width));
            let each = each.zip(carry.chunks_exact_mut(width)).enumerate();
            let rows = each.map(
                #[inline(always)]
                |(j, ((out, hidden), carry))| Pull {
                    gates: &own_gates[(first + j) * wide..][..wide],
                    hidden_before: &hidden_before[j * width..][..width],
                    cell_before: cell_before.get(j * width..(j + 1) * width).unwrap_or_default(),
                    cell: own_cells.get((first + j) * width..(first + j + 1) * width).unwrap_or_default(),
                    outside: &outside.data()[tokens[part.first + first + j] * width..][..width],
                    hidden,
                    carry,
                    out,
                },
            );
            pull_rows(cell, rows);
            if step > 0 || start.is_some() {
                let (mnk, lhs) = ((n, width, cell.gates() * width), (&*out, View::rows(wide)));
                let rhs = (weight.data(), View::rows(width));
                let product = Product::new(mnk, (hidden, View::rows(width)), lhs, rhs);
                // A GRU also hands its state on without a product.
                T::product(&product.accumulate(cell == RecurrentCell::Gru).kept(Some(pack)));
            }
        }
    }
}

/// The arithmetic of a step's pull, for each sequence that runs.
fn pull_rows<'a, T: Scalar>(cell: RecurrentCell, rows: impl Iterator<Item = Pull<'a, T>>) {
    match cell {
        RecurrentCell::Lstm => vectorised(
            #[inline(always)]
            || {
                for row in rows {
                    cells::lstm_pull(row);
                }
            },
        ),
        RecurrentCell::Gru => vectorised(
            #[inline(always)]
            || {
                for row in rows {
                    cells::gru_pull(row);
                }
            },
        ),
        RecurrentCell::Tanh => vectorised(
            #[inline(always)]
            || {
                for row in rows {
                    cells::tanh_pull(row);
                }
            },
        ),
    }
}
