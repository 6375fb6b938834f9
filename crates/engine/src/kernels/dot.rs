//! A product for few rows: x·wᵀ with both sides row-major, as a tile of inner products that needs no packing.
//!
//! General matrix products copy the weight into panels first. With a single text that copy costs as much as the
//! arithmetic, and the weight is too large for the cache, so here it is streamed from memory exactly once.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// Above this many rows the packing pays for itself.
pub(crate) const MOST_ROWS: usize = 96;

/// Below this inner length, adding up the lanes of a tile costs as much as filling them.
pub(crate) const LEAST_INNER: usize = 256;

/// Columns of a full tile. Six rows of w stay in the first-level cache while two rows of x at a time come from the second.
pub(crate) const TILE_COLUMNS: usize = 6;

/// Inner elements per sweep, so that those six rows fit.
const SWEEP: usize = 768;

/// y\[m, n\] (+)= x\[m, k\] · w\[n, k\]ᵀ; the strides are the distances between rows.
pub(crate) struct Dots<'a> {
    pub(crate) mnk: (usize, usize, usize),
    pub(crate) x: &'a [f32],
    pub(crate) x_row: usize,
    pub(crate) w: &'a [f32],
    pub(crate) w_row: usize,
    pub(crate) y: *mut f32,
    pub(crate) y_row: usize,
    pub(crate) accumulate: bool,
    pub(crate) scale: f32,
}

/// Whether this machine has what the tile needs.
pub(crate) fn available() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

impl Dots<'_> {
    /// Computes columns `first..last` of y.
    ///
    /// # Safety
    /// [`available`] holds; y is valid for writes at every element of these columns and nobody else touches them; x and
    /// w hold the rows that `mnk` and the strides say.
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code, reason = "SIMD intrinsics over checked slices")]
    #[target_feature(enable = "avx2,fma")]
    pub(crate) unsafe fn columns(&self, first: usize, last: usize) {
        let (m, _, k) = self.mnk;
        let mut start = 0;
        while start < k {
            let length = SWEEP.min(k - start);
            let mut column = first;
            while column < last {
                let wide = last - column >= TILE_COLUMNS;
                let mut row = 0;
                while row < m {
                    let tall = m - row >= 2;
                    let at = (row, column, start, length);
                    // SAFETY: row + R ≤ m, column + C ≤ last ≤ n and start + length ≤ k.
                    unsafe {
                        match (tall, wide) {
                            (true, true) => self.tile::<2, TILE_COLUMNS>(at),
                            (true, false) => self.tile::<2, 1>(at),
                            (false, true) => self.tile::<1, TILE_COLUMNS>(at),
                            (false, false) => self.tile::<1, 1>(at),
                        }
                    }
                    row += if tall { 2 } else { 1 };
                }
                column += if wide { TILE_COLUMNS } else { 1 };
            }
            start += length;
        }
    }

    /// R × C inner products over `length` elements from `start` on.
    ///
    /// # Safety
    /// As for [`Dots::columns`], with the tile inside the matrix.
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code, clippy::needless_range_loop, reason = "SIMD intrinsics over checked slices")]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn tile<const R: usize, const C: usize>(
        &self,
        (row, column, start, length): (usize, usize, usize, usize),
    ) {
        let mut sums = [[_mm256_setzero_ps(); C]; R];
        let mut tails = [[0f32; C]; R];
        // SAFETY: the caller keeps the tile inside x and w; the prefetch is a hint and may point anywhere.
        unsafe {
            let x = self.x.as_ptr().add(row * self.x_row + start);
            let w = self.w.as_ptr().add(column * self.w_row + start);
            let whole = length - length % 8;
            let mut i = 0;
            while i < whole {
                let mut inputs = [_mm256_setzero_ps(); R];
                for r in 0..R {
                    inputs[r] = _mm256_loadu_ps(x.add(r * self.x_row + i));
                }
                for c in 0..C {
                    let weights = _mm256_loadu_ps(w.add(c * self.w_row + i));
                    if row == 0 {
                        // The first rows fetch what the next columns will read.
                        _mm_prefetch(w.wrapping_add((c + C) * self.w_row + i).cast(), _MM_HINT_T1);
                    }
                    for r in 0..R {
                        sums[r][c] = _mm256_fmadd_ps(inputs[r], weights, sums[r][c]);
                    }
                }
                i += 8;
            }
            for i in whole..length {
                for r in 0..R {
                    for c in 0..C {
                        tails[r][c] += *x.add(r * self.x_row + i) * *w.add(c * self.w_row + i);
                    }
                }
            }
            for r in 0..R {
                for c in 0..C {
                    let out = self.y.add((row + r) * self.y_row + column + c);
                    let value = self.scale * (total(sums[r][c]) + tails[r][c]);
                    *out = if self.accumulate || start > 0 { *out + value } else { value };
                }
            }
        }
    }

    /// Never called: [`available`] is false.
    ///
    /// # Safety
    /// None is needed.
    #[cfg(not(target_arch = "x86_64"))]
    #[allow(unsafe_code, reason = "the same signature as on x86")]
    pub(crate) unsafe fn columns(&self, _: usize, _: usize) {}
}

/// The sum of eight numbers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn total(v: __m256) -> f32 {
    let four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)))
}
