//! `exegete bench`: what this machine reaches on the engine's real work, as a share of its own matrix-product peak.

mod measure;
mod rows;

use crate::cli::{self, TableFormat};
use crate::{model, size, table};
use anyhow::{Result, bail};
use exegete::speed::{BertSize, Peak, random_bert, sgemm_peak};
use exegete::{Model, Options, Precision};
use indicatif::ProgressBar;
use measure::{FIGURES, Figure, Measure};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What every figure is measured with.
pub(crate) struct Setup {
    model: Arc<dyn Model>,
    dir: Option<PathBuf>,
    threads: usize,
    memory_bytes: usize,
    /// The best of this many runs counts.
    runs: usize,
    /// The matrix product that this machine is fastest at.
    shape: (usize, usize, usize),
}

#[derive(Serialize)]
struct Report {
    model: String,
    threads: usize,
    memory_bytes: usize,
    runs: usize,
    peak: PeakReport,
    figures: Vec<Line>,
}

#[derive(Serialize)]
struct PeakReport {
    gflops: f64,
    shapes: Vec<ShapeReport>,
}

#[derive(Serialize)]
struct ShapeReport {
    m: usize,
    n: usize,
    k: usize,
    gflops: f64,
}

/// A figure beside the peak.
#[derive(Serialize)]
struct Line {
    #[serde(flatten)]
    figure: Figure,
    /// Of the best run.
    gflops: f64,
    /// The best run against the best matrix product ever seen: on a busy machine the longer run has the worse luck.
    share_of_peak: f64,
    /// The mean run against the mean matrix product of the same minutes.
    share_meanwhile: f64,
}

/// Runs the command.
pub(crate) fn run(args: &cli::Bench) -> Result<()> {
    let wanted = |name: &str| args.only.as_deref().is_none_or(|only| name.contains(only));
    let chosen: Vec<_> = FIGURES.into_iter().filter(|(name, _)| wanted(name)).collect();
    if chosen.is_empty() {
        bail!("no figure has such a name; they are {}", FIGURES.map(|(name, _)| name).join(", "));
    }
    let mut setup = setup(args)?;
    let (peak, figures) = measure_all(&mut setup, &chosen, if args.quick { 0.1 } else { 0.5 })?;
    let report = Report {
        model: setup.model.card().name.clone(),
        threads: setup.threads,
        memory_bytes: setup.memory_bytes,
        runs: setup.runs,
        peak: PeakReport::from(&peak),
        figures: figures.into_iter().map(|figure| Line::new(figure, &peak)).collect(),
    };
    match args.format {
        TableFormat::Json => table::print_json("exegete.bench/1", &report),
        TableFormat::Text => table::print(&text(&report)),
    }
}

/// The figures between two measurements of the peak: the machine may have been busier before than after, and a peak
/// is the best that was ever seen.
fn measure_all(
    setup: &mut Setup,
    chosen: &[(&'static str, Measure)],
    seconds_a_shape: f64,
) -> Result<(Peak, Vec<Figure>)> {
    let progress = ProgressBar::new_spinner();
    progress.enable_steady_tick(Duration::from_millis(200));
    progress.set_message("matrix-product peak");
    let before = sgemm_peak(setup.threads, seconds_a_shape);
    let fastest = before.shapes.iter().copied().max_by(|a, b| a.3.total_cmp(&b.3));
    setup.shape = fastest.map_or(setup.shape, |(m, n, k, _)| (m, n, k));
    let mut figures = Vec::new();
    for (name, measure) in chosen {
        progress.set_message(*name);
        figures.push(measure(setup)?);
    }
    let after = sgemm_peak(setup.threads, seconds_a_shape);
    progress.finish_and_clear();
    Ok((if after.gflops > before.gflops { after } else { before }, figures))
}

fn setup(args: &cli::Bench) -> Result<Setup> {
    let threads = args.resources.count();
    let model = match &args.model {
        Some(dir) => {
            model::folder(Some(dir), "a benchmark needs an engine to measure")?;
            let model = model::open(Some(dir), threads)?;
            model::warn(model.card());
            model
        }
        None => random_bert(&BertSize::default(), &Options { precision: Precision::F32, threads })?,
    };
    let runs = if args.quick { 2 } else { 5 };
    Ok(Setup {
        model,
        dir: args.model.clone(),
        threads,
        memory_bytes: args.resources.memory(),
        runs,
        shape: (1024, 1024, 1024),
    })
}

impl Line {
    fn new(figure: Figure, peak: &Peak) -> Self {
        let gflops = figure.flops as f64 / figure.seconds / 1e9;
        let meanwhile = figure.flops as f64 / figure.mean_seconds / 1e9 / figure.product_gflops;
        Self { gflops, share_of_peak: gflops / peak.gflops, share_meanwhile: meanwhile, figure }
    }
}

impl From<&Peak> for PeakReport {
    fn from(peak: &Peak) -> Self {
        let shape = |&(m, n, k, gflops): &(usize, usize, usize, f64)| ShapeReport { m, n, k, gflops };
        Self { gflops: peak.gflops, shapes: peak.shapes.iter().map(shape).collect() }
    }
}

fn text(report: &Report) -> String {
    let head = format!(
        "{}, {} threads, best of {}; matrix-product peak {:.0} GFLOP/s",
        report.model, report.threads, report.runs, report.peak.gflops
    );
    let row = |line: &Line| {
        let [speed, share, meanwhile] = match line.figure.flops {
            0 => Default::default(),
            _ => [(0, line.gflops), (2, line.share_of_peak), (2, line.share_meanwhile)]
                .map(|(digits, value)| format!("{value:.digits$}")),
        };
        let note = line.figure.note.clone().unwrap_or_default();
        vec![line.figure.work.clone(), format!("{:.4}", line.figure.seconds), speed, share, meanwhile, note]
    };
    let rows = report.figures.iter().map(row).collect();
    format!(
        "{head}\n\n{}",
        table::plain(&["work", "seconds", "GFLOP/s", "of peak", "meanwhile", ""], rows, &[1, 2, 3, 4])
    )
}

/// How much of the budget a run used, in words.
fn budget_note(peak_bytes: usize, memory_bytes: usize) -> String {
    let verdict = if peak_bytes <= memory_bytes { "of" } else { "MORE THAN" };
    format!("{} {verdict} {} for activations", size::display(peak_bytes), size::display(memory_bytes))
}
