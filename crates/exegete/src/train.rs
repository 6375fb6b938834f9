//! `exegete train`: reads and checks all rows first, then trains, and leaves a Hugging Face folder.

mod rows;

use crate::output::refuse_reads;
use crate::{cli, model, table};
use anyhow::{Context, Result, bail};
use exegete::partial;
use exegete::train::{Data, Epoch, Event, Goal, Head, Metric, Optimiser, Run, Settings, Start, Trainer, fit};
use indicatif::{ProgressBar, ProgressStyle};
use rows::Rows;
use serde_json::json;
use std::path::Path;

/// What training needs of a model.
const TRAINS: &str = "training needs weights to start from";

/// Runs the command.
pub(crate) fn run(args: &cli::Train) -> Result<()> {
    model::folder(args.model.as_deref(), TRAINS)?;
    check_output(args)?;
    let mut rows = Rows::read(args)?;
    let excluded = rows.exclude(args)?;
    rows.warn_of_leaks(args);
    let head = Head { task: rows.task, labels: rows.labels.clone() };
    let start = match model::folder(args.model.as_deref(), TRAINS)? {
        Some(dir) if args.from_scratch => Start::Scratch(dir.to_owned()),
        Some(dir) => Start::Folder(dir.to_owned()),
        None if args.from_scratch => bail!("--from-scratch takes the config and the tokenizer of a folder"),
        None => Start::Default,
    };
    let mut trainer = Trainer::new(&start, &head, settings(args), Goal::default())?;
    let data = rows.data(&trainer)?;
    if !args.from_scratch && !trainer.fresh().is_empty() {
        eprintln!("new, from random numbers: {}", trainer.fresh().join(", "));
    }
    say_truncated(args, &data, &trainer);
    let progress = progress();
    let run = Run {
        output: &args.output,
        save_every: args.save_every,
        metric: metric(args.metric.unwrap_or_default()),
    };
    let epochs = fit(&mut trainer, &data, &run, &mut |event| {
        tell(&progress, event);
        Ok(())
    })?;
    progress.finish_and_clear();
    table::print(&table::plain(HEADER, epochs.iter().map(describe).collect(), &[]))?;
    write_report(args, &data, &head, excluded, &epochs)
}

/// What stands in the way, before any work is done.
fn check_output(args: &cli::Train) -> Result<()> {
    let unfinished = args.output.join("training_state.safetensors").exists();
    if !unfinished {
        model::check_output(&args.output, args.overwrite)?;
    }
    let whole = |path: &Path| path.canonicalize().ok();
    if args.model.as_deref().and_then(whole).is_some_and(|start| Some(start) == whole(&args.output)) {
        bail!("{}: a run cannot write the folder it starts from", args.output.display());
    }
    let own = ["training.json", "training_state.safetensors"].map(|name| args.output.join(name));
    refuse_reads(&[exegete::files_of_folder(&args.output), own.into()].concat(), &args.reads())?;
    if args.momentum.is_some() && args.optimiser != cli::Optimiser::Sgd {
        bail!("--momentum is for --optimiser sgd; adamw has constants of its own");
    }
    Ok(())
}

fn settings(args: &cli::Train) -> Settings {
    Settings {
        epochs: args.epochs,
        batch: args.batch,
        optimiser: match args.optimiser {
            cli::Optimiser::Adamw => Optimiser::ADAM_W,
            cli::Optimiser::Sgd => Optimiser::Sgd { momentum: args.momentum.unwrap_or(0.9) },
        },
        rate: args.rate,
        layer_decay: args.layer_decay,
        warmup: args.warmup,
        decay: args.decay,
        clip: (args.clip != 0.0).then_some(args.clip),
        dropout: args.dropout,
        max_tokens: args.max_tokens,
        seed: args.seed,
        threads: args.resources.threads(),
        memory_bytes: args.resources.memory(),
    }
}

fn metric(metric: cli::Metric) -> Metric {
    match metric {
        cli::Metric::Accuracy => Metric::Accuracy,
        cli::Metric::MacroF1 => Metric::MacroF1,
        cli::Metric::Loss => Metric::Loss,
    }
}

