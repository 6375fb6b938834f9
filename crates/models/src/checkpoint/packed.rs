//! Weights of a few bits each, for models that must be small. Our own convention over safetensors:
//!
//! A matrix NAME \[R, C\] is stored as `NAME.qB` (U8, \[R, C·B/8\], B from 2 to 8) and `NAME.scale` (F16, \[R, G\], G dividing C).
//! Eight codes of a row lie in B bytes, the lowest bits first. A weight is (code − (2ᴮ − 1)/2) · scale, with one scale for
//! every C/G neighbours of a row.

use super::header::{Dtype, Entry};
use super::values::Buffer;
use half::f16;
use memmap2::MmapMut;
use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::Range;
use std::sync::Mutex;

/// How a tensor is packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Packed {
    bits: usize,
    pub(super) scale: Entry,
}

/// Turns the entries of one file that belong together into one with its logical name and shape.
pub(super) fn pair(entries: Vec<Entry>) -> Result<Vec<(Entry, Option<Packed>)>, String> {
    let stems: HashSet<&str> = entries.iter().filter_map(stem_of).map(|(stem, _)| stem).collect();
    let scale_of = |entry: &Entry| {
        entry.name.strip_suffix(".scale").filter(|stem| stems.contains(stem)).map(str::to_owned)
    };
    let scales: HashMap<String, &Entry> =
        entries.iter().filter_map(|entry| Some((scale_of(entry)?, entry))).collect();
    let mut paired = Vec::with_capacity(entries.len());
    for entry in &entries {
        match stem_of(entry) {
            Some((stem, bits)) => paired.push(combine(entry, stem, bits, scales.get(stem).copied())?),
            None if scale_of(entry).is_some() => {}
            None => paired.push((entry.clone(), None)),
        }
    }
    Ok(paired)
}

/// The logical name and the number of bits of a packed tensor.
fn stem_of(entry: &Entry) -> Option<(&str, usize)> {
    let (stem, suffix) = entry.name.rsplit_once(".q")?;
    let bits = suffix.parse().ok().filter(|bits| (2..=8).contains(bits))?;
    (entry.dtype.name() == "U8").then_some((stem, bits))
}

fn combine(
    entry: &Entry,
    stem: &str,
    bits: usize,
    scale: Option<&Entry>,
) -> Result<(Entry, Option<Packed>), String> {
    let wrong = |what: &str| Err(format!("tensor '{}' is packed but {what}", entry.name));
    let Some(scale) = scale else { return wrong("has no scale beside it") };
    let (&[rows, bytes], &[scale_rows, groups]) = (&entry.shape[..], &scale.shape[..]) else {
        return wrong("it or its scale is no matrix");
    };
    let cols = bytes * 8 / bits;
    if bytes % bits != 0 || rows != scale_rows || groups == 0 || !cols.is_multiple_of(groups) {
        return wrong("its shape does not fit its scale's");
    }
    if scale.dtype != Dtype::F16 {
        return wrong("its scale is not F16");
    }
    let logical = Entry { name: stem.to_owned(), shape: vec![rows, cols], ..entry.clone() };
    Ok((logical, Some(Packed { bits, scale: scale.clone() })))
}

/// Unpacks tensors on all cores into one buffer; where each lies in it.
///
/// One map of large pages: sixteen thousand page faults would take longer than the arithmetic.
pub(super) fn unpack(file: &[u8], packed: &[(&Entry, &Packed)]) -> io::Result<(Buffer, Vec<Range<usize>>)> {
    let mut ranges = Vec::with_capacity(packed.len());
    let mut end = 0;
    for (entry, _) in packed {
        let start = end;
        end += entry.shape.iter().product::<usize>() * size_of::<f32>();
        ranges.push(start..end);
    }
    let mut map = MmapMut::map_anon(end.max(1))?;
    // A system that has no large pages to give does it with small ones.
    #[cfg(target_os = "linux")]
    let _ = map.advise(memmap2::Advice::HugePage);
    let mut rest: &mut [f32] = bytemuck::cast_slice_mut(&mut map[..end]);
    let mut tasks = Vec::with_capacity(packed.len());
    for (&(entry, packed), range) in packed.iter().zip(&ranges) {
        let (values, after) = rest.split_at_mut(range.len() / size_of::<f32>());
        rest = after;
        tasks.push((values, entry, packed));
    }
    // The largest last, since they are taken from the end.
    tasks.sort_by_key(|(values, ..)| values.len());
    let tasks = Mutex::new(tasks);
    let work = || {
        while let Some((values, entry, packed)) = tasks.lock().ok().and_then(|mut tasks| tasks.pop()) {
            packed.fill(file, entry, values);
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
        (1..threads).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    Ok((Buffer::Mapped(map.make_read_only()?), ranges))
}

impl Packed {
    /// Writes the weights.
    fn fill(&self, file: &[u8], entry: &Entry, values: &mut [f32]) {
        let bytes = |range: &Range<usize>| file.get(range.clone()).unwrap_or_default();
        let scales: Vec<f32> = bytes(&self.scale.bytes)
            .as_chunks::<2>()
            .0
            .iter()
            .map(|half| f16::from_le_bytes(*half).to_f32())
            .collect();
        let middle = f32::from(u8::MAX >> (8 - self.bits)) / 2.0;
        let mask = (1u64 << self.bits) - 1;
        for (eight, bytes) in values.chunks_exact_mut(8).zip(bytes(&entry.bytes).chunks_exact(self.bits)) {
            let mut word = [0; 8];
            word[..self.bits].copy_from_slice(bytes);
            let word = u64::from_le_bytes(word);
            for (i, value) in eight.iter_mut().enumerate() {
                *value = ((word >> (i * self.bits)) & mask) as f32 - middle;
            }
        }
        let group = values.len() / scales.len().max(1);
        for (values, scale) in values.chunks_exact_mut(group.max(1)).zip(&scales) {
            values.iter_mut().for_each(|value| *value *= scale);
        }
    }
}
