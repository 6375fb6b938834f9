//! A matrix product: one narrow panel of the right side lies in the first-level cache while all rows pass by.
//!
//! General matrix products pack both sides into large blocks, which they must then fetch again, and with the rows of
//! a few texts that costs as much as the arithmetic. Here rows are read where they are. A weight that multiplies often
//! is kept as panels ([`super::pack::Pack`]); of anything else, each panel is copied just before it is used.
//!
//! Every element is a sum of chains: [`RUN`] fused multiply-adds along the inner length, each chain from zero, added one
//! after the other to what the product is added to. So its bits depend on its row and its column alone: not on other
//! rows, on threads, on kept panels, on the width of registers or on caches. One chain for all would round worse.

use super::lanes::Lanes;
#[cfg(test)]
use super::machine::Fault;
use super::machine::{MOST_PANEL_BYTES, MOST_TILE_ROWS, RUN};
use super::pack::{Weight, WeightPart};
use super::registers::{Ahead, load, multiply, store};
use pulp::{Simd, WithSimd};
use std::mem::MaybeUninit;
use std::ops::Range;

/// y\[m, n\] = start + scale · x\[m, k\] · w\[k, n\].
#[derive(Clone, Copy)]
pub(crate) struct Panels<'a, R> {
    pub(crate) rows: usize,
    pub(crate) x: Elements<R>,
    pub(crate) w: Weight<'a, R>,
    /// Every panel of w, where they are kept.
    pub(crate) kept: Option<&'a [R]>,
    pub(crate) y: Elements<R>,
    pub(crate) start: Option<Elements<R>>,
    pub(crate) scale: R,
}

/// A matrix in memory: element (r, c) is at `r · row + c · col`.
#[derive(Clone, Copy)]
pub(crate) struct Elements<R> {
    pub(crate) data: *mut R,
    pub(crate) row: usize,
    pub(crate) col: usize,
}

impl<R> Elements<R> {
    /// Where an element lies; beyond the matrix only for hints.
    #[inline(always)]
    fn at(self, row: usize, col: usize) -> *mut R {
        self.data.wrapping_add(row * self.row + col * self.col)
    }

    /// Copies elements of another.
    ///
    /// # Safety
    /// They are readable there and writable here.
    #[allow(unsafe_code, reason = "matrices that threads write are pointers")]
    pub(crate) unsafe fn copy_from(self, other: Self, (rows, cols): (usize, usize))
    where
        R: Copy,
    {
        for row in 0..rows {
            for col in 0..cols {
                // SAFETY: the caller's promise.
                unsafe { *self.at(row, col) = *other.at(row, col) };
            }
        }
    }
}

/// Input, product, panel and its width.
#[cfg(test)]
type Taken<R> = (Elements<R>, Elements<R>, *const R, usize);

/// Some columns of a product.
pub(crate) struct Columns<'a, R> {
    product: Panels<'a, R>,
    columns: Range<usize>,
}

impl<'a, R: Lanes> Columns<'a, R> {
    /// Some columns; their first is a multiple of a panel's.
    ///
    /// # Safety
    /// x, y and `start` are what the sizes of w say: readable, and y writable at every element of these columns, which
    /// nobody else touches while they are computed. `kept` are all panels of w.
    #[allow(unsafe_code, reason = "threads write disjoint columns")]
    pub(crate) unsafe fn new(product: Panels<'a, R>, columns: Range<usize>) -> Self {
        Self { product, columns }
    }

    /// The part that is needed after one, as far as can be known; `last` where all rows have passed by it.
    #[inline(always)]
    fn following(&self, part: WeightPart, last: bool) -> Option<WeightPart> {
        let (w, column) = (self.product.w, part.column + self.product.w.columns());
        let start = if last { part.start + part.length } else { part.start };
        if column < self.columns.end {
            Some(w.part(part.start, column, self.columns.end))
        } else if start < w.size.0 {
            Some(w.part(start, self.columns.start, self.columns.end))
        } else {
            // Threads mostly go on with the columns behind.
            (column < w.size.1).then(|| w.part(0, column, w.size.1))
        }
    }
}

