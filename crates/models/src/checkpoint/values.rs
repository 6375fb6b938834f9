//! The elements of one tensor as f32: a slice of the map where the file allows it, a converted copy otherwise.

use super::header::{Dtype, Entry};
use super::mapped::Mapped;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use std::ops::Range;
use std::sync::Arc;

/// The bytes of a file, or of what was unpacked from one.
#[derive(Debug)]
pub(super) enum Buffer {
    Mapped(Mapped),
    /// Memory of large pages, without a file.
    Unpacked(memmap2::Mmap),
    Owned(Vec<u8>),
    Program(&'static [u8]),
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Mapped(mapped) => &mapped.map,
            Self::Unpacked(map) => map,
            Self::Owned(bytes) => bytes,
            Self::Program(bytes) => bytes,
        }
    }
}

/// The elements of one tensor in row-major order. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Values(StoredValues);

#[derive(Debug, Clone)]
enum StoredValues {
    /// Only ever made of a range that can be viewed as f32.
    View {
        buffer: Arc<Buffer>,
        bytes: Range<usize>,
    },
    Copy(Arc<Vec<f32>>),
}

impl AsRef<[f32]> for Values {
    fn as_ref(&self) -> &[f32] {
        match &self.0 {
            StoredValues::View { buffer, bytes } => view((**buffer).as_ref(), bytes).unwrap_or_default(),
            StoredValues::Copy(values) => values,
        }
    }
}

impl Values {
    /// Whether this is a slice of the memory map rather than a copy.
    pub fn is_mapped(&self) -> bool {
        matches!(self.0, StoredValues::View { .. })
    }

    /// Numbers of this machine's own form; none where the range cannot be viewed as such.
    pub(super) fn view(buffer: &Arc<Buffer>, bytes: Range<usize>) -> Option<Self> {
        view((**buffer).as_ref(), &bytes)?;
        Some(Self(StoredValues::View { buffer: Arc::clone(buffer), bytes }))
    }

    /// None where the type is no floating point that we read.
    pub(super) fn read(buffer: &Arc<Buffer>, entry: &Entry) -> Option<Self> {
        let file = (**buffer).as_ref();
        let bytes = file.get(entry.bytes.clone())?;
        let copy = match entry.dtype {
            // The file is little-endian, and its tensors are aligned only if the header was padded.
            Dtype::F32 if cfg!(target_endian = "little") && view(file, &entry.bytes).is_some() => {
                return Some(Self(StoredValues::View {
                    buffer: Arc::clone(buffer),
                    bytes: entry.bytes.clone(),
                }));
            }
            Dtype::F32 => bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect(),
            Dtype::F64 => bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b) as f32).collect(),
            Dtype::F16 => widen(bytes, f16::from_le_bytes, |halves, out| halves.convert_to_f32_slice(out)),
            Dtype::Bf16 => widen(bytes, bf16::from_le_bytes, |halves, out| halves.convert_to_f32_slice(out)),
            Dtype::Other(_) => return None,
        };
        Some(Self(StoredValues::Copy(Arc::new(copy))))
    }
}

fn view<'a>(file: &'a [u8], bytes: &Range<usize>) -> Option<&'a [f32]> {
    bytemuck::try_cast_slice(file.get(bytes.clone())?).ok()
}

/// Half-width elements through a small block, since the `half` crate converts aligned slices with SIMD.
fn widen<H: Copy + Default>(
    bytes: &[u8],
    load: impl Fn([u8; 2]) -> H,
    convert: impl Fn(&[H], &mut [f32]),
) -> Vec<f32> {
    const BLOCK: usize = 1024;
    let stored = bytes.as_chunks::<2>().0;
    let mut halves = [H::default(); BLOCK];
    let mut values = vec![0.0; stored.len()];
    for (from, into) in stored.chunks(BLOCK).zip(values.chunks_mut(BLOCK)) {
        let halves = &mut halves[..from.len()];
        for (half, pair) in halves.iter_mut().zip(from) {
            *half = load(*pair);
        }
        convert(halves, into);
    }
    values
}
