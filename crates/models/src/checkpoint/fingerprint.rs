//! A short name for a set of weights, so that reports and caches can tell two models apart.

use super::Checkpoint;
use exegete_core::Array;
use std::ops::Range;

/// How much of each tensor is hashed, as pieces spread evenly over it.
const PIECES: usize = 16;
const PIECE_BYTES: usize = 64;

impl Checkpoint {
    /// A stable hash, in hexadecimal, of the config and of every tensor's name, type, shape and a sample of its bytes.
    ///
    /// It is a *sample*: at most 1 KiB a tensor, in 64-byte pieces spread from the first byte to the last. Training moves every
    /// weight, so two models practically never collide, but it is no checksum: a change between the pieces goes unseen.
    pub fn fingerprint(&self, config: &[u8]) -> String {
        let mut hash = Fnv::default();
        hash.field(config);
        for (name, tensor) in &self.tensors {
            hash.field(name.as_bytes());
            hash.field(tensor.entry.dtype.name().as_bytes());
            hash.field(format!("{:?}", tensor.entry.shape).as_bytes());
            let file = (*self.files[tensor.file].buffer).as_ref();
            let plain = |hash: &mut Fnv, bytes: &[u8]| {
                sample(bytes.len()).for_each(|piece| hash.field(&bytes[piece]));
            };
            let Some(packed) = &tensor.packed else {
                plain(&mut hash, file.get(tensor.entry.bytes.clone()).unwrap_or_default());
                continue;
            };
            let codes = |piece| packed.in_one_piece(file, &tensor.entry, piece);
            sample(packed.bytes(&tensor.entry)).for_each(|piece| hash.field(&codes(piece)));
            plain(&mut hash, &packed.scales(file));
        }
        hash.hex()
    }
}

/// The fingerprint of a model whose parameters were partly replaced, whatever the order they are given in.
///
/// Here every value counts: a view may differ from its model by one small step in one weight, and must not be taken for it.
pub(crate) fn extend_fingerprint(fingerprint: &str, overrides: &[(String, Array)]) -> String {
    let mut sorted: Vec<&(String, Array)> = overrides.iter().collect();
    sorted.sort_by_key(|(name, _)| name);
    let mut hash = Fnv::default();
    hash.field(fingerprint.as_bytes());
    for (name, array) in sorted {
        hash.field(name.as_bytes());
        hash.field(format!("{:?}", array.shape).as_bytes());
        hash.values(&array.data);
    }
    hash.hex()
}

/// The pieces of so many bytes that are looked at.
fn sample(bytes: usize) -> impl Iterator<Item = Range<usize>> {
    let whole = bytes <= PIECES * PIECE_BYTES;
    let (pieces, length) = if whole { (1, bytes) } else { (PIECES, PIECE_BYTES) };
    let room = bytes - length;
    (0..pieces).map(move |piece| {
        // u128, because the product overflows 32-bit sizes; the last piece ends with the tensor.
        let start = (room as u128 * piece as u128 / (pieces.max(2) - 1) as u128) as usize;
        start..start + length
    })
}

/// FNV-1a with 128 bits: a dozen lines, no dependency, the same on every machine.
pub(crate) struct Fnv(u128);

impl Default for Fnv {
    fn default() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Fnv {
    /// Hashes the length too, so that moving a byte from one field to the next changes the result.
    pub(crate) fn field(&mut self, bytes: &[u8]) {
        let length = (bytes.len() as u64).to_le_bytes();
        length.iter().chain(bytes).for_each(|&byte| self.mix(byte.into()));
    }

    /// Whole words at a time, four times as fast as bytes.
    fn values(&mut self, values: &[f32]) {
        self.mix(values.len() as u64);
        values.iter().for_each(|value| self.mix(value.to_bits().into()));
    }

    fn mix(&mut self, word: u64) {
        self.0 = (self.0 ^ u128::from(word)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }

    pub(crate) fn hex(&self) -> String {
        format!("{:032x}", self.0)
    }
}
