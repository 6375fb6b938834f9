//! Where somebody looks into a cell: edits, values, and a place on the tape at which cotangents can be asked for.

use super::steps::in_order;
use super::{CellLook, CellPart, CellSite};
use crate::op::{Op, Patch};
use crate::scalar::Scalar;
use crate::tape::{Mode, Tape, Var};
use crate::tensor::Tensor;
use std::sync::Arc;

/// All looks into one layer.
pub(super) struct Taps<T> {
    taps: Vec<Tap<T>>,
    /// Hidden width and number of directions.
    hidden: usize,
    directions: usize,
    /// The direction that runs.
    direction: usize,
    /// The tokens of the step that runs.
    tokens: Arc<[usize]>,
}

/// One look into the cell of a layer.
struct Tap<T> {
    part: CellPart,
    patch: Patch<T>,
    /// Zeros \[T, directions·H\] that are added to the quantity: their cotangent is the quantity's own, whatever step it
    /// belongs to.
    zeros: Option<Var<T>>,
    /// The columns of the direction that runs.
    own: Option<Var<T>>,
    steps: Vec<(Var<T>, Arc<[usize]>)>,
    /// Of each direction \[T, H\].
    found: Vec<Var<T>>,
}

impl<T: Scalar> Taps<T> {
    pub(super) fn new(
        tape: &mut Tape<T>,
        (rows, hidden, directions): (usize, usize, usize),
        looks: Vec<CellLook<T>>,
    ) -> Self {
        let tap = |look: CellLook<T>| {
            let watched = look.watch && tape.mode() != Mode::Off;
            let zeros = watched.then(|| Tensor::zeros(tape.context(), rows, directions * hidden));
            Tap {
                part: look.part,
                patch: look.patch,
                zeros: zeros.map(|zeros| tape.watch(zeros.into())),
                own: None,
                steps: Vec::new(),
                found: Vec::new(),
            }
        };
        let taps = looks.into_iter().map(tap).collect();
        Self { taps, hidden, directions, direction: 0, tokens: Arc::from([]) }
    }

    /// Makes ready for the steps of one direction, counted from 0.
    pub(super) fn begin(&mut self, tape: &mut Tape<T>, direction: usize) {
        self.direction = direction;
        let columns = Op::Columns(direction * self.hidden, (direction + 1) * self.hidden);
        for tap in &mut self.taps {
            tap.own = tap.zeros.clone().map(|zeros| tape.apply(columns.clone(), [zeros]));
        }
    }

    /// A step starts, over these tokens.
    pub(super) fn at(&mut self, tokens: Arc<[usize]>) {
        self.tokens = tokens;
    }

    /// The tokens of the step.
    pub(super) fn tokens(&self) -> &Arc<[usize]> {
        &self.tokens
    }

    /// A quantity of the step \[n, H\], after what somebody changes in it.
    pub(super) fn look(&mut self, tape: &mut Tape<T>, part: CellPart, mut value: Var<T>) -> Var<T> {
        let columns = self.direction * self.hidden..(self.direction + 1) * self.hidden;
        for tap in self.taps.iter_mut().filter(|tap| tap.part == part) {
            let patch = tap.patch.within(self.directions * self.hidden, &self.tokens, columns.clone());
            if !patch.is_empty() {
                value = tape.apply(Op::Patch(Arc::new(patch)), [value]);
            }
            if let Some(zeros) = &tap.own {
                value = tape.apply(Op::AddRows(self.tokens.clone()), [value, zeros.clone()]);
            }
            tap.steps.push((value.clone(), self.tokens.clone()));
        }
        value
    }

    /// Puts together the steps of the direction that has ended.
    pub(super) fn end(&mut self, tape: &mut Tape<T>, rows: usize) {
        for tap in &mut self.taps {
            let steps = std::mem::take(&mut tap.steps);
            tap.found.push(in_order(tape, steps, (rows, self.hidden)));
        }
    }

    /// Gives what every look found, the directions side by side.
    pub(super) fn finish(self, tape: &mut Tape<T>) -> Vec<CellSite<T>> {
        let site = |tap: Tap<T>| {
            let slope = tap.zeros.and_then(|zeros| zeros.node);
            CellSite { var: tape.side_by_side(tap.found), slope }
        };
        self.taps.into_iter().map(site).collect()
    }
}

/// Where each of `some` stands among `all`; both rise.
pub(super) fn positions(all: &[usize], some: &[usize]) -> Arc<[usize]> {
    some.iter().filter_map(|s| all.binary_search(s).ok()).collect()
}
