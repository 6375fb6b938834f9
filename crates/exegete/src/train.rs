//! `exegete train`: how a run is shown.

use crate::stop::{Stopped, is_stop};
use crate::{cli, progress, table};
use anyhow::Result;
use exegete::render::columns;
use exegete::request::{Notice, Stop, train};
use exegete::train::{Epoch, Event};
use indicatif::{ProgressBar, ProgressStyle};

/// Trains a model and shows how far it is.
pub(crate) fn run(args: &cli::Train, stop: &Stop) -> Result<()> {
    let bar = bar();
    let mut steps = 0;
    let epochs = train::run(&args.request, stop, &mut |notice| match notice {
        Notice::Training(event) => {
            if let Event::Step { done, .. } | Event::Resumed { steps: done, .. } = event {
                steps = *done;
            }
            tell(&bar, event);
        }
        notice => progress::say(notice),
    });
    bar.finish_and_clear();
    let epochs = epochs.map_err(|error| match is_stop(&error) {
        true => Stopped(format!("stopped after {steps} steps; the same command goes on")).into(),
        false => error,
    })?;
    table::print(&columns(HEADER, &epochs.iter().map(describe).collect::<Vec<_>>(), &[]))
}

/// A bar over the steps; indicatif shows it only where stderr is a terminal.
fn bar() -> ProgressBar {
    let style =
        ProgressStyle::with_template("{bar:40} {percent:>3} %  step {pos} of {len}, {msg}, {eta} left");
    ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn tell(progress: &ProgressBar, event: &Event<'_>) {
    match event {
        Event::Started { total } => progress.set_length(*total as u64),
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
    &["epoch", "train loss", "dev loss", "accuracy", "macro-F1", "F1", "AUC", "pearson", "seconds", "kept"];

fn describe(epoch: &Epoch) -> Vec<String> {
    let dev = epoch.dev.as_ref();
    let figure = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.4}"));
    vec![
        epoch.epoch.to_string(),
        format!("{:.4}", epoch.train_loss),
        figure(dev.map(|dev| dev.loss)),
        figure(dev.and_then(|dev| dev.accuracy)),
        figure(dev.and_then(|dev| dev.macro_f1)),
        figure(dev.and_then(|dev| dev.f1)),
        figure(dev.and_then(|dev| dev.auc)),
        figure(dev.and_then(|dev| dev.pearson)),
        format!("{:.1}", epoch.seconds),
        if epoch.kept { "yes" } else { "no" }.to_owned(),
    ]
}
