//! Which files of a folder hold the weights, and why a folder without them is refused.

use super::mapped::Mapped;
use super::values::Buffer;
use crate::fault::{fault, read_text};
use exegete_core::{Error, Result};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Component, Path, PathBuf};

/// One file, not sharded.
const SINGLE: &str = "model.safetensors";
/// The list of shards.
const INDEX: &str = "model.safetensors.index.json";

/// The weight files of a folder, and which tensors each must hold; a single file promises none.
pub(super) fn weight_files(dir: &Path) -> Result<Vec<(PathBuf, BTreeSet<String>)>> {
    check_folder(dir)?;
    if dir.join(SINGLE).exists() {
        return Ok(vec![(dir.join(SINGLE), BTreeSet::new())]);
    }
    if dir.join(INDEX).exists() {
        return shards(dir);
    }
    Err(no_weights(dir))
}

/// The bytes of a file, memory-mapped.
pub(super) fn map(path: &Path) -> Result<Buffer> {
    let place = path.display();
    let unreadable = |e: std::io::Error| fault(path.display(), format!("cannot be read: {e}"));
    // A pipe would block and a folder cannot be mapped.
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(fault(place, "is not a file"));
    }
    let file = File::open(path).map_err(unreadable)?;
    Mapped::new(file, path).map(Buffer::Mapped).map_err(unreadable)
}

fn check_folder(dir: &Path) -> Result<()> {
    let place = dir.display();
    if !dir.exists() {
        return Err(fault(place, "there is no such folder; give the path of a Hugging Face model folder"));
    }
    if !dir.is_dir() {
        return Err(fault(
            place,
            "is not a folder; give the folder that holds config.json and model.safetensors",
        ));
    }
    Ok(())
}

#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

fn shards(dir: &Path) -> Result<Vec<(PathBuf, BTreeSet<String>)>> {
    let path = dir.join(INDEX);
    let broken = |what: String| fault(path.display(), what);
    let index: Index = serde_json::from_str(&read_text(&path)?)
        .map_err(|e| broken(format!("is no valid shard index ({e}); download it again")))?;
    let mut shards: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (tensor, shard) in &index.weight_map {
        shards.entry(shard).or_default().insert(tensor.clone());
    }
    if shards.is_empty() {
        return Err(broken("names no shard; download it again".into()));
    }
    for &shard in shards.keys() {
        // A path that leads elsewhere is either a mistake or an attempt to read a foreign file.
        if !matches!(Path::new(shard).components().collect::<Vec<_>>()[..], [Component::Normal(_)]) {
            return Err(broken(format!("names the shard '{shard}', which is not a file of this folder")));
        }
        if !dir.join(shard).exists() {
            return Err(broken(format!(
                "names the shard '{shard}', which is not there; download it as well"
            )));
        }
    }
    Ok(shards.into_iter().map(|(shard, tensors)| (dir.join(shard), tensors)).collect())
}

fn no_weights(dir: &Path) -> Error {
    let files = file_names(dir);
    let ends = |suffixes: &[&str]| files.iter().find(|name| suffixes.iter().any(|s| name.ends_with(s)));
    let place = dir.display();
    if let Some(pickle) = ends(&[".bin", ".bin.index.json", ".pt", ".pth", ".ckpt"]) {
        return fault(
            &place,
            format!(
                "the weights are in '{pickle}', a pickle, which can run code when it is read and is refused; convert it \
                 with: python -c \"import transformers as t; d = '{place}'; a = \
                 t.AutoConfig.from_pretrained(d).architectures[0]; getattr(t, \
                 a).from_pretrained(d).save_pretrained(d, safe_serialization=True)\""
            ),
        );
    }
    let nearby = match ends(&[".safetensors", ".h5", ".msgpack", ".onnx", ".gguf"]) {
        Some(other) => format!("; '{other}' is not read in its place"),
        None => String::new(),
    };
    fault(place, format!("holds no weights: looked for {SINGLE} and {INDEX}{nearby}"))
}

fn file_names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
