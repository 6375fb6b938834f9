//! The safetensors header: eight bytes of length, that many bytes of JSON, then the tensors' bytes without gaps.
//!
//! We read it ourselves rather than through the safetensors crate, whose errors name neither tensor nor number. Nothing
//! is allocated that the file's own size does not pay for.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;

/// The format's own limit on the header.
const MAX_HEADER_BYTES: u64 = 100_000_000;
const LENGTH_BYTES: usize = 8;
/// Real tensors have at most four axes.
const MAX_AXES: usize = 16;

/// One tensor as the header describes it, with its bytes counted from the start of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
    pub(super) bytes: Range<usize>,
}

/// How the elements are stored. Other kinds may be present, in buffers such as position ids, but are no weights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Dtype {
    F64,
    F32,
    F16,
    Bf16,
    Other(String),
}

impl Dtype {
    fn parse(name: String) -> Self {
        match name.as_str() {
            "F64" => Self::F64,
            "F32" => Self::F32,
            "F16" => Self::F16,
            "BF16" => Self::Bf16,
            _ => Self::Other(name),
        }
    }

    /// The name that the file uses.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::F64 => "F64",
            Self::F32 => "F32",
            Self::F16 => "F16",
            Self::Bf16 => "BF16",
            Self::Other(name) => name,
        }
    }

    /// Bits an element; none for kinds that this reader has never heard of.
    fn bits(&self) -> Option<usize> {
        match self.name() {
            "F64" | "I64" | "U64" | "C64" => Some(64),
            "F32" | "I32" | "U32" => Some(32),
            "F16" | "BF16" | "I16" | "U16" => Some(16),
            "BOOL" | "U8" | "I8" | "F8_E5M2" | "F8_E4M3" | "F8_E8M0" | "F8_E4M3FNUZ" | "F8_E5M2FNUZ" => {
                Some(8)
            }
            "F6_E2M3" | "F6_E3M2" => Some(6),
            "F4" => Some(4),
            _ => None,
        }
    }
}

/// Every tensor of a file, in the order of its bytes; the error says what is wrong, without the file's name.
pub(super) fn read(file: &[u8]) -> Result<Vec<Entry>, String> {
    let (json, start) = split(file)?;
    let Raw(listed) = serde_json::from_str(json).map_err(|e| format!("the header is no valid JSON ({e})"))?;
    let mut names = HashSet::with_capacity(listed.len());
    let mut entries = Vec::with_capacity(listed.len());
    for (name, info) in &listed {
        if !names.insert(name.as_str()) {
            return Err(format!("tensor '{name}' is listed twice; save the checkpoint again"));
        }
        let entry =
            check(name, info, file.len() - start, start).map_err(|e| format!("tensor '{name}' {e}"))?;
        entries.push(entry);
    }
    entries.sort_by_key(|entry| (entry.bytes.start, entry.bytes.end));
    check_layout(&entries, start, file.len())?;
    Ok(entries)
}

/// One entry of the file's own map of texts.
pub(super) fn note(file: &[u8], key: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Notes {
        #[serde(rename = "__metadata__")]
        notes: HashMap<String, String>,
    }
    let notes: Notes = serde_json::from_str(split(file).ok()?.0).ok()?;
    notes.notes.get(key).cloned()
}

/// The header's text and where the tensors' bytes begin.
fn split(file: &[u8]) -> Result<(&str, usize), String> {
    let Some((length, _)) = file.split_first_chunk::<LENGTH_BYTES>() else {
        return Err(format!("has {} bytes, too few for a safetensors file; download it again", file.len()));
    };
    let length = u64::from_le_bytes(*length);
    let available = file.len() - LENGTH_BYTES;
    if length > MAX_HEADER_BYTES {
        return Err(format!(
            "claims a header of {length} bytes, more than the format allows; is it a safetensors file?"
        ));
    }
    let end = usize::try_from(length)
        .ok()
        .and_then(|n| n.checked_add(LENGTH_BYTES))
        .filter(|&end| end <= file.len());
    let Some(end) = end else {
        return Err(format!(
            "claims a header of {length} bytes but only {available} follow; download it again"
        ));
    };
    let text = std::str::from_utf8(&file[LENGTH_BYTES..end]).map_err(|e| {
        format!("the header is not UTF-8 (byte {}); is it a safetensors file?", e.valid_up_to())
    })?;
    Ok((text, end))
}

