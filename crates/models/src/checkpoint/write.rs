//! The other direction: tensors to a safetensors file.

use crate::fault::fault;
use crate::partial::Partial;
use exegete_core::Result;
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use std::path::Path;

/// One tensor to write.
pub(crate) struct Stored<'a> {
    pub(crate) name: String,
    pub(crate) shape: &'a [usize],
    pub(crate) values: &'a [f32],
}

/// Writes a file that appears when it is complete. `notes` is the file's own map of texts.
pub(crate) fn write(path: &Path, tensors: &[Stored<'_>], notes: &[(&str, &str)]) -> Result<()> {
    write_to(path, tensors, notes).map_err(|e| fault(path.display(), format!("cannot be written: {e}")))
}

fn write_to(path: &Path, tensors: &[Stored<'_>], notes: &[(&str, &str)]) -> io::Result<()> {
    let notes: Map<String, Value> = notes.iter().map(|&(key, text)| (key.into(), text.into())).collect();
    let mut header = Map::from_iter([("__metadata__".to_owned(), Value::Object(notes))]);
    let mut end = 0;
    for tensor in tensors {
        let start = end;
        end += size_of_val(tensor.values);
        let entry = json!({"dtype": "F32", "shape": tensor.shape, "data_offsets": [start, end]});
        header.insert(tensor.name.clone(), entry);
    }
    let mut header = Value::Object(header).to_string().into_bytes();
    // The format pads with spaces, so that the data is aligned and can be mapped.
    header.resize(header.len().next_multiple_of(8), b' ');
    let mut file = Partial::create(path)?;
    file.write_all(&(header.len() as u64).to_le_bytes())?;
    file.write_all(&header)?;
    for tensor in tensors {
        if cfg!(target_endian = "little") {
            file.write_all(bytemuck::cast_slice(tensor.values))?;
        } else {
            tensor.values.iter().try_for_each(|value| file.write_all(&value.to_le_bytes()))?;
        }
    }
    file.complete()
}
