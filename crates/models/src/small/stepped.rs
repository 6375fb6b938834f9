//! Places whose value comes step by step: edits, values, and one place on the tape at which their cotangents are found.

use crate::run::Run;
use exegete_core::{Result, Site};
use exegete_engine::{CellSite, Mode, Op, Patch, Scalar, Tensor, Var};
use std::sync::Arc;

/// One such place, in one run.
pub(super) struct Stepped<T> {
    site: Site,
    /// Rows and columns of the whole value.
    shape: (usize, usize),
    /// What somebody wants there; none where nobody looks.
    look: Option<Look<T>>,
}

struct Look<T> {
    patch: Patch<T>,
    /// Zeros that are added to the value: their cotangent is the value's own, whatever step it belongs to.
    zeros: Option<Var<T>>,
    steps: Vec<(Var<T>, Arc<[usize]>)>,
}

impl<T: Scalar> Stepped<T> {
    /// A place before its first step, whose whole value has so many rows and columns.
    pub(super) fn new(run: &mut Run<'_, T>, site: Site, shape: (usize, usize)) -> Result<Self> {
        let Some((patch, watch)) = run.look(site)? else { return Ok(Self { site, shape, look: None }) };
        let watched = watch && run.tape.mode() != Mode::Off;
        let zeros = watched.then(|| Tensor::new(shape.0, shape.1, vec![T::default(); shape.0 * shape.1]));
        let zeros = zeros.map(|zeros| run.tape.watch(zeros.into()));
        Ok(Self { site, shape, look: Some(Look { patch, zeros, steps: Vec::new() }) })
    }

    /// The value of one step, which are these rows of the whole, after what somebody changes in it.
    pub(super) fn see(&mut self, run: &mut Run<'_, T>, rows: &Arc<[usize]>, mut value: Var<T>) -> Var<T> {
        let Some(look) = &mut self.look else { return value };
        let patch = look.patch.within(self.shape.1, rows, 0..self.shape.1);
        if !patch.is_empty() {
            value = run.tape.apply(Op::Patch(Arc::new(patch)), [value]);
        }
        if let Some(zeros) = &look.zeros {
            value = run.tape.apply(Op::AddRows(rows.clone()), [value, zeros.clone()]);
        }
        look.steps.push((value.clone(), rows.clone()));
        value
    }

    /// Hands over what was seen.
    pub(super) fn finish(self, run: &mut Run<'_, T>) -> Result<()> {
        let Some(look) = self.look else { return Ok(()) };
        let var = in_order(run, look.steps, self.shape);
        run.looked(self.site, CellSite { var, slope: look.zeros.and_then(|zeros| zeros.node) })
    }
}

/// What steps gave, each with its rows of the whole, as the whole \[rows, cols\].
pub(super) fn in_order<T: Scalar>(
    run: &mut Run<'_, T>,
    steps: Vec<(Var<T>, Arc<[usize]>)>,
    (rows, cols): (usize, usize),
) -> Var<T> {
    if steps.is_empty() {
        return Tensor::new(rows, cols, vec![T::default(); rows * cols]).into();
    }
    let mut place = vec![0; rows];
    steps.iter().flat_map(|(_, rows)| rows.iter()).enumerate().for_each(|(i, &row)| place[row] = i);
    let all: Vec<Var<T>> = steps.into_iter().map(|(value, _)| value).collect();
    let stacked = run.tape.apply(Op::JoinRows, all); // [rows, cols], step after step
    run.tape.apply(Op::Gather(place.into()), [stacked]) // [rows, cols]
}