/// One tensor's claims against each other and against the bytes that follow the header.
fn check(name: &str, info: &Info, available: usize, start: usize) -> Result<Entry, String> {
    let dtype = Dtype::parse(info.dtype.clone());
    let [from, to] = info.data_offsets;
    if from > to {
        return Err(format!("has offsets that run backward, {from} to {to}; save the checkpoint again"));
    }
    if to > available as u64 {
        return Err(format!(
            "ends at byte {to} of the data but only {available} are there; download the file again"
        ));
    }
    if info.shape.len() > MAX_AXES {
        return Err(format!("has {} axes, at most {MAX_AXES} are read", info.shape.len()));
    }
    if let Some(bits) = dtype.bits() {
        let expected = byte_count(&info.shape, bits).ok_or_else(|| too_large(&info.shape))?;
        if expected != to - from {
            let (shape, kind, stored) = (&info.shape, dtype.name(), to - from);
            return Err(format!(
                "of shape {shape:?} and type {kind} needs {expected} bytes, its offsets give {stored}"
            ));
        }
    }
    let shape: Option<Vec<usize>> = info.shape.iter().map(|&n| usize::try_from(n).ok()).collect();
    let shape = shape.ok_or_else(|| too_large(&info.shape))?;
    // Both ends are at most `available`, so they fit, and adding `start` stays within the file's length.
    let bytes = start + from as usize..start + to as usize;
    Ok(Entry { name: name.to_owned(), dtype, shape, bytes })
}

fn byte_count(shape: &[u64], bits: usize) -> Option<u64> {
    // Zero axes are counted last, so that a lie such as [2^63, 2^63, 0] is refused rather than believed.
    let product = |acc: u64, &n: &u64| acc.checked_mul(n.max(1));
    let elements = shape.iter().try_fold(1u64, product)?;
    let bits = elements.checked_mul(bits as u64)?;
    let empty = shape.contains(&0);
    if empty { Some(0) } else { bits.is_multiple_of(8).then_some(bits / 8) }
}

fn too_large(shape: &[u64]) -> String {
    format!("has shape {shape:?}, which no memory can hold; the header is damaged")
}

/// The format wants every byte to belong to exactly one tensor.
fn check_layout(entries: &[Entry], start: usize, end: usize) -> Result<(), String> {
    let mut reached = start;
    let mut previous = "";
    for entry in entries {
        if entry.bytes.start < reached {
            let name = &entry.name;
            return Err(format!("tensors '{previous}' and '{name}' overlap; save the checkpoint again"));
        }
        if entry.bytes.start > reached {
            let gap = entry.bytes.start - reached;
            return Err(format!(
                "{gap} bytes before tensor '{}' belong to no tensor; download it again",
                entry.name
            ));
        }
        reached = entry.bytes.end;
        previous = &entry.name;
    }
    if reached != end {
        return Err(format!("{} bytes at the end belong to no tensor; download it again", end - reached));
    }
    Ok(())
}

#[derive(Deserialize)]
struct Info {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: [u64; 2],
}

/// The header's map with duplicate names kept, which a hash map would silently drop.
struct Raw(Vec<(String, Info)>);

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map from tensor names to their type, shape and offsets")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
        let mut listed = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            if name == "__metadata__" {
                map.next_value::<IgnoredAny>()?;
            } else {
                listed.push((name, map.next_value()?));
            }
        }
        Ok(Raw(listed))
    }
}
