//! What models answered, in a file that outlives the process: no row is asked twice, by a later run either.
//!
//! After a first line that says what it is, the file holds one record an answer: 16 bytes of key, the number of axes, each
//! axis, the values, and a checksum, all little-endian. A record that was cut off by a kill is dropped.

use super::Stop;
use crate::{Advance, CacheStore, Driver, Key, Logits, Model, PredictionCache, Spent};
use anyhow::{Context, Result, bail};
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const HEAD: &[u8] = b"exegete.answers/1\n";
/// The most axes and values of a record; anything beyond is no answer that was kept.
const MOST: u32 = 1 << 16;
/// Room for answers: as many as a driver remembers by itself, many times over.
const MEMORY_BYTES: usize = 1 << 29;

/// The file, open at its end.
struct Answers {
    file: File,
    path: PathBuf,
}

/// Drivers for many texts: one for all of them where answers are kept in a file, else one a text, so that what a text cost does
/// not depend on the texts before it.
pub(crate) struct Drivers {
    memory_bytes: usize,
    stop: Stop,
    watch: Option<Watch>,
    /// The one for all.
    kept: Option<Driver>,
}

/// Is told how far a run has come.
pub(crate) type Watch = Arc<dyn Fn(Advance) + Send + Sync>;

impl Drivers {
    /// Answers are kept where the user says so, and beside an unfinished run over a model that may be slow or dear to ask.
    pub(crate) fn new(
        memory_bytes: usize,
        cache: Option<&Path>,
        unfinished: Option<&Path>,
        model: &dyn Model,
        stop: &Stop,
    ) -> Result<Self> {
        let mut kept = cache.or(unfinished.filter(|_| model.open().is_none()));
        let mut kept = kept.take().map(|path| driver(memory_bytes, path)).transpose()?;
        kept.iter_mut().for_each(|driver| driver.stop = stop.clone());
        Ok(Self { memory_bytes, stop: stop.clone(), watch: None, kept })
    }

    /// Whether answers are kept in a file, by one driver for all texts.
    pub(crate) fn keep_answers(&self) -> bool {
        self.kept.is_some()
    }

    /// The same, telling `watch` how far the work has come.
    pub(crate) fn watched(self, watch: Option<Watch>) -> Self {
        let watched = |driver: Driver| match watch.clone() {
            Some(watch) => driver.watched(move |advance| watch(advance)),
            None => driver,
        };
        Self { kept: self.kept.map(watched), watch, ..self }
    }

    /// Does something with a driver; what it gives and what that cost.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&Driver) -> T) -> (T, Spent) {
        if let Some(driver) = &self.kept {
            let before = driver.spent();
            return (work(driver), driver.spent().since(before));
        }
        let mut driver = Driver::new(self.memory_bytes);
        driver.stop = self.stop.clone();
        if let Some(watch) = self.watch.clone() {
            driver = driver.watched(move |advance| watch(advance));
        }
        (work(&driver), driver.spent())
    }
}

/// Whether a file of answers has any; none where there is no file, or one of another kind.
pub fn holds_answers(path: &Path) -> Option<bool> {
    let mut start = Vec::new();
    File::open(path).ok()?.take(HEAD.len() as u64 + 1).read_to_end(&mut start).ok()?;
    start.starts_with(HEAD).then_some(start.len() > HEAD.len())
}

/// A driver that knows what a file of answers holds and adds to it.
fn driver(memory_bytes: usize, path: &Path) -> Result<Driver> {
    let cannot = || format!("{}: cannot be used for answers", path.display());
    let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    let mut file = options.with_context(cannot)?;
    if file.try_lock().is_err() {
        bail!("{}: another run is writing it; wait for it or choose another file", path.display());
    }
    let mut memory = PredictionCache::new(MEMORY_BYTES);
    let end = recall(&file, &mut memory).with_context(cannot)?;
    file.set_len(end).with_context(cannot)?;
    file.seek(SeekFrom::End(0)).with_context(cannot)?;
    if end == 0 {
        file.write_all(HEAD).with_context(cannot)?;
    }
    let store = Answers { file, path: path.to_owned() };
    Ok(Driver::new(memory_bytes).remembering(memory.kept_by(Box::new(store))))
}

impl CacheStore for Answers {
    fn keep(&mut self, answers: &[(Key, &Logits)]) -> crate::Result<()> {
        let records: Vec<u8> = answers.iter().flat_map(|(key, logits)| record(*key, logits)).collect();
        let written = self.file.write_all(&records);
        written.map_err(|error| {
            crate::Error::Input(format!("{}: cannot be written: {error}", self.path.display()))
        })
    }
}

