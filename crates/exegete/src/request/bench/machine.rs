//! What the figures were measured on: the CPU, the tile of its matrix products, and whether that tile is right.

use crate::speed::tile::{self, SelfCheck, TileInfo};
use anyhow::{Result, ensure};
use serde::Serialize;

/// Takes the tile of `--width`, where it was given.
pub(super) fn choose(width: Option<&str>) -> Result<()> {
    if let Some(bits) = width {
        tile::choose(bits.parse()?)?;
    }
    Ok(())
}

/// The CPU, and the tile that its matrix products use.
#[derive(Debug, Serialize)]
pub struct BenchMachine {
    /// What the CPU calls itself.
    pub cpu: String,
    /// None where the `gemm` crate does every product.
    pub tile: Option<TileReport>,
}

/// The tile of matrix products on this CPU.
#[derive(Debug, Serialize)]
pub struct TileReport {
    /// Which instructions it uses.
    pub instructions: &'static str,
    /// Bits of a vector register.
    pub width_bits: usize,
    /// Rows of the tile.
    pub rows: usize,
    /// Columns of the tile: those of two vectors.
    pub columns: usize,
    /// Bytes of a panel in the first-level cache.
    pub panel_bytes: usize,
    /// Bytes of a block in the second-level cache.
    pub block_bytes: usize,
}

impl BenchMachine {
    pub(super) fn new() -> Self {
        Self { cpu: tile::cpu(), tile: tile::info().map(TileReport::from) }
    }

    /// Both in one line.
    pub fn text(&self) -> String {
        let tile = self.tile.as_ref().map_or_else(
            || "no tile".to_owned(),
            |tile| {
                let TileReport { instructions, width_bits, rows, columns, .. } = tile;
                let lanes = columns / 2;
                format!("tile of {rows} rows × 2 vectors of {lanes}, {width_bits} bits, {instructions}")
            },
        );
        format!("{}, {tile}", self.cpu)
    }
}

impl TileReport {
    /// The tile as rows × vectors, such as 12 × 2.
    pub(super) fn shape(&self) -> String {
        format!("{} × 2", self.rows)
    }
}

impl From<TileInfo> for TileReport {
    fn from(info: TileInfo) -> Self {
        let TileInfo { instructions, bits, rows, columns, panel_bytes, block_bytes } = info;
        Self { instructions, width_bits: bits, rows, columns, panel_bytes, block_bytes }
    }
}

/// The tile against plain products in double precision.
#[derive(Debug, Serialize)]
pub struct BenchSelfCheck {
    /// Whether no error is larger than rounding explains.
    pub passed: bool,
    /// How many products were compared.
    pub products: usize,
    /// The largest error as a share of what rounding explains; null where a product was no number.
    pub worst: f64,
}

impl BenchSelfCheck {
    pub(super) fn new() -> Self {
        let check = tile::self_check();
        let SelfCheck { products, worst } = check;
        Self { passed: check.passed(), products, worst }
    }

    /// The outcome in one line.
    pub fn text(&self) -> String {
        let verdict = if self.passed { "passed" } else { "FAILED" };
        let Self { products, worst, .. } = self;
        format!(
            "self-check {verdict}: {products} products, errors up to {worst:.2} of what rounding explains"
        )
    }

    /// Figures of a tile that is wrong are worth nothing.
    pub fn require(&self) -> Result<()> {
        ensure!(self.passed, "matrix products are wrong on this CPU; report it with the lines above");
        Ok(())
    }
}
