//! The tile that matrix products run by: which it is, which it could be, and whether it is right on this machine.

use crate::gemm::{Product, View};
use crate::kernels::machine::{self, RUN};
use crate::scalar::Scalar;

/// The tile of this process and what it was cut to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TileInfo {
    /// What its instructions are called.
    pub instructions: &'static str,
    /// Bits of a register.
    pub bits: usize,
    /// Rows of a full tile.
    pub rows: usize,
    /// Single-precision columns of a tile: two registers.
    pub columns: usize,
    /// Bytes of a panel, at most.
    pub panel_bytes: usize,
    /// Bytes of the rows that pass by one panel after the other, at most.
    pub block_bytes: usize,
}

/// The tile of this process; none where the machine has no fused multiply-adds on vectors and the `gemm` crate does
/// every product.
pub fn info() -> Option<TileInfo> {
    let blocking = machine::blocking()?;
    let columns = blocking.columns::<f32>();
    Some(TileInfo {
        instructions: blocking.tile.name(),
        bits: blocking.tile.bits(),
        rows: blocking.tile_rows,
        columns,
        panel_bytes: blocking.runs * RUN * columns * size_of::<f32>(),
        block_bytes: blocking.block_bytes,
    })
}

/// A width that cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoWidth {
    /// The machine has no registers of this width.
    #[error("this CPU has no tile of {bits} bits; it has {available:?}")]
    Missing {
        /// What was asked for.
        bits: usize,
        /// What there is, widest first.
        available: Vec<usize>,
    },
    /// Products have run by another tile already.
    #[error("products run by another tile already; the width must be chosen before the first")]
    Late,
}

/// Chooses a tile by the bits of its registers, before the first product. All tiles give the same bits; this is for
/// comparing their speed.
pub fn choose(bits: usize) -> Result<(), NoWidth> {
    machine::choose(bits)
}

/// What the CPU calls itself.
pub fn cpu() -> String {
    machine::cpu().unwrap_or_else(|| "an unknown CPU".to_owned())
}

/// What products by the tile differ by from plain ones in double precision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SelfCheck {
    /// How many products were compared.
    pub products: usize,
    /// The largest error, as a share of what rounding alone explains (Higham 2002, Accuracy and Stability, 3.5):
    /// k · 2⁻²⁴ · Σ|x·w| over an inner length of k. NaN where a product was no number.
    pub worst: f64,
}

impl SelfCheck {
    /// Whether rounding explains every error.
    pub fn passed(&self) -> bool {
        self.products > 0 && self.worst <= 1.0
    }
}

/// Rows, columns and inner length of the products of the self-check: whole tiles and panels, and every edge.
const CHECKED: [(usize, usize, usize); 6] =
    [(48, 64, 768), (1, 33, 7), (13, 100, 40), (25, 31, 1030), (40, 200, 64), (7, 15, 300)];

/// Compares products by the tile of this process with plain ones in double precision.
pub fn self_check() -> SelfCheck {
    let layouts = CHECKED.into_iter().flat_map(|mnk| [false, true].map(|turned| (mnk, turned)));
    let errors: Vec<f64> = layouts.map(|(mnk, turned)| worst_error(mnk, turned)).collect();
    // NaN must win.
    let worst = errors.iter().copied().fold(0.0, |worst: f64, x| if x <= worst { worst } else { x });
    SelfCheck { products: errors.len(), worst }
}

/// The largest error of one product as a share of its bound; NaN where there is one.
fn worst_error((m, n, k): (usize, usize, usize), turned: bool) -> f64 {
    let number = |i: usize, seed: usize| ((i * 7919 + seed * 104_729) % 2003) as f32 / 1001.0 - 1.0;
    let [x, w] =
        [(m * k, 1), (k * n, 2)].map(|(len, seed)| (0..len).map(|i| number(i, seed)).collect::<Vec<f32>>());
    let right = if turned { View::rows(k).t() } else { View::rows(n) };
    let mut y = vec![f32::NAN; m * n];
    f32::product(&Product::new((m, n, k), (&mut y, View::rows(n)), (&x, View::rows(k)), (&w, right)));
    let mut worst = 0.0;
    for (at, &found) in y.iter().enumerate() {
        let (row, col) = (at / n, at % n);
        let terms = (0..k).map(|i| f64::from(x[row * k + i]) * f64::from(w[i * right.row + col * right.col]));
        let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
        let error = (f64::from(found) - sum).abs() / (size * k as f64 * f64::from(f32::EPSILON) / 2.0);
        worst = if error <= worst { worst } else { error };
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tile_is_right_on_this_machine() {
        let check = self_check();
        assert!(check.passed(), "{check:?}");
    }

    #[test]
    fn a_wrong_tile_does_not_pass() {
        for worst in [1.01, f64::NAN, f64::INFINITY] {
            assert!(!SelfCheck { products: 12, worst }.passed(), "{worst}");
        }
        assert!(!SelfCheck { products: 0, worst: 0.0 }.passed());
    }

    #[test]
    fn a_width_that_no_machine_has_is_refused() {
        let refused = choose(96).unwrap_err();
        assert!(matches!(&refused, NoWidth::Missing { bits: 96, .. }), "{refused}");
    }
}