/// Reads whole records; where the last of them ends.
fn recall(file: &File, memory: &mut PredictionCache) -> Result<u64> {
    let mut reader = BufReader::new(file);
    let mut head = Vec::new();
    reader.by_ref().take(HEAD.len() as u64).read_to_end(&mut head)?;
    if head.is_empty() {
        return Ok(0);
    }
    if head != HEAD {
        bail!("it holds something else");
    }
    let mut end = HEAD.len() as u64;
    while let Some((key, logits, bytes)) = next(&mut reader) {
        memory.recall(key, logits);
        end += bytes;
    }
    Ok(end)
}

fn record(key: Key, logits: &Logits) -> Vec<u8> {
    let mut bytes = key.to_le_bytes().to_vec();
    bytes.extend((logits.shape.len() as u32).to_le_bytes());
    logits.shape.iter().for_each(|&axis| bytes.extend((axis as u32).to_le_bytes()));
    logits.data.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
    let sum = checksum(&bytes);
    bytes.extend(sum.to_le_bytes());
    bytes
}

/// The next record and its length; none at the end and where the rest is broken.
fn next(reader: &mut impl Read) -> Option<(Key, Logits, u64)> {
    let mut bytes = Vec::new();
    let mut take = |bytes: &mut Vec<u8>, count: usize| -> Option<usize> {
        let from = bytes.len();
        bytes.resize(from + count, 0);
        reader.read_exact(&mut bytes[from..]).ok().map(|()| from)
    };
    take(&mut bytes, 16)?;
    let key = Key::from_le_bytes(bytes[..16].try_into().ok()?);
    let word = |bytes: &[u8], at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let at = take(&mut bytes, 4)?;
    let axes = word(&bytes, at).filter(|&axes| axes <= 4)?;
    let mut shape = Vec::new();
    for _ in 0..axes {
        let at = take(&mut bytes, 4)?;
        shape.push(word(&bytes, at)? as usize);
    }
    let count = shape.iter().try_fold(1usize, |product, axis| product.checked_mul(*axis))?;
    let count = Some(count).filter(|&count| count <= MOST as usize)?;
    let at = take(&mut bytes, 8 * count)?;
    let value = |chunk: &[u8]| f64::from_le_bytes(chunk.try_into().unwrap_or_default());
    let data = bytes[at..].chunks_exact(8).map(value).collect();
    let sum = checksum(&bytes);
    let at = take(&mut bytes, 8)?;
    let kept = u64::from_le_bytes(bytes[at..].try_into().ok()?);
    (sum == kept).then_some((key, Logits::new(shape, data), bytes.len() as u64))
}

/// The FNV-1a hash of some bytes.
fn checksum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logits(value: f64) -> Logits {
        Logits::new(vec![2], vec![value, -value])
    }

    fn read(bytes: &[u8]) -> Vec<(Key, Logits, u64)> {
        let mut reader = bytes;
        std::iter::from_fn(|| next(&mut reader)).collect()
    }

    #[test]
    fn whole_records_come_back_and_broken_ones_do_not() {
        let bytes: Vec<u8> = (0..3).flat_map(|i| record(i, &logits(i as f64))).collect();
        let one = bytes.len() / 3;
        let all = read(&bytes);
        assert_eq!(all.len(), 3);
        assert_eq!((all[2].0, &all[2].1, all[2].2), (2, &logits(2.0), one as u64));
        for cut in 0..one {
            assert_eq!(read(&bytes[..2 * one + cut]).len(), 2, "cut after {cut} bytes of the third");
        }
        for at in one..2 * one {
            let mut broken = bytes.clone();
            broken[at] ^= 0x40;
            assert_eq!(read(&broken).len(), 1, "byte {at} is wrong");
        }
        let huge = [&[0u8; 16][..], &2u32.to_le_bytes(), &[0xff; 8]].concat();
        assert!(read(&huge).is_empty());
    }

    #[test]
    fn a_file_is_taken_up_where_it_was_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answers");
        drop(driver(1 << 20, &path).unwrap());
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        let whole = record(7, &logits(1.0));
        file.write_all(&whole).unwrap();
        file.write_all(&whole[..10]).unwrap();
        drop(file);
        drop(driver(1 << 20, &path).unwrap());
        assert_eq!(std::fs::metadata(&path).unwrap().len(), (HEAD.len() + whole.len()) as u64);
        std::fs::write(&path, "a diary").unwrap();
        assert!(driver(1 << 20, &path).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a diary");
    }
}
