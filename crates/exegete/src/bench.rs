//! `exegete bench`: the figures as a table or a document.

use crate::cli::{self, TableFormat};
use crate::{progress, table};
use anyhow::Result;
use exegete::render::columns;
use exegete::request::bench::{self, BenchFigure, BenchReport};
use exegete::request::{Notice, Stop};
use indicatif::ProgressBar;
use std::time::Duration;

/// Measures what was asked and prints the figures.
pub(crate) fn run(args: &cli::Bench, stop: &Stop) -> Result<()> {
    let progress = ProgressBar::new_spinner();
    progress.enable_steady_tick(Duration::from_millis(200));
    let program = std::env::current_exe().ok();
    let tell = &mut |notice: Notice<'_>| progress::show(&progress, notice);
    let report = bench::run(&args.request, program.as_deref(), stop, tell);
    progress.finish_and_clear();
    let report = report?;
    match args.format {
        TableFormat::Json => table::print_json("exegete.bench/1", &report)?,
        TableFormat::Text => table::print(&text(&report))?,
    }
    report.self_check.require()
}

fn text(report: &BenchReport) -> String {
    let head = format!(
        "{}\n{}, {} threads, best of {}\nmatrix-product peak {:.0} GFLOP/s, on registers alone {:.0}; memory is read at {:.1} GB/s",
        report.machine.text(),
        report.model,
        report.threads,
        report.runs,
        report.peak_product,
        report.peak_fma,
        report.bandwidth
    );
    let row = |line: &BenchFigure| {
        let [speed, share, meanwhile] = match line.figure.flops {
            0 => Default::default(),
            _ => [(0, line.gflops), (2, line.share_of_peak), (2, line.share_meanwhile)]
                .map(|(digits, value)| format!("{value:.digits$}")),
        };
        let seconds = format!("{:.4}", line.figure.seconds);
        vec![line.figure.work.clone(), seconds, speed, share, meanwhile, line.note()]
    };
    let rows: Vec<_> = report.figures.iter().map(row).collect();
    format!(
        "{head}\n\n{}\n\n{}",
        columns(&["work", "seconds", "GFLOP/s", "of peak", "meanwhile", ""], &rows, &[1, 2, 3, 4]),
        report.self_check.text()
    )
}