/// Rows from which a product asks for kept panels before it needs them.
const LEAST_ROWS_AHEAD: usize = 4;

/// Room for one panel.
#[repr(align(64))]
struct Room(MaybeUninit<[u8; MOST_PANEL_BYTES]>);

impl<R: Lanes> WithSimd for Columns<'_, R> {
    type Output = ();

    #[inline(always)]
    #[allow(unsafe_code, reason = "vectors over checked slices")]
    fn with_simd<S: Simd>(self, simd: S) {
        let Panels { rows, w, kept, .. } = self.product;
        assert_eq!(w.columns() * size_of::<R>(), 2 * size_of::<R::Vector<S>>(), "a panel of another width");
        assert!(w.sweep() * w.columns() * size_of::<R>() <= MOST_PANEL_BYTES, "a panel without room");
        let mut room = Room(MaybeUninit::uninit());
        let own = room.0.as_mut_ptr().cast::<R>();
        let block_rows = self.product.block_rows();
        for start in (0..w.size.0).step_by(w.sweep()) {
            for first in (0..rows).step_by(block_rows) {
                for column in self.columns.clone().step_by(w.columns()) {
                    let part = w.part(start, column, self.columns.end);
                    // SAFETY: the part lies inside w, the rows inside x and y; `new` had the rest promised.
                    unsafe {
                        let panel = match kept {
                            Some(kept) => kept.as_ptr().add(w.offset(part)),
                            None => {
                                w.fill(simd, own, part);
                                own.cast_const()
                            }
                        };
                        let block = first..(first + block_rows).min(rows);
                        let next = self.following(part, block.end == rows);
                        self.product.block(simd, panel, part, next, block);
                    }
                }
            }
        }
    }
}

