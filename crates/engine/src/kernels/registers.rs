//! The innermost loops of a product: sums of a few rows in registers.

use super::lanes::Lanes;
use pulp::Simd;
use std::mem::MaybeUninit;

/// x · panel for N rows of x.
///
/// # Safety
/// The rows and the panel have `length` inner elements.
#[allow(unsafe_code, clippy::needless_range_loop, reason = "vectors over checked slices")]
#[inline(always)]
pub(super) unsafe fn multiply<S: Simd, R: Lanes, const N: usize>(
    simd: S,
    x: *const R,
    (x_row, x_col): (usize, usize),
    panel: *const R,
    length: usize,
    ahead: Ahead<R>,
) -> [[R::Vector<S>; 2]; N] {
    let mut sums = [[R::splat(simd, R::default()); 2]; N];
    let mut rows = [x; N];
    for r in 0..N {
        rows[r] = x.wrapping_add(r * x_row);
    }
    let panel = panel.cast::<[R::Vector<S>; 2]>();
    let whole = length - length % 4;
    // SAFETY: the caller's promise.
    unsafe {
        for first in (0..whole).step_by(HINTED) {
            ahead.hint(first);
            for i in (first..(first + HINTED).min(whole)).step_by(4) {
                for u in 0..4 {
                    step(simd, &mut sums, &rows, (i + u) * x_col, panel.add(i + u));
                }
            }
        }
        for i in whole..length {
            step(simd, &mut sums, &rows, i * x_col, panel.add(i));
        }
    }
    sums
}

/// One inner element of N rows times a panel.
///
/// # Safety
/// The rows reach beyond `at`, and the weights are readable.
#[allow(unsafe_code, clippy::needless_range_loop, reason = "vectors over checked slices")]
#[inline(always)]
unsafe fn step<S: Simd, R: Lanes, const N: usize>(
    simd: S,
    sums: &mut [[R::Vector<S>; 2]; N],
    rows: &[*const R; N],
    at: usize,
    weights: *const [R::Vector<S>; 2],
) {
    // SAFETY: the caller's promise.
    unsafe {
        let [left, right] = weights.read_unaligned();
        for r in 0..N {
            let input = R::splat(simd, *rows[r].add(at));
            sums[r] = [R::fused(simd, input, left, sums[r][0]), R::fused(simd, input, right, sums[r][1])];
        }
    }
}

/// One row of a tile, of which `width` elements are there.
///
/// # Safety
/// They are readable.
#[allow(unsafe_code, reason = "vectors over checked slices")]
#[inline(always)]
pub(super) unsafe fn load<S: Simd, R: Lanes>(from: *const R, col: usize, width: usize) -> [R::Vector<S>; 2] {
    let mut row = MaybeUninit::<[R::Vector<S>; 2]>::zeroed();
    // SAFETY: the caller's promise, and zeros are numbers.
    unsafe {
        if col == 1 && width * size_of::<R>() == size_of_val(&row) {
            return from.cast::<[R::Vector<S>; 2]>().read_unaligned();
        }
        for c in 0..width {
            *row.as_mut_ptr().cast::<R>().add(c) = *from.add(c * col);
        }
        row.assume_init()
    }
}

/// Writes one row of a tile, of which `width` elements are there.
///
/// # Safety
/// They are writable.
#[allow(unsafe_code, reason = "vectors over checked slices")]
#[inline(always)]
pub(super) unsafe fn store<S: Simd, R: Lanes>(row: [R::Vector<S>; 2], to: *mut R, col: usize, width: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        if col == 1 && width * size_of::<R>() == size_of_val(&row) {
            return to.cast::<[R::Vector<S>; 2]>().write_unaligned(row);
        }
        let row = (&raw const row).cast::<R>();
        for c in 0..width {
            *to.add(c * col) = *row.add(c);
        }
    }
}

/// Inner elements between two rounds of hints. Hints inside of the loop over elements would cost it its registers.
const HINTED: usize = 32;

/// What will be needed soon, spread over a product so that nobody waits for all of it at once: groups of bytes, each so far
/// from the one before.
#[derive(Clone, Copy)]
pub(super) struct Ahead<R> {
    /// Its beginning; it may lie anywhere.
    pub(super) first: *const R,
    pub(super) group_bytes: usize,
    pub(super) stride_bytes: usize,
    /// How many bytes come before those of a product.
    pub(super) done: usize,
    /// Bytes to ask for with every inner element.
    pub(super) bytes: usize,
}

impl<R> Ahead<R> {
    /// What is left after some inner elements.
    #[inline(always)]
    pub(super) fn after(self, inner: usize) -> Self {
        Self { done: self.done + inner * self.bytes, ..self }
    }

    /// Asks for the share of a round.
    #[inline(always)]
    fn hint(self, inner: usize) {
        let start = self.done + inner * self.bytes;
        for byte in (start..start + HINTED * self.bytes).step_by(64) {
            let (group, within) = (byte / self.group_bytes, byte % self.group_bytes);
            let at = self.first.wrapping_byte_add(group * self.stride_bytes + within);
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code, reason = "a hint that may point anywhere")]
            // SAFETY: every x86-64 machine has it, and it reads nothing.
            unsafe {
                use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
                _mm_prefetch(at.cast(), _MM_HINT_T0);
            }
            #[cfg(not(target_arch = "x86_64"))]
            let _ = at;
        }
    }
}
