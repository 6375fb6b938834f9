//! Weights of a few bits each, for models that must be small. Our own convention over safetensors:
//!
//! A matrix NAME \[R, C\] is stored as `NAME.qB` (U8, \[R, C·B/8\], B from 2 to 8) and `NAME.scale` (F16, \[R, G\], G dividing C).
//! Eight codes of a row lie in B bytes, the lowest bits first. A weight is (code − (2ᴮ − 1)/2) · scale, with one scale for
//! every C/G neighbours of a row.
//!
//! The L lowest bits of the codes may lie apart, in the same way, in `NAME.low` (U8, \[R, C·L/8\]); B then counts the rest. Weights
//! are few at the ends of their range and many in the middle, which shows in the high bits alone: two codes of four bits make
//! a byte that gzip writes shorter, five bits across bytes do not. For the same reason `NAME.scale` may be U8 \[2, R, G\]: the high
//! bytes of all scales, then the low ones. The fingerprint is that of codes and scales in one piece.

use super::header::{Dtype, Entry};
use super::values::Buffer;
use half::f16;
use memmap2::MmapMut;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::Range;
use std::sync::Mutex;

/// What may stand beside a tensor's codes.
const PARTS: [&str; 2] = ["scale", "low"];

/// How a tensor is packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Packed {
    bits: usize,
    low: Option<Low>,
    scale: Entry,
}

/// The lowest bits of every code, where they lie apart.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Low {
    bits: usize,
    entry: Entry,
}

