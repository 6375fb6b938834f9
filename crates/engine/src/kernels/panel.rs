//! A product with a weight: one narrow panel of it lies in the first-level cache while all rows pass by.
//!
//! General matrix products pack both sides into large blocks, which they must then fetch again, and with the rows of
//! a few texts that costs as much as the arithmetic. Here rows are read where they are. A weight that multiplies often
//! is kept as panels ([`super::pack::Pack`]); of another, each panel is copied just before it is used. Both ways give the same bits,
//! and so does every number of rows: how a row's sums are taken depends on the weight alone.

use super::pack::{COLUMNS, Part, SWEEP, Weight};
use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// Above this many rows a general product is as fast where no panels are kept.
pub(crate) const MOST_ROWS: usize = 288;

/// Below these many inner elements and columns, the edges of the panels cost more than they save.
pub(crate) const LEAST_INNER: usize = 128;
pub(crate) const LEAST_COLUMNS: usize = 64;

/// Rows of a full tile: with two registers each, twelve sums, two weights and an input fill the sixteen registers.
const TILE_ROWS: usize = 6;

/// Rows whose part of a sweep stays in the second-level cache.
const BLOCK_ROWS: usize = 48 * TILE_ROWS;

/// Whether this machine has what the tile needs, and nobody asked to do without.
pub(crate) fn available() -> bool {
    #[cfg(all(target_arch = "x86_64", not(feature = "general-products")))]
    {
        std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
    }
    #[cfg(any(not(target_arch = "x86_64"), feature = "general-products"))]
    {
        false
    }
}

/// y\[m, n\] = start + scale · x\[m, k\] · w\[k, n\]; rows of x and y are contiguous.
pub(crate) struct Panels<'a> {
    pub(crate) rows: usize,
    pub(crate) x: &'a [f32],
    pub(crate) x_row: usize,
    pub(crate) w: Weight<'a>,
    /// Every panel of w, where they are kept.
    pub(crate) kept: Option<&'a [f32]>,
    pub(crate) y: *mut f32,
    pub(crate) y_row: usize,
    pub(crate) start: Start<'a>,
    pub(crate) scale: f32,
}

/// What a product is added to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Start<'a> {
    /// Nothing: the destination is overwritten.
    Nothing,
    /// What the destination holds.
    Own,
    /// One row for all.
    Row(&'a [f32]),
}

