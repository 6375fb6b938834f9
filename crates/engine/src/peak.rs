//! What this machine's matrix products reach at best: the yardstick of every benchmark.

use crate::gemm::{Product, View};
use crate::{Context, Tensor};
use std::time::{Duration, Instant};

/// The best single-precision rate, and the rate of each shape.
#[derive(Debug, Clone)]
pub struct Peak {
    /// The best of all shapes, in 10⁹ floating-point operations a second.
    pub gflops: f64,
    /// Rows, columns, inner length and rate.
    pub shapes: Vec<(usize, usize, usize, f64)>,
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

/// Measures each shape for about `seconds` and takes the best run.
pub fn sgemm_peak(threads: usize, seconds: f64) -> Peak {
    let ctx = Context::<f32>::new(threads);
    let shapes: Vec<_> =
        SHAPES.iter().map(|&(m, n, k)| (m, n, k, ctx.install(|| rate(&ctx, (m, n, k), seconds)))).collect();
    Peak { gflops: shapes.iter().fold(0.0, |best, shape| shape.3.max(best)), shapes }
}

/// The mean rate of one shape over about `seconds`: what the machine gives at this moment, busy neighbours included.
pub fn sustained(threads: usize, (m, n, k): (usize, usize, usize), seconds: f64) -> f64 {
    let ctx = Context::<f32>::new(threads);
    ctx.install(|| {
        let laps = laps(&ctx, (m, n, k), seconds);
        let total: Duration = laps.iter().sum();
        laps.len() as f64 * flops((m, n, k)) / total.as_secs_f64() / 1e9
    })
}

fn rate(ctx: &Context<f32>, shape: (usize, usize, usize), seconds: f64) -> f64 {
    let best = laps(ctx, shape, seconds).into_iter().min().unwrap_or(Duration::MAX);
    flops(shape) / best.as_secs_f64() / 1e9
}

fn flops((m, n, k): (usize, usize, usize)) -> f64 {
    2.0 * (m * n * k) as f64
}

fn laps(ctx: &Context<f32>, (m, n, k): (usize, usize, usize), seconds: f64) -> Vec<Duration> {
    let (lhs, rhs) = (vec![0.5; m * k], vec![0.5; n * k]);
    let mut out = Tensor::zeros(ctx, m, n);
    let mut lap = || {
        let start = Instant::now();
        if let Some(out) = out.data_mut() {
            let sides = ((&lhs[..], View::rows(k)), (&rhs[..], View::rows(k).t()));
            ctx.product(Product::new((m, n, k), (out, View::rows(n)), sides.0, sides.1));
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
