//! What this machine's matrix products reach at best: the yardstick of every benchmark.

use crate::gemm::{Product, View, by_gemm};
use crate::kernels::lanes::Lanes;
use crate::kernels::machine;
use crate::kernels::pages::Pages;
use crate::{Context, Scalar, Tensor};
use pulp::{Simd, WithSimd};
use std::time::{Duration, Instant};

/// The best single-precision rates, in 10⁹ floating-point operations a second.
#[derive(Debug, Clone)]
pub struct Peak {
    /// The best matrix product of all shapes, by the tile or by the `gemm` crate, whichever was faster.
    pub gflops: f64,
    /// Rows, columns, inner length and rate.
    pub shapes: Vec<(usize, usize, usize, f64)>,
    /// Fused multiply-adds on registers alone: what no product can exceed. Zero where there is no tile.
    pub register_gflops: f64,
}

/// Rows, columns, inner length: a cube, and the products of BERT-base over 1024 and 4096 tokens.
const SHAPES: [(usize, usize, usize); 7] = [
    (2048, 2048, 2048),
    (1024, 768, 768),
    (1024, 3072, 768),
    (1024, 768, 3072),
    (4096, 768, 768),
    (4096, 3072, 768),
    (4096, 768, 3072),
];

/// Measures each shape for about `seconds` in both ways and takes the best run.
pub fn sgemm_peak(threads: usize, seconds: f64) -> Peak {
    let ctx = Context::<f32>::new(threads);
    let ways = [by_gemm, |product: &Product<'_, f32>| f32::product(product)];
    let best = |shape| ways.map(|way| rate(&ctx, way, shape, seconds)).into_iter().fold(0.0, f64::max);
    let shapes: Vec<_> = SHAPES.iter().map(|&(m, n, k)| (m, n, k, ctx.install(|| best((m, n, k))))).collect();
    Peak {
        gflops: shapes.iter().fold(0.0, |best, shape| shape.3.max(best)),
        shapes,
        register_gflops: register_rate(&ctx, seconds),
    }
}

/// The mean rate of one shape over about `seconds`: what the machine gives at this moment, busy neighbours included.
pub fn sustained(threads: usize, (m, n, k): (usize, usize, usize), seconds: f64) -> f64 {
    let ctx = Context::<f32>::new(threads);
    ctx.install(|| {
        let laps = laps(&ctx, f32::product, (m, n, k), seconds);
        let total: Duration = laps.iter().sum();
        laps.len() as f64 * flops((m, n, k)) / total.as_secs_f64() / 1e9
    })
}

/// Bytes that are read from memory for its rate: far more than any cache of a common machine holds.
const READ_BYTES: usize = 256 << 20;

/// The best rate at which all threads together read memory from end to end over about `seconds`, each its own part, in
/// 10⁹ bytes a second.
pub fn read_rate(threads: usize, seconds: f64) -> f64 {
    let ctx = Context::<f32>::new(threads);
    let mut pages = Pages::zeros(READ_BYTES / size_of::<f32>());
    // Pages that nobody wrote to are all the same one.
    pages.as_mut_slice().fill(1.0);
    let numbers = pages.as_slice();
    let parts: Vec<&[f32]> = numbers.chunks(numbers.len().div_ceil(ctx.threads())).collect();
    let (begin, mut best) = (Instant::now(), 0.0);
    while begin.elapsed().as_secs_f64() < seconds || best == 0.0 {
        let start = Instant::now();
        ctx.map(&parts, |part| std::hint::black_box(pulp::Arch::new().dispatch(Read(part))));
        best = (READ_BYTES as f64 / start.elapsed().as_secs_f64() / 1e9).max(best);
    }
    best
}

/// Reads numbers, and sums them so that it must.
struct Read<'a>(&'a [f32]);

