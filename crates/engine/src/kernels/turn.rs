//! Blocks of a matrix, transposed.

use super::lanes::Lanes;
use pulp::Simd;

/// Elements of a block that is turned at a time, on both sides.
pub(super) const TURN: usize = 8;

/// Eight rows of eight, turned into columns: element (r, c) goes to `to[c · to_row + r]`.
///
/// # Safety
/// The rows are readable and the columns writable.
#[allow(unsafe_code, reason = "vectors over checked slices")]
#[inline(always)]
pub(super) unsafe fn turn<S: Simd, R: Lanes>(
    simd: S,
    from: *const R,
    from_row: usize,
    to: *mut R,
    to_row: usize,
) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::any::TypeId;
        let kinds = [TypeId::of::<pulp::x86::V4>(), TypeId::of::<pulp::x86::V3>()];
        if TypeId::of::<R>() == TypeId::of::<f32>() && kinds.contains(&TypeId::of::<S>()) {
            // SAFETY: the elements are f32, such a `simd` exists only on machines with AVX2, and the caller's promise.
            return unsafe { turn_avx2(from.cast(), from_row, to.cast(), to_row) };
        }
    }
    let _ = simd;
    for r in 0..TURN {
        for c in 0..TURN {
            // SAFETY: the caller's promise.
            unsafe { *to.add(c * to_row + r) = *from.add(r * from_row + c) };
        }
    }
}

/// The same by AVX2.
///
/// # Safety
/// As for [`turn`], on a machine with AVX2.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "vectors over checked slices")]
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn turn_avx2(from: *const f32, from_row: usize, to: *mut f32, to_row: usize) {
    use std::arch::x86_64::*;
    // SAFETY: the caller's promise.
    unsafe {
        for c in [0, 4] {
            let from = from.add(c);
            let [a, b, d, e] = [
                halves(from, from.add(4 * from_row)),
                halves(from.add(from_row), from.add(5 * from_row)),
                halves(from.add(2 * from_row), from.add(6 * from_row)),
                halves(from.add(3 * from_row), from.add(7 * from_row)),
            ];
            let (ab, de) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(d, e));
            let (hab, hde) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(d, e));
            let to = to.add(to_row * c);
            _mm256_storeu_ps(to, _mm256_shuffle_ps(ab, de, 0b01_00_01_00));
            _mm256_storeu_ps(to.add(to_row), _mm256_shuffle_ps(ab, de, 0b11_10_11_10));
            _mm256_storeu_ps(to.add(2 * to_row), _mm256_shuffle_ps(hab, hde, 0b01_00_01_00));
            _mm256_storeu_ps(to.add(3 * to_row), _mm256_shuffle_ps(hab, hde, 0b11_10_11_10));
        }
    }
}

/// Four numbers of each of two rows.
///
/// # Safety
/// They are readable, on a machine with AVX2.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "vectors over checked slices")]
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn halves(low: *const f32, high: *const f32) -> std::arch::x86_64::__m256 {
    use std::arch::x86_64::*;
    // SAFETY: the caller's promise.
    unsafe { _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1) }
}
