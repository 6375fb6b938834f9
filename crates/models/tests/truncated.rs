//! A weight file that changes while a model is open ends in one line, not in SIGBUS.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use exegete_core::{Array, Example, Model};
use exegete_models::{LoadOptions, load};
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A golden model whose aligned f32 weights are read where they are mapped, copied to a folder of its own.
fn copied() -> (tempfile::TempDir, PathBuf) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/models/bert-sequence");
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(golden).unwrap().flatten().filter(|entry| entry.path().is_file()) {
        fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let weights = folder.path().join("model.safetensors");
    (folder, weights)
}

fn predict(model: &dyn Model) -> Result<usize, String> {
    let found = model.predict(&[Example::text("A warm and honest film.")]);
    found.map(|predictions| predictions.len()).map_err(|error| error.to_string())
}

/// Opens, changes, and says what the next run gives.
fn after(change: impl Fn(&Path)) -> (Result<usize, String>, u64) {
    let (folder, weights) = copied();
    let model = load(folder.path(), &LoadOptions { threads: 1, ..LoadOptions::default() }).unwrap();
    assert_eq!(predict(&*model), Ok(1));
    let bytes = fs::metadata(&weights).unwrap().len();
    change(&weights);
    let found = predict(&*model);
    let view = model.open().unwrap().with_params(vec![]).unwrap();
    assert_eq!(predict(&*view), found, "a view reads the same file");
    (found, bytes)
}

#[test]
fn a_file_that_is_cut_off_is_one_line() {
    let (found, bytes) =
        after(|path| OpenOptions::new().write(true).open(path).unwrap().set_len(10).unwrap());
    let told = found.unwrap_err();
    let expected =
        format!("model.safetensors: changed while it was open (was {bytes} bytes, is 10); open it again");
    assert!(told.ends_with(&expected), "{told}");
}

#[test]
fn a_file_that_is_written_to_is_one_line() {
    let later = SystemTime::now() + Duration::from_secs(60);
    let (found, bytes) =
        after(|path| OpenOptions::new().write(true).open(path).unwrap().set_modified(later).unwrap());
    let told = found.unwrap_err();
    assert!(told.contains(&format!("changed while it was open ({bytes} bytes were written to)")), "{told}");
}

/// Whoever has the old file open keeps its content.
#[test]
fn a_file_that_is_replaced_does_no_harm() {
    let (found, _) = after(|path| {
        let other = path.with_file_name("other");
        File::create(&other).unwrap();
        fs::rename(other, path).unwrap();
    });
    assert_eq!(found, Ok(1));
    let (found, _) = after(|path| fs::remove_file(path).unwrap());
    assert_eq!(found, Ok(1));
}

/// With every parameter replaced nothing is read from the file any more.
#[test]
fn a_model_that_reads_no_file_minds_no_change() {
    let (folder, weights) = copied();
    let model = load(folder.path(), &LoadOptions { threads: 1, ..LoadOptions::default() }).unwrap();
    let learner = model.learner().unwrap();
    let all: Vec<(String, Array)> = learner
        .parameters()
        .into_iter()
        .map(|(name, _)| (name.clone(), learner.parameter(&name).unwrap()))
        .collect();
    let own = model.open().unwrap().with_params(all).unwrap();
    OpenOptions::new().write(true).open(&weights).unwrap().set_len(10).unwrap();
    assert!(predict(&*own).is_err(), "the model that it was made of is still there");
    drop(model);
    assert_eq!(predict(&*own), Ok(1));
}
