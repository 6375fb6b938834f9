//! The weights of a model: safetensors files, memory-mapped, checked in full before anything is believed.
//!
//! Opening costs the header only. [`Checkpoint::read`] gives a slice of the map for aligned f32 weights and a converted
//! copy for f16, bf16, f64 and weights of a few bits.

mod fingerprint;
mod folder;
mod header;
mod mapped;
mod packed;
#[cfg(test)]
mod tests;
mod values;
mod write;

pub use values::Values;

use crate::fault::fault;
use exegete_core::{Error, Result};
pub(crate) use fingerprint::{Fnv, extend_fingerprint};
use header::Entry;
pub use mapped::MappedFiles;
use packed::Packed;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use values::Buffer;
pub(crate) use write::{Stored, write};

/// The tensors of a model by name.
#[derive(Debug)]
pub struct Checkpoint {
    files: Vec<TensorSource>,
    /// By canonical name, so that every walk over the tensors has the same order.
    tensors: BTreeMap<String, Tensor>,
}

#[derive(Debug)]
struct TensorSource {
    /// As messages call it.
    place: String,
    buffer: Arc<Buffer>,
}

#[derive(Debug)]
struct Tensor {
    file: usize,
    /// With the logical name and shape of a packed tensor.
    entry: Entry,
    packed: Option<Packed>,
    /// Where a packed tensor lies once it is unpacked.
    unpacked: Option<(Arc<Buffer>, Range<usize>)>,
}

impl Checkpoint {
    /// Opens `model.safetensors` of a folder, or the shards that `model.safetensors.index.json` names.
    pub fn open(dir: &Path) -> Result<Self> {
        let mut checkpoint = Self { files: Vec::new(), tensors: BTreeMap::new() };
        for (path, promised) in folder::weight_files(dir)? {
            let source =
                TensorSource { place: path.display().to_string(), buffer: Arc::new(folder::map(&path)?) };
            let file = checkpoint.files.len();
            checkpoint.add(source)?;
            let found = |name: &str| checkpoint.tensors.get(&canonical(name)).is_some_and(|t| t.file == file);
            if let Some(missing) = promised.iter().find(|name| !found(name)) {
                let what =
                    format!("lacks tensor '{missing}', which the shard index promises; download it again");
                return Err(fault(path.display(), what));
            }
        }
        Ok(checkpoint)
    }

    /// Opens one safetensors file.
    pub(crate) fn open_file(path: &Path) -> Result<Self> {
        Self::single(path.display().to_string(), folder::map(path)?)
    }

    /// Reads one safetensors file that is already in memory.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self> {
        Self::single("safetensors".into(), Buffer::Owned(bytes))
    }

    /// Reads one safetensors file that is part of the program.
    pub(crate) fn from_program(place: &str, bytes: &'static [u8]) -> Result<Self> {
        Self::single(place.into(), Buffer::Program(bytes))
    }

    fn single(place: String, buffer: Buffer) -> Result<Self> {
        let mut checkpoint = Self { files: Vec::new(), tensors: BTreeMap::new() };
        checkpoint.add(TensorSource { place, buffer: Arc::new(buffer) })?;
        Ok(checkpoint)
    }

    /// Its files that are memory-mapped.
    pub(crate) fn mapped(&self) -> MappedFiles {
        MappedFiles::of(self.files.iter().map(|file| &file.buffer))
    }

    /// What the first file notes under a key.
    pub(crate) fn note(&self, key: &str) -> Option<String> {
        header::note((*self.files.first()?.buffer).as_ref(), key)
    }

    /// The canonical names of all tensors, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// Whether there is a tensor of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// The shape of a tensor.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensors.get(name).map(|tensor| tensor.entry.shape.as_slice())
    }

    /// How a tensor is stored, in the file's own word: `F32`, `BF16`, `I64`.
    pub fn dtype(&self, name: &str) -> Option<&str> {
        self.tensors.get(name).map(|tensor| tensor.entry.dtype.name())
    }

    /// The elements of a tensor as f32.
    pub fn read(&self, name: &str) -> Result<Values> {
        let tensor = self.tensors.get(name).ok_or_else(|| self.missing(name))?;
        let TensorSource { place, buffer } = &self.files[tensor.file];
        let values = match &tensor.unpacked {
            Some((buffer, bytes)) => Values::view(buffer, bytes.clone()),
            None => Values::read(buffer, &tensor.entry),
        };
        values.ok_or_else(|| {
            let kind = tensor.entry.dtype.name();
            fault(place, format!("tensor '{name}' has type {kind}; weights must be F32, F16, BF16 or F64"))
        })
    }

    /// Where a tensor that was looked for might have been.
    fn missing(&self, name: &str) -> Error {
        let places: Vec<&str> = self.files.iter().map(|file| file.place.as_str()).collect();
        let place = match places[..] {
            [only] => only.to_owned(),
            [first, ..] => format!("{first} and {} more shards", places.len() - 1),
            [] => "checkpoint".to_owned(),
        };
        fault(place, format!("there is no tensor '{name}'; is this checkpoint for another model type?"))
    }

    fn add(&mut self, source: TensorSource) -> Result<()> {
        let entries = header::read((*source.buffer).as_ref()).and_then(packed::pair);
        let entries = entries.map_err(|what| fault(&source.place, what))?;
        let packed: Vec<_> =
            entries.iter().filter_map(|(entry, packed)| Some((entry, packed.as_ref()?))).collect();
        let mut unpacked = Vec::new().into_iter();
        if !packed.is_empty() {
            let (buffer, ranges) = packed::unpack((*source.buffer).as_ref(), &packed)
                .map_err(|e| fault(&source.place, format!("cannot be unpacked: {e}")))?;
            let buffer = Arc::new(buffer);
            unpacked =
                ranges.into_iter().map(|range| (buffer.clone(), range)).collect::<Vec<_>>().into_iter();
        }
        let file = self.files.len();
        for (entry, packed) in entries {
            let unpacked = if packed.is_some() { unpacked.next() } else { None };
            match self.tensors.entry(canonical(&entry.name)) {
                Slot::Vacant(slot) => {
                    slot.insert(Tensor { file, entry, packed, unpacked });
                }
                Slot::Occupied(slot) => {
                    let what = format!("tensor '{}' is there twice; save the checkpoint again", slot.key());
                    return Err(fault(&source.place, what));
                }
            }
        }
        self.files.push(source);
        Ok(())
    }
}

/// Checkpoints converted from TensorFlow call a layer norm's parameters gamma and beta.
fn canonical(name: &str) -> String {
    let renamed = |old: &str, new: &str| {
        let stem = name.strip_suffix(old)?;
        stem.ends_with("LayerNorm").then(|| format!("{stem}{new}"))
    };
    renamed(".gamma", ".weight").or_else(|| renamed(".beta", ".bias")).unwrap_or_else(|| name.to_owned())
}
