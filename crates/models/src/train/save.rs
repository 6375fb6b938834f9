use crate::checkpoint::{Stored, write};
use crate::fault::fault;
use crate::opened::Opened;
use crate::partial;
use exegete_core::Result;
use std::fs;
use std::path::Path;

/// Writes a model as a Hugging Face folder. The weights come last, so that a folder with weights is whole.
pub(super) fn folder(model: &Opened<f32>, companions: &[(String, Vec<u8>)], dir: &Path) -> Result<()> {
    fs::create_dir_all(dir).map_err(|e| fault(dir.display(), format!("cannot be made: {e}")))?;
    let config = [("config.json".to_owned(), model.parts.config.source.clone().into_bytes())];
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
    write(&dir.join("model.safetensors"), &tensors, &[("format", "pt")])
}
