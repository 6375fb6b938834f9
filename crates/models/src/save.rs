use crate::checkpoint::{Stored, write};
use crate::fault::fault;
use crate::opened::Opened;
use crate::partial;
use exegete_core::Result;
use serde_json::{Map, Value};
use std::fs;
use std::path::{Path, PathBuf};

/// Writes a model as a Hugging Face folder. The weights come last, so that a folder with weights is whole.
pub(crate) fn folder(model: &Opened<f32>, companions: &[(String, Vec<u8>)], dir: &Path) -> Result<()> {
    fs::create_dir_all(dir).map_err(|e| fault(dir.display(), format!("cannot be made: {e}")))?;
    let config = [("config.json".to_owned(), single_precision(model.parts.blueprint.source())?.into_bytes())];
    let weights = dir.join("model.safetensors");
    // Weights and tokenizers of another model would be taken for this one's.
    let mut stale: Vec<PathBuf> = TOKENIZER
        .iter()
        .filter(|name| !companions.iter().any(|(own, _)| own == *name))
        .map(|name| dir.join(name))
        .collect();
    if fs::read(dir.join("config.json")).is_ok_and(|there| there != config[0].1) {
        stale.push(weights.clone());
    }
    for path in stale.iter().filter(|path| path.exists()) {
        fs::remove_file(path).map_err(|e| fault(path.display(), format!("cannot be removed: {e}")))?;
    }
    for (name, bytes) in config.iter().chain(companions) {
        let path = dir.join(name);
        partial::write(&path, bytes).map_err(|e| fault(path.display(), format!("cannot be written: {e}")))?;
    }
    let tensors: Vec<Stored<'_>> = model
        .parts
        .params
        .iter()
        .map(|(name, param)| Stored { name: name.clone(), shape: &param.shape, values: param.value.data() })
        .collect();
    write(&weights, &tensors, &[("format", "pt")])
}

/// The files that a model's folder may hold, and that saving one there replaces or removes.
pub fn files_of_folder(dir: &Path) -> Vec<PathBuf> {
    ["config.json", "model.safetensors"].iter().chain(TOKENIZER).map(|name| dir.join(name)).collect()
}

/// A config without the precision that the weights were once stored in, which transformers would round them to.
fn single_precision(config: &str) -> Result<String> {
    let broken = |e: serde_json::Error| fault("config.json", format!("is no valid JSON ({e})"));
    let mut map: Map<String, Value> = serde_json::from_str(config).map_err(broken)?;
    map.retain(|key, _| !["dtype", "torch_dtype"].contains(&key.as_str()));
    serde_json::to_string_pretty(&map).map_err(broken)
}

/// Files that make up a tokenizer, in any of its shapes.
const TOKENIZER: &[&str] = &[
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.target.txt",
    "vocab.json",
    "merges.txt",
    "spiece.model",
    "sentencepiece.bpe.model",
];

/// The files that belong to a model's folder beside its config and weights.
pub(crate) fn companions(dir: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let there = TOKENIZER.iter().filter(|name| dir.join(name).exists());
    let read = |name: &&str| {
        let path = dir.join(name);
        let bytes = fs::read(&path).map_err(|e| fault(path.display(), format!("cannot be read: {e}")))?;
        Ok(((*name).to_owned(), bytes))
    };
    there.map(read).collect()
}