impl WithSimd for Read<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        // As many sums as hide how long one addition takes.
        let mut sums = [simd.splat_f32s(0.0); 8];
        let (vectors, rest) = S::as_simd_f32s(self.0);
        let (groups, few) = pulp::as_arrays::<8, _>(vectors);
        for group in groups {
            for (sum, &vector) in sums.iter_mut().zip(group) {
                *sum = simd.add_f32s(*sum, vector);
            }
        }
        let few = few.iter().fold(simd.splat_f32s(0.0), |sum, &vector| simd.add_f32s(sum, vector));
        let sum = sums.into_iter().fold(few, |sum, other| simd.add_f32s(sum, other));
        rest.iter().fold(simd.reduce_sum_f32s(sum), |sum, x| sum + x)
    }
}

/// One of the ways to run a product that are measured.
type Way = fn(&Product<'_, f32>);

fn rate(ctx: &Context<f32>, way: Way, shape: (usize, usize, usize), seconds: f64) -> f64 {
    let best = laps(ctx, way, shape, seconds).into_iter().min().unwrap_or(Duration::MAX);
    flops(shape) / best.as_secs_f64() / 1e9
}

fn flops((m, n, k): (usize, usize, usize)) -> f64 {
    2.0 * (m * n * k) as f64
}

fn laps(ctx: &Context<f32>, way: Way, (m, n, k): (usize, usize, usize), seconds: f64) -> Vec<Duration> {
    let (lhs, rhs) = (vec![0.5; m * k], vec![0.5; n * k]);
    let mut out = Tensor::zeros(ctx, m, n);
    let mut lap = || {
        let start = Instant::now();
        if let Some(out) = out.data_mut() {
            let sides = ((&lhs[..], View::rows(k)), (&rhs[..], View::rows(k).t()));
            let product = Product::new((m, n, k), (out, View::rows(n)), sides.0, sides.1);
            way(&product.threads(ctx.threads()));
        }
        start.elapsed()
    };
    lap();
    let (begin, mut laps) = (Instant::now(), vec![lap()]);
    while begin.elapsed().as_secs_f64() < seconds {
        laps.push(lap());
    }
    laps
}

/// The rate of fused multiply-adds on all threads, of the best of some runs.
fn register_rate(ctx: &Context<f32>, seconds: f64) -> f64 {
    let Some(tile) = machine::blocking().map(|blocking| blocking.tile) else { return 0.0 };
    let threads: Vec<usize> = (0..ctx.threads()).collect();
    let (begin, mut best) = (Instant::now(), 0.0);
    while begin.elapsed().as_secs_f64() < seconds {
        // Each thread measures itself, because it may start late.
        let rates = ctx.map(&threads, |_| {
            let start = Instant::now();
            let operations = tile.run(OnRegisters(1 << 16));
            operations / start.elapsed().as_secs_f64() / 1e9
        });
        best = rates.iter().sum::<f64>().max(best);
    }
    best
}

/// So many rounds of fused multiply-adds on as many registers as hold sums of a tile; gives the number of operations.
struct OnRegisters(usize);

impl WithSimd for OnRegisters {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        if S::REGISTER_COUNT >= 32 { rounds::<S, 24>(simd, self.0) } else { rounds::<S, 12>(simd, self.0) }
    }
}

#[inline(always)]
fn rounds<S: Simd, const N: usize>(simd: S, rounds: usize) -> f64 {
    let [half, one] = [0.5, 1.0].map(|number| f32::splat(simd, std::hint::black_box(number)));
    let mut sums = [one; N];
    for _ in 0..rounds {
        for sum in &mut sums {
            *sum = f32::fused(simd, *sum, half, one);
        }
    }
    std::hint::black_box(sums);
    (2 * rounds * N * S::F32_LANES) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ones at every place count, whatever is left over of a vector or of a group of them.
    #[test]
    fn every_number_is_read() {
        for len in [0, 1, 15, 16, 17, 127, 128, 129, 1000, 4099] {
            let read = pulp::Arch::new().dispatch(Read(&vec![1.0; len]));
            assert_eq!(read, len as f32, "{len} numbers");
        }
    }

    /// No memory is read at a hundred megabytes a second, nor ten terabytes.
    #[test]
    fn memory_is_read_at_a_likely_rate() {
        let rate = read_rate(2, 0.0);
        assert!((0.1..1e4).contains(&rate), "{rate} GB/s");
    }
}
