//! Black boxes: whatever the other side does, there is an answer or one clear line, and nothing stays behind.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

#[cfg(unix)]
mod command;
mod http;
mod server;

use exegete_core::{Example, Model, Prediction, Scores};
use exegete_models::{RemoteOptions, connect};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Long enough for a busy machine; tests of a timeout set a short one.
const PATIENT: RemoteOptions =
    RemoteOptions { timeout: Duration::from_secs(60), retries: 0, batch: 1, concurrency: 1, pairs: false };

/// Options that give up at once.
const HASTY: RemoteOptions = RemoteOptions { timeout: Duration::from_millis(300), ..PATIENT };

fn texts(texts: &[&str]) -> Vec<Example> {
    texts.iter().map(|&text| Example::text(text)).collect()
}

/// The probability of the last label.
fn last(prediction: &Prediction) -> f64 {
    match &prediction.scores {
        Scores::Classes { scores, .. } | Scores::Labels { scores, .. } => scores.last().unwrap().prob,
        Scores::Value { value } => *value,
        other => panic!("{other:?}"),
    }
}

/// What went wrong while connecting or predicting one text: one line, in bounded time, that names the address.
fn failure(address: &str, options: &RemoteOptions) -> String {
    let started = Instant::now();
    let outcome = connect(address, options).and_then(|model| model.predict(&texts(&["x"])));
    let error = outcome.unwrap_err().to_string();
    assert!(started.elapsed() < Duration::from_secs(55), "{address}: {error}");
    assert!(!error.contains('\n') && error.contains(&address[..address.len().min(60)]), "{error}");
    assert!(error.contains("; "), "no advice: {error}");
    error
}

fn open(address: &str, options: &RemoteOptions) -> Arc<dyn Model> {
    connect(address, options).unwrap()
}
