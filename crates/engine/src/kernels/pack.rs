//! The weight of a product as panels: narrow columns of it, laid out as they are read.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[cfg(target_arch = "x86_64")]
use {super::panel::available, crate::gemm::View, std::arch::x86_64::*};

/// Columns of a panel: two registers.
pub(crate) const COLUMNS: usize = 16;

/// Inner elements of a panel, so that it takes half of the first-level cache.
pub(super) const SWEEP: usize = 256;

/// The panels of one weight for one direction, made when it has multiplied so many rows that copying it pays.
#[derive(Debug, Default)]
pub(crate) struct Pack {
    rows: AtomicUsize,
    claimed: AtomicBool,
    panels: OnceLock<Vec<f32>>,
}

/// Rows after which a copy has cost less than doing without.
const ROWS_UNTIL_KEPT: usize = 128;

impl Pack {
    /// All panels of w, for a product of `rows`; none where it is too early, or while another thread makes them.
    ///
    /// Panics where they were made of a weight of another size, which is a defect of the caller.
    pub(crate) fn panels(&self, rows: usize, w: Weight<'_>) -> Option<&[f32]> {
        let panels = self.made(rows, w)?;
        assert_eq!(panels.len(), w.panels_len(), "panels of a weight of another size");
        Some(panels)
    }

    fn made(&self, rows: usize, w: Weight<'_>) -> Option<&[f32]> {
        if let Some(panels) = self.panels.get() {
            return Some(panels);
        }
        let enough = self.rows.fetch_add(rows, Ordering::Relaxed) + rows > ROWS_UNTIL_KEPT;
        if !enough || self.claimed.swap(true, Ordering::Relaxed) {
            return None;
        }
        Some(self.panels.get_or_init(|| w.panels()))
    }
}

/// w\[k, n\], of which either rows or columns are contiguous.
#[derive(Clone, Copy)]
pub(crate) struct Weight<'a> {
    pub(crate) data: &'a [f32],
    pub(crate) row: usize,
    pub(crate) col: usize,
    /// Its inner length and columns.
    pub(crate) size: (usize, usize),
}

/// A part of w: `length` inner elements from `start` on, `width` columns from `column` on.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) start: usize,
    pub(super) length: usize,
    pub(super) column: usize,
    pub(super) width: usize,
}