#[allow(unsafe_code, clippy::needless_range_loop, reason = "vectors over checked slices")]
impl<R: Lanes> Panels<'_, R> {
    /// Rows whose part of a sweep stays in the second-level cache, in blocks of about the same length.
    fn block_rows(&self) -> usize {
        let most = (self.w.blocking.block_bytes / (self.w.sweep() * size_of::<R>())).max(1);
        self.rows.div_ceil(self.rows.div_ceil(most)).next_multiple_of(self.w.blocking.tile_rows)
    }

    /// Some rows times one panel, in tiles of about as many rows: one of few rows would wait for its own sums.
    ///
    /// # Safety
    /// As for [`Columns::new`], with the part inside w and the rows inside x and y.
    #[inline(always)]
    unsafe fn block<S: Simd>(
        &self,
        simd: S,
        panel: *const R,
        part: WeightPart,
        next: Option<WeightPart>,
        rows: Range<usize>,
    ) {
        let tiles = rows.len().div_ceil(self.w.blocking.tile_rows.min(MOST_TILE_ROWS));
        let mut row = rows.start;
        for tile in 0..tiles {
            // Each tile asks for its share of what the next panel needs, so that memory is never waited for.
            let ahead = self.ahead(part, next, (tile, tiles));
            let count = (rows.end - row).div_ceil(tiles - tile);
            // SAFETY: the tile ends with the rows.
            unsafe {
                match count {
                    1 => self.tile::<S, 1>(simd, panel, part, row, ahead),
                    2 => self.tile::<S, 2>(simd, panel, part, row, ahead),
                    3 => self.tile::<S, 3>(simd, panel, part, row, ahead),
                    4 => self.tile::<S, 4>(simd, panel, part, row, ahead),
                    5 => self.tile::<S, 5>(simd, panel, part, row, ahead),
                    6 => self.tile::<S, 6>(simd, panel, part, row, ahead),
                    7 => self.tile::<S, 7>(simd, panel, part, row, ahead),
                    8 => self.tile::<S, 8>(simd, panel, part, row, ahead),
                    9 => self.tile::<S, 9>(simd, panel, part, row, ahead),
                    10 => self.tile::<S, 10>(simd, panel, part, row, ahead),
                    11 => self.tile::<S, 11>(simd, panel, part, row, ahead),
                    _ => self.tile::<S, MOST_TILE_ROWS>(simd, panel, part, row, ahead),
                }
            }
            row += count;
        }
    }

    /// N rows times one panel, a run at a time.
    ///
    /// # Safety
    /// As for [`Panels::block`], with N rows from `row` on.
    #[inline(always)]
    unsafe fn tile<S: Simd, const N: usize>(
        &self,
        simd: S,
        panel: *const R,
        part: WeightPart,
        row: usize,
        ahead: Ahead<R>,
    ) {
        let scale = R::splat(simd, self.scale);
        let (x, y, width) = (self.x, self.y, part.width);
        #[cfg(test)]
        let (x, y, panel, width) = self.faulty((x, y, panel, width), part.column);
        for done in (0..part.length).step_by(RUN) {
            let inner = part.start + done;
            // What stands in y is what the runs before have left there.
            let before = if inner > 0 { Some(y) } else { self.start };
            // SAFETY: the caller keeps the tile inside x, y and the panel.
            unsafe {
                let panel = panel.add(done * self.w.columns());
                let sums = multiply::<S, R, N>(
                    simd,
                    x.at(row, inner),
                    (x.row, x.col),
                    panel,
                    RUN.min(part.length - done),
                    ahead.after(done),
                );
                for r in 0..N {
                    let zeros = [R::splat(simd, R::default()); 2];
                    let at = |before: Elements<R>| (before.at(row + r, part.column).cast_const(), before.col);
                    let [left, right] = match before.map(at) {
                        Some((from, col)) => load::<S, R>(from, col, width),
                        None => zeros,
                    };
                    let [left, right] =
                        [R::fused(simd, scale, sums[r][0], left), R::fused(simd, scale, sums[r][1], right)];
                    store::<S, R>([left, right], y.at(row + r, part.column), y.col, width);
                }
            }
        }
    }

    /// Input, product, panel and width as a tile with a fault takes them; all stay where they may be read and written.
    #[cfg(test)]
    fn faulty(&self, (x, y, panel, width): Taken<R>, column: usize) -> Taken<R> {
        let closer = |all: Elements<R>, yes: bool| Elements { row: all.row - usize::from(yes), ..all };
        let fault = self.w.blocking.fault;
        let early = fault == Fault::PanelOffset && self.kept.is_some() && column > 0;
        let dropped = fault == Fault::DroppedColumn && width < self.w.columns();
        (
            closer(x, fault == Fault::InputStride),
            closer(y, fault == Fault::OutputStride),
            panel.wrapping_sub(usize::from(early)),
            width - usize::from(dropped),
        )
    }

    /// A tile's share of the next panel, or of what it will be copied from.
    #[inline(always)]
    fn ahead(&self, part: WeightPart, next: Option<WeightPart>, (tile, tiles): (usize, usize)) -> Ahead<R> {
        let (size, row_bytes) = (size_of::<R>(), self.w.columns() * size_of::<R>());
        // Under few rows of kept panels asking takes longer than the arithmetic.
        let next = next.filter(|_| self.kept.is_none() || self.rows >= LEAST_ROWS_AHEAD);
        let bytes = if next.is_some() { row_bytes.div_ceil(tiles) } else { 0 };
        let next = next.unwrap_or(part);
        let copied = self.w.at(next.start, next.column);
        let (first, group_bytes, stride_bytes) = match self.kept {
            Some(kept) => (kept.as_ptr().wrapping_add(self.w.offset(next)), usize::MAX, 0),
            None if self.w.col == 1 => (copied, row_bytes, self.w.row * size),
            None => (copied, next.length * size, self.w.col * size),
        };
        Ahead { first, group_bytes, stride_bytes, done: tile * part.length * bytes, bytes }
    }
}
