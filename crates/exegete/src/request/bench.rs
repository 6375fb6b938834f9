//! The request of `exegete bench`: what this machine reaches on the engine's real work, as a share of its own matrix-product peak.

mod machine;
mod measure;
mod rows;

use super::{Listener, Notice, Resources, Stop, check_stop, model, size};
use crate::speed::{BertSize, Peak, random_bert, read_rate, sgemm_peak};
use crate::{LoadOptions, Model, Precision};
use anyhow::{Result, bail};
use clap::Args;
pub use machine::{BenchMachine, BenchSelfCheck, TileReport};
pub use measure::Figure;
use measure::{FIGURES, Measure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What `exegete bench` is asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct BenchRequest {
    /// A Hugging Face folder [default: BERT-base with random weights].
    #[arg(long, value_name = "DIR")]
    pub model: Option<PathBuf>,
    /// Best of two runs instead of five.
    #[arg(long)]
    pub quick: bool,
    /// Only the figures whose name holds this.
    #[arg(long, value_name = "NAME")]
    pub only: Option<String>,
    /// Bits of the registers that products use, where the CPU has them [default: the widest].
    #[arg(long, value_name = "BITS", value_parser = ["128", "256", "512"])]
    pub width: Option<String>,
    /// What the run may use.
    #[serde(flatten)]
    #[command(flatten)]
    pub resources: Resources,
}

/// What every figure is measured with.
struct Setup {
    model: Arc<dyn Model>,
    dir: Option<PathBuf>,
    /// The program, whose start is measured.
    program: Option<PathBuf>,
    stop: Stop,
    threads: usize,
    memory_bytes: usize,
    /// The best of this many runs counts.
    runs: usize,
    /// The matrix product that this machine is fastest at.
    shape: (usize, usize, usize),
}

/// What a benchmark found.
#[derive(Debug, Serialize)]
pub struct BenchReport {
    /// What the CPU calls itself.
    pub cpu: String,
    /// Rows × vectors of the tile; null where the `gemm` crate does every product.
    pub tile: Option<String>,
    /// Bits of its vectors.
    pub width: Option<usize>,
    /// The best matrix product, in 10⁹ operations a second.
    pub peak_product: f64,
    /// Fused multiply-adds on registers alone, in 10⁹ operations a second.
    pub peak_fma: f64,
    /// What all threads together read from memory, in 10⁹ bytes a second.
    pub bandwidth: f64,
    /// What it was measured on, in full.
    pub machine: BenchMachine,
    /// The name of the model, as its card has it.
    pub model: String,
    /// Threads that were used.
    pub threads: usize,
    /// The budget for activations in bytes.
    pub memory_bytes: usize,
    /// The best of this many runs counts.
    pub runs: usize,
    /// What plain matrix products reach, in full.
    pub peak: PeakReport,
    /// Every figure that was asked for.
    pub figures: Vec<BenchFigure>,
    /// Whether the tile gives right products on this CPU.
    pub self_check: BenchSelfCheck,
}

/// What plain matrix products reach on this machine.
#[derive(Debug, Serialize)]
pub struct PeakReport {
    /// The best matrix product of all shapes, by the tile or by the `gemm` crate, in 10⁹ operations a second.
    pub gflops: f64,
    /// Fused multiply-adds on registers alone, in 10⁹ operations a second.
    pub register_gflops: f64,
    /// Each shape that was tried.
    pub shapes: Vec<ShapeReport>,
}

/// The speed of one shape of matrix product.
#[derive(Debug, Serialize)]
pub struct ShapeReport {
    /// Rows of the product.
    pub m: usize,
    /// Columns of the product.
    pub n: usize,
    /// Terms of each sum.
    pub k: usize,
    /// 10⁹ operations a second.
    pub gflops: f64,
}

/// A figure beside the peak.
#[derive(Debug, Serialize)]
pub struct BenchFigure {
    /// The work, with its seconds.
    #[serde(flatten)]
    pub figure: Figure,
    /// 10⁹ operations a second in the best run.
    pub gflops: f64,
    /// The best run against the best matrix product ever seen: on a busy machine the longer run has the worse luck.
    pub share_of_peak: f64,
    /// The mean run against the mean matrix product of the same minutes.
    pub share_meanwhile: f64,
    /// The rate at which the best run read its weights, as a share of what reading alone reaches; only of one text, which
    /// reads every weight and does little with it.
    pub share_of_bandwidth: Option<f64>,
}

/// Measures; `program` is the program whose start is one of the figures, which is left out where there is none.
pub fn run(
    request: &BenchRequest,
    program: Option<&Path>,
    stop: &Stop,
    tell: Listener<'_>,
) -> Result<BenchReport> {
    let wanted = |name: &str| request.only.as_deref().is_none_or(|only| name.contains(only));
    let can = |name: &str| name != measure::START || program.is_some();
    let chosen: Vec<_> = FIGURES.into_iter().filter(|(name, _)| wanted(name) && can(name)).collect();
    if chosen.is_empty() {
        bail!("no figure has such a name; they are {}", FIGURES.map(|(name, _)| name).join(", "));
    }
    request.resources.check()?;
    machine::choose(request.width.as_deref())?;
    let mut setup = setup(request, program, stop, tell)?;
    let seconds_a_shape = if request.quick { 0.1 } else { 0.5 };
    let (peak, bandwidth, figures) = measure_all(&mut setup, &chosen, seconds_a_shape, tell)?;
    let machine = BenchMachine::new();
    Ok(BenchReport {
        cpu: machine.cpu.clone(),
        tile: machine.tile.as_ref().map(TileReport::shape),
        width: machine.tile.as_ref().map(|tile| tile.width_bits),
        peak_product: peak.gflops,
        peak_fma: peak.register_gflops,
        bandwidth,
        machine,
        model: setup.model.card().name.clone(),
        threads: setup.threads,
        memory_bytes: setup.memory_bytes,
        runs: setup.runs,
        peak: PeakReport::from(&peak),
        figures: figures.into_iter().map(|figure| BenchFigure::new(figure, &peak, bandwidth)).collect(),
        self_check: BenchSelfCheck::new(),
    })
}

/// The figures between two measurements of the peak and of what memory gives: the machine may have been busier before than
/// after, and a peak is the best that was ever seen.
fn measure_all(
    setup: &mut Setup,
    chosen: &[(&'static str, Measure)],
    seconds_a_shape: f64,
    tell: Listener<'_>,
) -> Result<(Peak, f64, Vec<Figure>)> {
    tell(Notice::Stage("memory and matrix-product peak"));
    let read_before = read_rate(setup.threads, seconds_a_shape);
    let before = sgemm_peak(setup.threads, seconds_a_shape);
    let fastest = before.shapes.iter().copied().max_by(|a, b| a.3.total_cmp(&b.3));
    setup.shape = fastest.map_or(setup.shape, |(m, n, k, _)| (m, n, k));
    let mut figures = Vec::new();
    for (name, measure) in chosen {
        check_stop(&setup.stop)?;
        tell(Notice::Stage(name));
        figures.push(measure(setup)?);
    }
    let after = sgemm_peak(setup.threads, seconds_a_shape);
    let register_gflops = after.register_gflops.max(before.register_gflops);
    let best = if after.gflops > before.gflops { after } else { before };
    let bandwidth = read_rate(setup.threads, seconds_a_shape).max(read_before);
    Ok((Peak { register_gflops, ..best }, bandwidth, figures))
}

fn setup(request: &BenchRequest, program: Option<&Path>, stop: &Stop, tell: Listener<'_>) -> Result<Setup> {
    let threads = request.resources.count();
    let model = match &request.model {
        Some(dir) => {
            model::folder(Some(dir), "a benchmark needs an engine to measure")?;
            let model = model::open(Some(dir), threads)?;
            model::warn(model.card(), tell);
            model
        }
        None => random_bert(&BertSize::default(), &LoadOptions { precision: Precision::F32, threads })?,
    };
    let runs = if request.quick { 2 } else { 5 };
    Ok(Setup {
        model,
        dir: request.model.clone(),
        program: program.map(Path::to_owned),
        stop: stop.clone(),
        threads,
        memory_bytes: request.resources.memory(),
        runs,
        shape: (1024, 1024, 1024),
    })
}

impl BenchFigure {
    fn new(figure: Figure, peak: &Peak, bandwidth: f64) -> Self {
        let gflops = figure.flops as f64 / figure.seconds / 1e9;
        let meanwhile = figure.flops as f64 / figure.mean_seconds / 1e9 / figure.product_gflops;
        let share_of_bandwidth =
            figure.weights_bytes.map(|bytes| bytes as f64 / figure.seconds / 1e9 / bandwidth);
        let share_of_peak = gflops / peak.gflops;
        Self { gflops, share_of_peak, share_meanwhile: meanwhile, share_of_bandwidth, figure }
    }

    /// What should be said beside the figures.
    pub fn note(&self) -> String {
        let read =
            self.share_of_bandwidth.map(|share| format!("weights read at {share:.2} of memory's rate"));
        read.or_else(|| self.figure.note.clone()).unwrap_or_default()
    }
}

impl From<&Peak> for PeakReport {
    fn from(peak: &Peak) -> Self {
        let shape = |&(m, n, k, gflops): &(usize, usize, usize, f64)| ShapeReport { m, n, k, gflops };
        Self {
            gflops: peak.gflops,
            register_gflops: peak.register_gflops,
            shapes: peak.shapes.iter().map(shape).collect(),
        }
    }
}

/// How much of the budget a run used, in words.
fn budget_note(peak_bytes: usize, memory_bytes: usize) -> String {
    let verdict = if peak_bytes <= memory_bytes { "of" } else { "MORE THAN" };
    format!("{} {verdict} {} for activations", size::display(peak_bytes), size::display(memory_bytes))
}