impl Weight<'_> {
    /// Inner elements a sweep: all sweeps of about the same length, in whole registers.
    pub(super) fn sweep(self) -> usize {
        let k = self.size.0;
        k.div_ceil(k.div_ceil(SWEEP) * 8) * 8
    }

    /// The part of one panel.
    pub(super) fn part(self, start: usize, column: usize, last: usize) -> Part {
        let length = self.sweep().min(self.size.0 - start);
        Part { start, length, column, width: COLUMNS.min(last - column) }
    }

    /// Where a panel lies among all of them.
    pub(super) fn offset(self, part: Part) -> usize {
        part.start * self.size.1.next_multiple_of(COLUMNS) + part.column * part.length
    }

    /// Elements of all panels together.
    fn panels_len(self) -> usize {
        self.size.0 * self.size.1.next_multiple_of(COLUMNS)
    }

    /// Every panel, sweep by sweep; panics where the machine cannot or where w leaves its slice.
    #[cfg(target_arch = "x86_64")]
    fn panels(self) -> Vec<f32> {
        let (k, n) = self.size;
        let view = View { offset: 0, row: self.row, col: self.col };
        assert!(available(), "panels: this machine has no AVX2 and FMA");
        assert!(view.fits(k, n, self.data.len()), "panels: the weight leaves its slice");
        let mut all = vec![0.0; self.panels_len()];
        for start in (0..k).step_by(self.sweep()) {
            for column in (0..n).step_by(COLUMNS) {
                let part = self.part(start, column, n);
                let panel = &mut all[self.offset(part)..][..part.length * COLUMNS];
                // SAFETY: asserted above; the part lies inside w and the panel has its length.
                #[allow(unsafe_code, reason = "SIMD intrinsics over checked slices")]
                unsafe {
                    self.fill(panel.as_mut_ptr(), part);
                }
            }
        }
        all
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "SIMD intrinsics over checked slices")]
impl Weight<'_> {
    /// Copies a part of w.
    ///
    /// # Safety
    /// [`available`] holds, the part lies inside w, and `to` is writable for its length times [`COLUMNS`].
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn fill(self, to: *mut f32, part: Part) {
        let Part { start, length, column, width } = part;
        // SAFETY: reads stay inside the part, and writes below `length` rows of the panel.
        unsafe {
            let w = self.data.as_ptr().add(start * self.row + column * self.col);
            let mut done = 0;
            if width == COLUMNS && self.col == 1 {
                for i in 0..length {
                    let from = w.add(i * self.row);
                    _mm256_storeu_ps(to.add(i * 16), _mm256_loadu_ps(from));
                    _mm256_storeu_ps(to.add(i * 16 + 8), _mm256_loadu_ps(from.add(8)));
                }
                done = length;
            } else if width == COLUMNS && self.row == 1 {
                done = length - length % 8;
                for i in (0..done).step_by(8) {
                    turn(w.add(i), self.col, to.add(i * 16));
                    turn(w.add(i + 8 * self.col), self.col, to.add(i * 16 + 8));
                }
            }
            for i in done..length {
                for c in 0..COLUMNS {
                    *to.add(i * 16 + c) = if c < width { *w.add(i * self.row + c * self.col) } else { 0.0 };
                }
            }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Weight<'_> {
    /// Never called: [`available`] is false.
    fn panels(self) -> Vec<f32> {
        Vec::new()
    }
}

/// Eight rows of eight, turned into columns: element (r, c) goes to `to[16·c + r]`.
///
/// # Safety
/// The machine has AVX2; the rows are readable and the columns writable.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "SIMD intrinsics over checked slices")]
#[target_feature(enable = "avx2")]
unsafe fn turn(from: *const f32, stride: usize, to: *mut f32) {
    // SAFETY: the caller's promise.
    unsafe {
        let half = |r: usize, c: usize| {
            let low = _mm256_castps128_ps256(_mm_loadu_ps(from.add(r * stride + c)));
            _mm256_insertf128_ps(low, _mm_loadu_ps(from.add((r + 4) * stride + c)), 1)
        };
        for c in [0, 4] {
            let (a, b, d, e) = (half(0, c), half(1, c), half(2, c), half(3, c));
            let (ab, de) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(d, e));
            let (hab, hde) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(d, e));
            let to = to.add(16 * c);
            _mm256_storeu_ps(to, _mm256_shuffle_ps(ab, de, 0b01_00_01_00));
            _mm256_storeu_ps(to.add(16), _mm256_shuffle_ps(ab, de, 0b11_10_11_10));
            _mm256_storeu_ps(to.add(32), _mm256_shuffle_ps(hab, hde, 0b01_00_01_00));
            _mm256_storeu_ps(to.add(48), _mm256_shuffle_ps(hab, hde, 0b11_10_11_10));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A weight \[k, n\] over as many elements as are given.
    fn weight(data: &[f32], size: (usize, usize)) -> Weight<'_> {
        Weight { data, row: size.1, col: 1, size }
    }

    #[test]
    #[cfg_attr(not(target_arch = "x86_64"), ignore = "there are no panels")]
    #[should_panic(expected = "panels: ")]
    fn a_weight_that_leaves_its_slice_is_not_read() {
        weight(&[0.0; 64], (8, 16)).panels();
    }

    /// Sixteen columns of panels are not read as thirty-two.
    #[test]
    #[should_panic(expected = "panels of a weight of another size")]
    fn panels_of_a_smaller_weight_are_refused() {
        let pack = Pack::default();
        assert!(pack.panels.set(vec![0.0; 8 * 16]).is_ok());
        assert!(pack.panels(1, weight(&[0.0; 8 * 16], (8, 16))).is_some());
        pack.panels(1, weight(&[0.0; 8 * 32], (8, 32)));
    }
}
