//! What products need to know of the machine: its instructions, its registers and its caches.

use crate::tile::NoWidth;
use pulp::{Simd, WithSimd};
use std::sync::OnceLock;

/// The instructions of a tile. All give the same bits; they differ in speed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tile {
    #[cfg(target_arch = "x86_64")]
    Avx512(pulp::x86::V4),
    #[cfg(target_arch = "x86_64")]
    Avx2(pulp::x86::V3),
    /// AVX2's instructions on half of each register.
    #[cfg(target_arch = "x86_64")]
    Half(pulp::x86::V3_128b),
    #[cfg(target_arch = "aarch64")]
    Neon(pulp::aarch64::Neon),
    /// Plain loops over as many bits, for the tests.
    #[cfg(test)]
    Emulated(usize),
}

impl Tile {
    /// What this machine has, widest first.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            all.extend(pulp::x86::V4::try_new().map(Self::Avx512));
            all.extend(pulp::x86::V3::try_new().map(Self::Avx2));
            all.extend(pulp::x86::V3::try_new().map(|v3| Self::Half(pulp::x86::V3_128b(v3))));
        }
        #[cfg(target_arch = "aarch64")]
        all.extend(pulp::aarch64::Neon::try_new().map(Self::Neon));
        all
    }

    /// Bits of a register.
    pub(crate) fn bits(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => 512,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => 256,
            #[cfg(target_arch = "x86_64")]
            Self::Half(_) => 128,
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_) => 128,
            #[cfg(test)]
            Self::Emulated(bits) => bits,
        }
    }

    /// What people call these instructions.
    pub(crate) fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => "AVX-512",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) | Self::Half(_) => "AVX2",
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_) => "NEON",
            #[cfg(test)]
            Self::Emulated(_) => "emulated",
        }
    }

    /// Rows of a tile: with two registers each, their sums leave enough registers for two weights and an input.
    pub(crate) fn rows(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) | Self::Half(_) => 6,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => MOST_TILE_ROWS,
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_) => MOST_TILE_ROWS,
            #[cfg(test)]
            Self::Emulated(_) => MOST_TILE_ROWS,
        }
    }

    /// Runs work compiled for these instructions.
    #[inline]
    pub(crate) fn run<W: WithSimd>(self, work: W) -> W::Output {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(simd) => Simd::vectorize(simd, work),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(simd) => Simd::vectorize(simd, work),
            #[cfg(target_arch = "x86_64")]
            Self::Half(simd) => Simd::vectorize(simd.0, Halved(simd, work)),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(simd) => Simd::vectorize(simd, work),
            #[cfg(test)]
            Self::Emulated(128) => pulp::Scalar128b.vectorize(work),
            #[cfg(test)]
            Self::Emulated(256) => pulp::Scalar256b.vectorize(work),
            #[cfg(test)]
            Self::Emulated(_) => pulp::Scalar512b.vectorize(work),
        }
    }
}

/// Work on half of each register of AVX2.
#[cfg(target_arch = "x86_64")]
struct Halved<W>(pulp::x86::V3_128b, W);

#[cfg(target_arch = "x86_64")]
impl<W: WithSimd> WithSimd for Halved<W> {
    type Output = W::Output;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> W::Output {
        self.1.with_simd(self.0)
    }
}

/// Rows of the largest tile: twelve of two registers, two weights and an input, of thirty-two.
pub(crate) const MOST_TILE_ROWS: usize = 12;

/// Inner elements of a chain of sums: the same on every machine, because bits depend on it. As many rows of a panel of
/// AVX-512 fill three quarters of a first-level cache of 32 KiB.
pub(crate) const RUN: usize = 192;

/// The most bytes of a panel, whatever the cache: a longer one would save nothing more.
pub(crate) const MOST_PANEL_BYTES: usize = 48 << 10;

/// How products are cut to fit registers and caches. No number depends on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blocking {
    pub(crate) tile: Tile,
    /// Rows of a full tile.
    pub(crate) tile_rows: usize,
    /// The most runs of a panel.
    pub(crate) runs: usize,
    /// Bytes of the rows that pass by one panel after the other.
    pub(crate) block_bytes: usize,
    /// What the tile does wrong on purpose.
    #[cfg(test)]
    pub(crate) fault: Fault,
}

/// What a tile does wrong on purpose, so that the tests of tiles are seen to fail.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fault {
    Nothing,
    /// The last column of a panel that is not full is not written.
    DroppedColumn,
    /// Rows of the input are read one number too close.
    InputStride,
    /// Rows of the product are written one number too close.
    OutputStride,
    /// The second panel is read one number too early.
    PanelOffset,
}