/// One panel of w: rows of sixteen, zero beyond the last column.
#[repr(align(64))]
struct Panel([f32; SWEEP * COLUMNS]);

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, clippy::needless_range_loop, reason = "SIMD intrinsics over checked slices")]
impl Panels<'_> {
    /// Computes columns `first..last` of y; `first` is a multiple of [`COLUMNS`].
    ///
    /// # Safety
    /// [`available`] holds; y is valid for writes at every element of these columns and nobody else touches them; x and
    /// w hold what the sizes and strides say, and `kept` all panels of w.
    #[target_feature(enable = "avx2,fma")]
    pub(crate) unsafe fn columns(&self, first: usize, last: usize) {
        let mut own = Panel([0.0; SWEEP * COLUMNS]);
        for start in (0..self.w.size.0).step_by(self.w.sweep()) {
            for row in (0..self.rows).step_by(BLOCK_ROWS) {
                for column in (first..last).step_by(COLUMNS) {
                    let part = self.w.part(start, column, last);
                    // SAFETY: the part lies inside w, the rows inside x and y.
                    unsafe {
                        let panel = match self.kept {
                            Some(kept) => kept.as_ptr().add(self.w.offset(part)),
                            None => {
                                self.w.fill(own.0.as_mut_ptr(), part);
                                own.0.as_ptr()
                            }
                        };
                        self.block(panel, part, row..(row + BLOCK_ROWS).min(self.rows));
                    }
                }
            }
        }
    }

    /// Some rows times one panel.
    ///
    /// # Safety
    /// As for [`Panels::columns`], with the part inside w and the rows inside x and y.
    #[target_feature(enable = "avx2,fma")]
    unsafe fn block(&self, panel: *const f32, part: Part, rows: Range<usize>) {
        let tiles = rows.len().div_ceil(TILE_ROWS);
        let mut row = rows.start;
        for tile in 0..tiles {
            // Each tile asks for its share of what the next panel needs, so that memory is never waited for.
            self.fetch(panel, part, part.length * tile / tiles..part.length * (tile + 1) / tiles);
            let left = rows.end - row;
            // A tile of few rows waits for its own sums, so the last two share what is left.
            let count = if left <= TILE_ROWS || left >= TILE_ROWS + 4 {
                left.min(TILE_ROWS)
            } else {
                left.div_ceil(2)
            };
            // SAFETY: the tile ends with the rows.
            unsafe {
                match count {
                    1 => self.tile::<1>(panel, part, row),
                    2 => self.tile::<2>(panel, part, row),
                    3 => self.tile::<3>(panel, part, row),
                    4 => self.tile::<4>(panel, part, row),
                    5 => self.tile::<5>(panel, part, row),
                    _ => self.tile::<TILE_ROWS>(panel, part, row),
                }
            }
            row += count;
        }
    }

    /// R rows times one panel.
    ///
    /// # Safety
    /// As for [`Panels::block`], with R rows from `row` on.
    #[target_feature(enable = "avx2,fma")]
    unsafe fn tile<const R: usize>(&self, panel: *const f32, part: Part, row: usize) {
        let mut sums = [[_mm256_setzero_ps(); 2]; R];
        // SAFETY: the caller keeps the tile inside x, y and the panel.
        unsafe {
            let x = self.x.as_ptr().add(row * self.x_row + part.start);
            let rows: [*const f32; R] = std::array::from_fn(|r| x.add(r * self.x_row));
            let whole = part.length - part.length % 4;
            for i in (0..whole).step_by(4) {
                for u in 0..4 {
                    step(&mut sums, &rows, panel, i + u);
                }
            }
            for i in whole..part.length {
                step(&mut sums, &rows, panel, i);
            }
            let start = if part.start > 0 { Start::Own } else { self.start };
            let scale = _mm256_set1_ps(self.scale);
            for r in 0..R {
                let out = self.y.add((row + r) * self.y_row + part.column);
                let before = match start {
                    Start::Nothing => None,
                    Start::Own => Some(out.cast_const()),
                    Start::Row(row) => Some(row.as_ptr().add(part.column)),
                };
                if part.width == COLUMNS {
                    for half in 0..2 {
                        let before = before.map(|before| _mm256_loadu_ps(before.add(8 * half)));
                        let before = before.unwrap_or(_mm256_setzero_ps());
                        let sum = _mm256_fmadd_ps(scale, sums[r][half], before);
                        _mm256_storeu_ps(out.add(8 * half), sum);
                    }
                } else {
                    let mut values = [0f32; COLUMNS];
                    _mm256_storeu_ps(values.as_mut_ptr(), sums[r][0]);
                    _mm256_storeu_ps(values.as_mut_ptr().add(8), sums[r][1]);
                    for c in 0..part.width {
                        let before = before.map_or(0.0, |before| *before.add(c));
                        *out.add(c) = self.scale.mul_add(values[c], before);
                    }
                }
            }
        }
    }

    /// Asks for some cache lines of the next panel, or of what it will be copied from.
    #[target_feature(enable = "avx2,fma")]
    fn fetch(&self, panel: *const f32, part: Part, lines: Range<usize>) {
        for i in lines {
            let next = if self.kept.is_some() {
                panel.wrapping_add((part.length + i) * COLUMNS)
            } else {
                let (inner, column) = if self.w.col == 1 { (i, 0) } else { (i / 16 * 16, i % 16) };
                let at = (part.start + inner) * self.w.row + (part.column + COLUMNS + column) * self.w.col;
                self.w.data.as_ptr().wrapping_add(at)
            };
            // A hint that may point anywhere.
            _mm_prefetch(next.cast(), _MM_HINT_T0);
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[allow(unsafe_code, reason = "the same signature as on x86")]
impl Panels<'_> {
    /// Never called: [`available`] is false.
    ///
    /// # Safety
    /// None is needed.
    pub(crate) unsafe fn columns(&self, _: usize, _: usize) {}
}

/// One inner element of R rows times a panel.
///
/// # Safety
/// The machine has AVX2 and FMA; the rows and the panel reach beyond `i`.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, clippy::needless_range_loop, reason = "SIMD intrinsics over checked slices")]
#[target_feature(enable = "avx2,fma")]
#[inline]
unsafe fn step<const R: usize>(
    sums: &mut [[__m256; 2]; R],
    rows: &[*const f32; R],
    panel: *const f32,
    i: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let weights = [_mm256_loadu_ps(panel.add(i * 16)), _mm256_loadu_ps(panel.add(i * 16 + 8))];
        for r in 0..R {
            let input = _mm256_broadcast_ss(&*rows[r].add(i));
            sums[r][0] = _mm256_fmadd_ps(input, weights[0], sums[r][0]);
            sums[r][1] = _mm256_fmadd_ps(input, weights[1], sums[r][1]);
        }
    }
}