/// Turns the entries of one file that belong together into one with its logical name and shape.
pub(super) fn pair(entries: Vec<Entry>) -> Result<Vec<(Entry, Option<Packed>)>, String> {
    let stems: HashSet<&str> = entries.iter().filter_map(stem_of).map(|(stem, _)| stem).collect();
    let is_part = |entry: &&Entry| {
        entry.name.rsplit_once('.').is_some_and(|(stem, end)| PARTS.contains(&end) && stems.contains(stem))
    };
    let parts: HashMap<&str, &Entry> =
        entries.iter().filter(is_part).map(|entry| (entry.name.as_str(), entry)).collect();
    let mut paired = Vec::with_capacity(entries.len());
    for entry in &entries {
        match stem_of(entry) {
            Some((stem, bits)) => paired.push(combine(entry, stem, bits, &parts)?),
            None if is_part(&entry) => {}
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
    parts: &HashMap<&str, &Entry>,
) -> Result<(Entry, Option<Packed>), String> {
    let wrong = |what: &str| format!("tensor '{}' is packed but {what}", entry.name);
    let part = |end: &str| parts.get(format!("{stem}.{end}").as_str()).copied();
    let Some(scale) = part("scale") else { return Err(wrong("has no scale beside it")) };
    let halves = matches!(scale.shape[..], [2, _, _]) && scale.dtype.name() == "U8";
    let scale_shape = &scale.shape[usize::from(halves)..];
    let (&[rows, bytes], &[scale_rows, groups]) = (&entry.shape[..], scale_shape) else {
        return Err(wrong("it or its scale is no matrix"));
    };
    let cols = bytes * 8 / bits;
    if bytes % bits != 0 || rows != scale_rows || groups == 0 || !cols.is_multiple_of(groups) {
        return Err(wrong("its shape does not fit its scale's"));
    }
    if scale.dtype != Dtype::F16 && !halves {
        return Err(wrong("its scale is not F16"));
    }
    let low =
        |entry| Low::new(entry, [rows, cols], 8 - bits).ok_or_else(|| wrong("its low bits do not fit it"));
    let low = part("low").map(low).transpose()?;
    let logical = Entry { name: stem.to_owned(), shape: vec![rows, cols], ..entry.clone() };
    Ok((logical, Some(Packed { bits, low, scale: scale.clone() })))
}

impl Low {
    /// None where they are not those of such a matrix.
    fn new(entry: &Entry, [rows, cols]: [usize; 2], most: usize) -> Option<Self> {
        let &[low_rows, bytes] = &entry.shape[..] else { return None };
        let bits = bytes.checked_mul(8)?.checked_div(cols)?;
        let fits = low_rows == rows && bits * cols == bytes * 8 && (1..=most).contains(&bits);
        (fits && entry.dtype.name() == "U8").then(|| Self { bits, entry: entry.clone() })
    }
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
    Ok((Buffer::Unpacked(map.make_read_only()?), ranges))
}

impl Packed {
    /// Writes the unpacked weights of one tensor into their place.
    fn fill(&self, file: &[u8], entry: &Entry, values: &mut [f32]) {
        let scales = self.scales(file);
        let scales: Vec<f32> =
            scales.as_chunks::<2>().0.iter().map(|half| f16::from_le_bytes(*half).to_f32()).collect();
        let codes = self.codes(file, entry);
        let middle = f32::from(u8::MAX >> (8 - self.all_bits())) / 2.0;
        for (place, eight) in values.chunks_exact_mut(8).enumerate() {
            for (value, code) in eight.iter_mut().zip(codes.eight(place)) {
                *value = f32::from(code) - middle;
            }
        }
        let group = values.len() / scales.len().max(1);
        for (values, scale) in values.chunks_exact_mut(group.max(1)).zip(&scales) {
            values.iter_mut().for_each(|value| *value *= scale);
        }
    }

    fn all_bits(&self) -> usize {
        self.bits + self.low.as_ref().map_or(0, |low| low.bits)
    }

    fn codes<'a>(&self, file: &'a [u8], entry: &Entry) -> Codes<'a> {
        let low = self.low.as_ref().map_or((&[][..], 0), |low| (bytes(file, &low.entry), low.bits));
        Codes { high: (bytes(file, entry), self.bits), low }
    }

    /// The bytes of all scales as F16, whether they lie so or not.
    pub(super) fn scales<'a>(&self, file: &'a [u8]) -> Cow<'a, [u8]> {
        let bytes = bytes(file, &self.scale);
        if self.scale.dtype == Dtype::F16 {
            return Cow::Borrowed(bytes);
        }
        let (high, low) = bytes.split_at(bytes.len() / 2);
        Cow::Owned(low.iter().zip(high).flat_map(|(&low, &high)| [low, high]).collect())
    }

    /// How many bytes all codes take.
    pub(super) fn bytes(&self, entry: &Entry) -> usize {
        entry.bytes.len() + self.low.as_ref().map_or(0, |low| low.entry.bytes.len())
    }

    /// A range of these bytes where each code is in one piece, whether it is here or not.
    pub(super) fn in_one_piece<'a>(
        &self,
        file: &'a [u8],
        entry: &Entry,
        range: Range<usize>,
    ) -> Cow<'a, [u8]> {
        if self.low.is_none() {
            return Cow::Borrowed(bytes(file, entry).get(range).unwrap_or_default());
        }
        let (codes, bits) = (self.codes(file, entry), self.all_bits());
        let joined = |place| {
            let word = codes.eight(place).iter().rev().fold(0, |word, code| word << bits | u64::from(*code));
            word.to_le_bytes().into_iter().take(bits)
        };
        let places = range.start / bits..range.end.div_ceil(bits);
        Cow::Owned(places.flat_map(joined).skip(range.start % bits).take(range.len()).collect())
    }
}

fn bytes<'a>(file: &'a [u8], entry: &Entry) -> &'a [u8] {
    file.get(entry.bytes.clone()).unwrap_or_default()
}

/// Bytes and bits a code, of its high and its low part.
struct Codes<'a> {
    high: (&'a [u8], usize),
    low: (&'a [u8], usize),
}

impl Codes<'_> {
    /// Unpacks eight neighbours at once.
    fn eight(&self, place: usize) -> [u8; 8] {
        let ((_, above), (_, below)) = (self.high, self.low);
        let (mut high, mut low) = (word(self.high, place), word(self.low, place));
        std::array::from_fn(|_| {
            let code = (high & ((1 << above) - 1)) << below | low & ((1 << below) - 1);
            (high, low) = (high >> above, low >> below);
            code as u8
        })
    }
}

/// Eight codes of so many bits, the first lowest; what lies above them is not theirs.
fn word((bytes, bits): (&[u8], usize), place: usize) -> u64 {
    let rest = bytes.get(place * bits..).unwrap_or_default();
    if let Some((word, _)) = rest.split_first_chunk() {
        return u64::from_le_bytes(*word);
    }
    let mut word = [0; 8];
    word[..rest.len()].copy_from_slice(rest);
    u64::from_le_bytes(word)
}
