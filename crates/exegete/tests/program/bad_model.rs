//! Model folders that are broken in one way each: one line on stderr that names the fault, exit 2.

use crate::harness::{assert_error, exegete, golden};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

type Fault = fn(&Path);

const CLASSIFIER: &str = "classifier.weight";
const QUERY: &str = "bert.encoder.layer.1.attention.self.query.weight";

/// What is broken, how, and what the error must say.
const FAULTS: [(&str, Fault, &[&str]); 17] = [
    (
        "empty folder",
        |dir| fs::read_dir(dir).unwrap().for_each(|f| fs::remove_file(f.unwrap().path()).unwrap()),
        &["config.json"],
    ),
    ("no weights", |dir| fs::remove_file(dir.join("model.safetensors")).unwrap(), &["model.safetensors"]),
    ("no tokenizer", |dir| fs::remove_file(dir.join("tokenizer.json")).unwrap(), &["tokenizer.json"]),
    (
        "config is not JSON",
        |dir| fs::write(dir.join("config.json"), "{\"model_type\":").unwrap(),
        &["config.json"],
    ),
    (
        "truncated weights",
        |dir| edit_weights(dir, |bytes| bytes.truncate(bytes.len() - 100)),
        &["model.safetensors"],
    ),
    (
        "weights cut in the header",
        |dir| edit_weights(dir, |bytes| bytes.truncate(20)),
        &["model.safetensors"],
    ),
    ("no weights in the file", |dir| edit_weights(dir, Vec::clear), &["model.safetensors"]),
    ("header length lies", |dir| edit_weights(dir, |bytes| bytes[..8].fill(0x7f)), &["model.safetensors"]),
    (
        "offsets lie",
        |dir| edit_header(dir, |h| h[QUERY]["data_offsets"] = json!([0, 1u64 << 40])),
        &["model.safetensors"],
    ),
    (
        "wrong shape",
        |dir| edit_header(dir, |h| h[CLASSIFIER]["shape"] = json!([18, 3])),
        &[CLASSIFIER, "[18, 3]", "[3, 18]"],
    ),
    ("missing tensor", |dir| edit_tensors(dir, |t| t.retain(|(name, ..)| name != QUERY)), &[QUERY]),
    (
        "missing head",
        |dir| edit_tensors(dir, |t| t.retain(|(name, ..)| !name.starts_with("classifier"))),
        &["classifier"],
    ),
    ("NaN", |dir| edit_tensors(dir, |t| poison(t, QUERY, f32::NAN)), &[QUERY, "NaN"]),
    ("infinity", |dir| edit_tensors(dir, |t| poison(t, CLASSIFIER, f32::INFINITY)), &[CLASSIFIER, "inf"]),
    (
        "unknown family",
        |dir| edit_config(dir, |c| c["model_type"] = json!("mamba")),
        &["mamba", "bert", "roberta", "electra"],
    ),
    ("pickle", pickle, &["pytorch_model.bin", "pickle", "convert it with"]),
    ("tokenizer with another vocabulary", |dir| edit_tokenizer(dir), &["tokenizer", "159"]),
];

#[test]
fn every_fault_is_named_in_one_line() {
    for (name, fault, told) in FAULTS {
        let folder = copy_of("bert-sequence");
        fault(folder.path());
        let dir = folder.path().to_string_lossy().into_owned();
        println!("{name}");
        assert_error(&exegete(&["predict", "A warm film.", "--model", &dir]), told);
    }
}

#[test]
fn a_missing_folder_is_named() {
    for command in [&["predict", "x", "--model", "no/such/model"][..], &["model", "info", "no/such/model"]] {
        assert_error(&exegete(command), &["no/such/model"]);
    }
}

#[test]
fn unused_tensors_are_a_warning_that_lists_them() {
    let folder = copy_of("bert-sequence");
    edit_tensors(folder.path(), |tensors| {
        let (_, dtype, shape, data) = tensors.iter().find(|(name, ..)| name == QUERY).unwrap().clone();
        tensors.push(("adapter.weight".to_owned(), dtype, shape, data));
    });
    let dir = folder.path().to_string_lossy().into_owned();
    let run = exegete(&["predict", "A warm film.", "--model", &dir]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.starts_with("warning: ") && run.stderr.contains("adapter.weight"), "{}", run.stderr);
}

/// A weight so large that the attention scores leave the range where differences can tell a gradient.
#[test]
fn a_failed_check_exits_with_1() {
    let folder = copy_of("bert-sequence");
    edit_tensors(folder.path(), |tensors| poison(tensors, QUERY, 1e25));
    let run = exegete(&["model", "check", &folder.path().to_string_lossy()]);
    assert_eq!((run.code, run.stderr.as_str()), (1, ""), "{}", run.stdout);
    assert!(run.stdout.contains("FAIL") && run.stdout.contains("checks failed"), "{}", run.stdout);
}

fn copy_of(model: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(golden(model)).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        if !name.to_string_lossy().starts_with("golden") {
            fs::copy(&path, folder.path().join(name)).unwrap();
        }
    }
    folder
}

fn edit_json(path: &Path, edit: impl Fn(&mut Value)) {
    let mut value: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    edit(&mut value);
    fs::write(path, value.to_string()).unwrap();
}

fn edit_config(dir: &Path, edit: impl Fn(&mut Value)) {
    edit_json(&dir.join("config.json"), edit);
}

fn edit_tokenizer(dir: &Path) {
    edit_json(&dir.join("tokenizer.json"), |tokenizer| {
        for id in 159..400 {
            tokenizer["model"]["vocab"][format!("extra{id}")] = json!(id);
        }
    });
}

fn pickle(dir: &Path) {
    fs::rename(dir.join("model.safetensors"), dir.join("pytorch_model.bin")).unwrap();
}

fn edit_weights(dir: &Path, edit: impl Fn(&mut Vec<u8>)) {
    let path = dir.join("model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    edit(&mut bytes);
    fs::write(&path, bytes).unwrap();
}

/// Changes the JSON header of the weights and leaves the data as it is.
fn edit_header(dir: &Path, edit: impl Fn(&mut Value)) {
    edit_weights(dir, |bytes| {
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let mut header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
        edit(&mut header);
        let header = header.to_string();
        let data = bytes.split_off(8 + length);
        *bytes = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat();
    });
}

type Tensor = (String, Dtype, Vec<usize>, Vec<u8>);

/// Changes the list of tensors and writes a sound file again.
fn edit_tensors(dir: &Path, edit: impl Fn(&mut Vec<Tensor>)) {
    edit_weights(dir, |bytes| {
        let file = SafeTensors::deserialize(bytes).unwrap();
        let owned = |(name, view): (String, TensorView)| {
            (name, view.dtype(), view.shape().to_vec(), view.data().to_vec())
        };
        let mut tensors: Vec<Tensor> = file.tensors().into_iter().map(owned).collect();
        edit(&mut tensors);
        let views = tensors
            .iter()
            .map(|(name, dtype, shape, data)| (name, TensorView::new(*dtype, shape.clone(), data).unwrap()));
        *bytes = safetensors::serialize(views, None).unwrap();
    });
}

fn poison(tensors: &mut [Tensor], name: &str, value: f32) {
    let (_, _, _, data) = tensors.iter_mut().find(|(n, ..)| n == name).unwrap();
    data[40..44].copy_from_slice(&value.to_le_bytes());
}