impl Blocking {
    /// Panels of up to three quarters of the first-level cache, rows of half of the second-level one.
    pub(crate) fn new(tile: Tile, caches: Caches) -> Self {
        let panel_bytes = (caches.first_bytes / 4 * 3).min(MOST_PANEL_BYTES);
        let runs = (panel_bytes / (RUN * 2 * tile.bits() / 8)).max(1);
        Self {
            tile,
            tile_rows: tile.rows(),
            runs,
            block_bytes: caches.second_bytes / 2,
            #[cfg(test)]
            fault: Fault::Nothing,
        }
    }

    /// Columns of a panel: two registers.
    pub(crate) fn columns<R>(self) -> usize {
        2 * self.tile.bits() / 8 / size_of::<R>()
    }
}

/// Data caches of one core, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Caches {
    pub(crate) first_bytes: usize,
    pub(crate) second_bytes: usize,
}

impl Caches {
    /// What the CPU reports; 32 KiB and 1 MiB where it says nothing.
    pub(crate) fn of_machine() -> Self {
        let reported = |level| reported(level).filter(|&bytes| bytes > 0);
        Self { first_bytes: reported(1).unwrap_or(32 << 10), second_bytes: reported(2).unwrap_or(1 << 20) }
    }
}

/// Bytes of the cache of a level that holds data.
#[cfg(target_arch = "x86_64")]
fn reported(level: u8) -> Option<usize> {
    use raw_cpuid::{CacheType, CpuId};
    let mut caches = CpuId::new().get_cache_parameters()?;
    let holds_data = |kind| matches!(kind, CacheType::Data | CacheType::Unified);
    let cache = caches.find(|cache| cache.level() == level && holds_data(cache.cache_type()))?;
    let lines = cache.sets() * cache.associativity() * cache.physical_line_partitions();
    Some(lines * cache.coherency_line_size())
}

/// Bytes of the cache of a level that holds data, as Linux knows them.
#[cfg(not(target_arch = "x86_64"))]
fn reported(level: u8) -> Option<usize> {
    let read = |index: usize, what: &str| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{what}");
        Some(std::fs::read_to_string(path).ok()?.trim().to_owned())
    };
    let holds_data = |index| read(index, "type").is_some_and(|kind| kind != "Instruction");
    let wanted = |&index: &usize| read(index, "level") == Some(level.to_string()) && holds_data(index);
    let size = read((0..8).find(wanted)?, "size")?;
    Some(size.strip_suffix('K')?.parse::<usize>().ok()? << 10)
}

/// What the CPU calls itself.
#[cfg(target_arch = "x86_64")]
pub(crate) fn cpu() -> Option<String> {
    let brand = raw_cpuid::CpuId::new().get_processor_brand_string()?;
    Some(brand.as_str().trim().to_owned()).filter(|name| !name.is_empty())
}

/// What the CPU calls itself, where Linux says so.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn cpu() -> Option<String> {
    let all = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = all.lines().find(|line| line.starts_with("model name") || line.starts_with("CPU part"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

static BLOCKING: OnceLock<Option<Blocking>> = OnceLock::new();

/// How this process cuts its products, decided at the first of them; none where the machine has no fused
/// multiply-adds on vectors, or where somebody asked to do without.
pub(crate) fn blocking() -> Option<Blocking> {
    *BLOCKING.get_or_init(|| {
        let widest = Tile::all().first().copied().filter(|_| !cfg!(feature = "general-products"));
        widest.map(|tile| Blocking::new(tile, Caches::of_machine()))
    })
}

/// Decides for a tile by the bits of its registers.
pub(crate) fn choose(bits: usize) -> Result<(), NoWidth> {
    let all = Tile::all();
    let available = || all.iter().map(|tile| tile.bits()).collect();
    let found = all.iter().find(|tile| tile.bits() == bits);
    let tile = *found.ok_or_else(|| NoWidth::Missing { bits, available: available() })?;
    let chosen = BLOCKING.get_or_init(|| Some(Blocking::new(tile, Caches::of_machine())));
    if chosen.is_some_and(|chosen| chosen.tile.bits() == bits) { Ok(()) } else { Err(NoWidth::Late) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits, first-level cache in KiB → the most runs of a panel.
    #[test]
    fn panels_fill_up_to_three_quarters_of_the_first_level_cache() {
        for (bits, kib, runs) in
            [(256, 32, 2), (256, 48, 3), (512, 32, 1), (512, 48, 1), (128, 32, 4), (128, 128, 8)]
        {
            let caches = Caches { first_bytes: kib << 10, second_bytes: 1 << 20 };
            let blocking = Blocking::new(Tile::Emulated(bits), caches);
            assert_eq!((blocking.runs, blocking.block_bytes), (runs, 512 << 10), "{bits} bits, {kib} KiB");
        }
    }

    #[test]
    fn the_machine_reports_caches_of_a_likely_size() {
        let Caches { first_bytes, second_bytes } = Caches::of_machine();
        assert!((8 << 10..=256 << 10).contains(&first_bytes), "{first_bytes}");
        assert!((first_bytes..=64 << 20).contains(&second_bytes), "{second_bytes}");
    }
}