fn say_truncated(args: &cli::Train, data: &Data, trainer: &Trainer) {
    let longest = trainer.model().card().max_tokens;
    let learned = args.max_tokens.unwrap_or(longest).min(longest);
    for (kind, rows, most) in [("training", &data.train, learned), ("dev", &data.dev, longest)] {
        let cut = rows.iter().filter(|sample| sample.row.encoded.truncated).count();
        if cut > 0 {
            eprintln!("warning: {cut} of {} {kind} texts cut to {most} tokens", rows.len());
        }
    }
}

/// A bar over the steps; indicatif shows it only where stderr is a terminal.
fn progress() -> ProgressBar {
    let style =
        ProgressStyle::with_template("{bar:40} {percent:>3} %  step {pos} of {len}, {msg}, {eta} left");
    ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn tell(progress: &ProgressBar, event: &Event<'_>) {
    match event {
        Event::Resumed { steps, total } => {
            progress.suspend(|| eprintln!("taking up the run again after {steps} steps"));
            progress.set_length(*total as u64);
            progress.set_position(*steps as u64);
            progress.reset_eta();
        }
        Event::Step { done, total, step } => {
            progress.set_length(*total as u64);
            progress.set_position(*done as u64);
            progress.set_message(format!("loss {:.3}", step.loss));
        }
        Event::Epoch(epoch) => {
            let cells = HEADER.iter().zip(describe(epoch)).map(|(name, value)| format!("{name} {value}"));
            progress.suspend(|| eprintln!("{}", cells.collect::<Vec<_>>().join(", ")));
        }
    }
}

const HEADER: &[&str] =
    &["epoch", "train loss", "dev loss", "accuracy", "macro-F1", "pearson", "seconds", "kept"];

fn describe(epoch: &Epoch) -> Vec<String> {
    let dev = epoch.dev.as_ref();
    let figure = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.4}"));
    vec![
        epoch.epoch.to_string(),
        format!("{:.4}", epoch.train_loss),
        figure(dev.map(|dev| dev.loss)),
        figure(dev.and_then(|dev| dev.accuracy)),
        figure(dev.and_then(|dev| dev.macro_f1)),
        figure(dev.and_then(|dev| dev.pearson)),
        format!("{:.1}", epoch.seconds),
        if epoch.kept { "yes" } else { "no" }.to_owned(),
    ]
}

/// `training.json` beside the weights: how this model came to be.
fn write_report(
    args: &cli::Train,
    data: &Data,
    head: &Head,
    excluded: usize,
    epochs: &[Epoch],
) -> Result<()> {
    let seconds: f64 = epochs.iter().map(|epoch| epoch.seconds).sum();
    let rows = data.train.len() * epochs.len();
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let report = json!({
        "schema": "exegete.training/1",
        "version": env!("CARGO_PKG_VERSION"),
        "start": {"model": args.model.as_deref().map_or_else(|| Some(exegete::DEFAULT.to_owned()), name), "from_scratch": args.from_scratch},
        "task": head.task,
        "labels": head.labels,
        "data": {
            "train": args.train.iter().map(|path| name(path)).collect::<Vec<_>>(),
            "train_rows": data.train.len(),
            "dev": args.dev.as_deref().map(name),
            "dev_rows": data.dev.len(),
            "excluded_rows": excluded,
        },
        "settings": {
            "loss": format!("{:?}", args.loss), "epochs": args.epochs, "batch": args.batch,
            "optimiser": format!("{:?}", args.optimiser), "rate": args.rate, "momentum": args.momentum,
            "layer_decay": args.layer_decay, "warmup": args.warmup, "decay": args.decay, "clip": args.clip,
            "dropout": args.dropout, "max_tokens": args.max_tokens, "seed": args.seed,
        },
        "epochs": epochs,
        "examples_per_second": if seconds > 0.0 { rows as f64 / seconds } else { 0.0 },
    });
    let path = args.output.join("training.json");
    let text = serde_json::to_string_pretty(&report)?;
    partial::write(&path, text.as_bytes()).with_context(|| format!("{}: cannot be written", path.display()))
}
