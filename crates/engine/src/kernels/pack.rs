//! The weight of a product as panels: narrow columns of it, laid out as they are read.

use super::lanes::Lanes;
use super::machine::{Blocking, RUN};
use super::pages::Pages;
use super::turn::{TURN, turn};
use pulp::{Simd, WithSimd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// What kept panels of all weights together may take.
#[derive(Debug)]
pub struct PanelBudget(AtomicUsize);

impl PanelBudget {
    /// A budget of this many bytes.
    pub fn new(bytes: usize) -> Arc<Self> {
        Arc::new(Self(AtomicUsize::new(bytes)))
    }

    /// Takes bytes where there are as many.
    fn take(&self, bytes: usize) -> bool {
        let less = |left: usize| left.checked_sub(bytes);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}

/// The panels of one weight for one direction, made when it has multiplied so many rows that copying it pays.
#[derive(Debug)]
pub(crate) struct Pack<R> {
    budget: Arc<PanelBudget>,
    rows: AtomicUsize,
    claimed: AtomicBool,
    panels: OnceLock<Pages<R>>,
}

/// Rows after which a copy has cost less than doing without.
const ROWS_UNTIL_KEPT: usize = 128;

impl<R> Pack<R> {
    /// A pack that holds no panels yet.
    pub(crate) fn new(budget: &Arc<PanelBudget>) -> Self {
        let (rows, claimed) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self { budget: budget.clone(), rows, claimed, panels: OnceLock::new() }
    }
}

impl<R: Lanes> Pack<R> {
    /// All panels of w, for a product of `rows`; none where it is too early, where the budget is spent, or while another
    /// thread makes them.
    ///
    /// Panics where they were made of a weight of another size, which is a defect of the caller.
    pub(crate) fn panels(&self, rows: usize, w: Weight<'_, R>) -> Option<&[R]> {
        let panels = self.made(rows, w)?;
        assert_eq!(panels.len(), w.panels_len(), "panels of a weight of another size");
        Some(panels)
    }

    fn made(&self, rows: usize, w: Weight<'_, R>) -> Option<&[R]> {
        if let Some(panels) = self.panels.get() {
            return Some(panels.as_slice());
        }
        let enough = self.rows.fetch_add(rows, Ordering::Relaxed) + rows > ROWS_UNTIL_KEPT;
        if !enough || self.claimed.swap(true, Ordering::Relaxed) {
            return None;
        }
        let affordable = self.budget.take(w.panels_len() * size_of::<R>());
        affordable.then(|| self.panels.get_or_init(|| w.panels()).as_slice())
    }
}

impl<R> Drop for Pack<R> {
    fn drop(&mut self) {
        let bytes = self.panels.get().map_or(0, Pages::bytes);
        self.budget.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// w\[k, n\] inside a slice: element (i, c) is at `i · row + c · col`.
#[derive(Clone, Copy)]
pub(crate) struct Weight<'a, R> {
    data: &'a [R],
    pub(super) row: usize,
    pub(super) col: usize,
    /// Its inner length and columns.
    pub(super) size: (usize, usize),
    pub(super) blocking: Blocking,
}

/// A part of w: `length` inner elements from `start` on, `width` columns from `column` on.
#[derive(Clone, Copy)]
pub(super) struct WeightPart {
    pub(super) start: usize,
    pub(super) length: usize,
    pub(super) column: usize,
    pub(super) width: usize,
}

impl<'a, R: Lanes> Weight<'a, R> {
    /// A weight; panics where it leaves its slice, which is a defect of the caller.
    pub(crate) fn new(
        data: &'a [R],
        (row, col): (usize, usize),
        size: (usize, usize),
        blocking: Blocking,
    ) -> Self {
        let view = crate::gemm::View { offset: 0, row, col };
        assert!(view.fits(size.0, size.1, data.len()), "panels: the weight leaves its slice");
        Self { data, row, col, size, blocking }
    }

    /// Columns of a panel.
    pub(crate) fn columns(self) -> usize {
        self.blocking.columns::<R>()
    }

    /// Inner elements a sweep: whole runs, about as many in all sweeps.
    pub(super) fn sweep(self) -> usize {
        let runs = self.size.0.div_ceil(RUN);
        runs.div_ceil(runs.div_ceil(self.blocking.runs)) * RUN
    }

    /// The part of one panel.
    pub(super) fn part(self, start: usize, column: usize, last: usize) -> WeightPart {
        let length = self.sweep().min(self.size.0 - start);
        WeightPart { start, length, column, width: self.columns().min(last - column) }
    }

    /// Where a panel lies among all of them.
    pub(super) fn offset(self, part: WeightPart) -> usize {
        part.start * self.size.1.next_multiple_of(self.columns()) + part.column * part.length
    }

    /// Elements of all panels together.
    fn panels_len(self) -> usize {
        self.size.0 * self.size.1.next_multiple_of(self.columns())
    }

    /// Where an element lies; beyond the slice only for hints.
    pub(super) fn at(self, inner: usize, column: usize) -> *const R {
        self.data.as_ptr().wrapping_add(inner * self.row + column * self.col)
    }

    /// Every panel, sweep by sweep.
    fn panels(self) -> Pages<R> {
        let (k, n) = self.size;
        let mut pages = Pages::zeros(self.panels_len());
        let all = pages.as_mut_slice();
        for start in (0..k).step_by(self.sweep()) {
            for column in (0..n).step_by(self.columns()) {
                let part = self.part(start, column, n);
                let panel = &mut all[self.offset(part)..][..part.length * self.columns()];
                self.blocking.tile.run(Fill { weight: self, part, panel });
            }
        }
        pages
    }
}

/// Copies one part of a weight.
struct Fill<'a, R> {
    weight: Weight<'a, R>,
    part: WeightPart,
    panel: &'a mut [R],
}

impl<R: Lanes> WithSimd for Fill<'_, R> {
    type Output = ();

    #[inline(always)]
    #[allow(unsafe_code, reason = "the panel has the length of its part")]
    fn with_simd<S: Simd>(self, simd: S) {
        assert_eq!(self.panel.len(), self.part.length * self.weight.columns(), "a panel of another length");
        // SAFETY: the part lies inside w, and the panel has its length.
        unsafe { self.weight.fill(simd, self.panel.as_mut_ptr(), self.part) }
    }
}

#[allow(unsafe_code, reason = "vectors over checked slices")]
impl<R: Lanes> Weight<'_, R> {
    /// Copies a part of w; zero beyond its width.
    ///
    /// # Safety
    /// The part lies inside w, and `to` is writable for its length times [`Weight::columns`].
    #[inline(always)]
    pub(super) unsafe fn fill<S: Simd>(self, simd: S, to: *mut R, part: WeightPart) {
        let WeightPart { start, length, column, width } = part;
        let (columns, w) = (self.columns(), self.at(start, column));
        // Whole blocks of a weight whose columns are contiguous are turned; what is left goes one by one.
        let turns = self.row == 1 && columns.is_multiple_of(TURN);
        let (long, wide) = if turns { (length - length % TURN, width - width % TURN) } else { (0, 0) };
        // SAFETY: reads stay inside the part, and writes below `length` rows of the panel.
        unsafe {
            for i in (0..long).step_by(TURN) {
                for c in (0..wide).step_by(TURN) {
                    turn(simd, w.add(i + c * self.col), self.col, to.add(i * columns + c), columns);
                }
            }
            for i in 0..length {
                let (from, to) = (w.add(i * self.row), to.add(i * columns));
                if width == columns && self.col == 1 {
                    let row = from.cast::<[R::Vector<S>; 2]>().read_unaligned();
                    to.cast::<[R::Vector<S>; 2]>().write_unaligned(row);
                    continue;
                }
                for c in if i < long { wide } else { 0 }..columns {
                    *to.add(c) = if c < width { *from.add(c * self.col) } else { R::default() };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::machine::{Caches, Tile};
    use super::*;

    /// A weight \[k, n\] over as many elements as are given, in panels of sixteen columns.
    fn weight(data: &[f32], size: (usize, usize)) -> Weight<'_, f32> {
        let caches = Caches { first_bytes: 32 << 10, second_bytes: 1 << 20 };
        Weight::new(data, (size.1, 1), size, Blocking::new(Tile::Emulated(256), caches))
    }

    #[test]
    #[should_panic(expected = "panels: ")]
    fn a_weight_that_leaves_its_slice_is_not_read() {
        weight(&[0.0; 64], (8, 16)).panels();
    }

    /// Sixteen columns of panels are not read as thirty-two.
    #[test]
    #[should_panic(expected = "panels of a weight of another size")]
    fn panels_of_a_smaller_weight_are_refused() {
        let pack = Pack::new(&PanelBudget::new(0));
        assert!(pack.panels.set(Pages::zeros(8 * 16)).is_ok());
        assert!(pack.panels(1, weight(&[0.0; 8 * 16], (8, 16))).is_some());
        pack.panels(1, weight(&[0.0; 8 * 32], (8, 32)));
    }
    #[test]
    fn panels_are_kept_within_the_budget_and_give_it_back() {
        let (data, bytes) = (vec![0.0; 8 * 16], 4 * 8 * 16);
        let budget = PanelBudget::new(2 * bytes - 1);
        let [first, second] = [Pack::new(&budget), Pack::new(&budget)];
        assert!(first.panels(1, weight(&data, (8, 16))).is_none(), "too early");
        assert!(first.panels(128, weight(&data, (8, 16))).is_some());
        assert!(second.panels(129, weight(&data, (8, 16))).is_none(), "more than the budget");
        drop(first);
        assert!(Pack::new(&budget).panels(129, weight(&data, (8, 16))).is_some());
    }
}
