//! What models have answered, so that no row is run twice.

use crate::{Change, Edit, Logits, Result, Row};
use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Which model and row an answer is of: 128 bits, so that two rows never share one.
pub type Key = u128;

/// Takes answers as they come, to keep them beyond the process.
pub trait CacheStore: Send {
    /// Keeps new answers; once this returns, a kill does not lose them.
    fn keep(&mut self, answers: &[(Key, &Logits)]) -> Result<()>;
}

/// Answers of models by row, bounded in bytes: when half of the room is full of new answers, those that were not asked for
/// since the last time are dropped.
#[derive(Default)]
pub struct PredictionCache {
    bytes: usize,
    young: HashMap<Key, Answer>,
    old: HashMap<Key, Answer>,
    young_bytes: usize,
    store: Option<Box<dyn CacheStore>>,
}

/// An output larger than this is not remembered: the vocabulary at every token of a masked language model.
const LARGEST: usize = 1 << 16;
/// What an entry costs beside its numbers.
const ENTRY_BYTES: usize = 96;

impl PredictionCache {
    /// Room for this many bytes.
    pub fn new(bytes: usize) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// The same, handing every new answer to a store.
    #[must_use]
    pub fn kept_by(mut self, store: Box<dyn CacheStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// An output from an earlier time.
    pub fn recall(&mut self, key: Key, output: Logits) {
        if is_small(&output) {
            self.insert(key, Answer::Output(output));
        }
    }

    pub(super) fn insert(&mut self, key: Key, answer: Answer) {
        if self.bytes == 0 {
            return;
        }
        let bytes = answer.bytes();
        if self.young_bytes + bytes > self.bytes / 2 {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        if self.young.insert(key, answer).is_none() {
            self.young_bytes += bytes;
        }
    }

    /// The output of a row, where it is known.
    pub(super) fn output(&mut self, key: Key) -> Option<Logits> {
        match self.get(key)? {
            Answer::Output(output) => Some(output),
            Answer::Read(..) => None,
        }
    }

    /// What a readout read of a row, where it is known.
    pub(super) fn read(&mut self, key: Key) -> Option<Arc<dyn Any + Send + Sync>> {
        match self.get(key)? {
            Answer::Read(value, _) => Some(value),
            Answer::Output(_) => None,
        }
    }

    fn get(&mut self, key: Key) -> Option<Answer> {
        if let Some(answer) = self.young.get(&key) {
            return Some(answer.clone());
        }
        let answer = self.old.remove(&key)?;
        self.insert(key, answer.clone());
        Some(answer)
    }

    /// Keeps new answers, and hands them to the store where there is one.
    pub(super) fn add(&mut self, answers: &[(Key, &Logits)]) -> Result<()> {
        if let Some(store) = &mut self.store {
            store.keep(answers)?;
        }
        answers.iter().for_each(|(key, logits)| self.recall(*key, (*logits).clone()));
        Ok(())
    }
}

/// What is remembered of a row.
#[derive(Clone)]
pub(super) enum Answer {
    /// Its output, from which much can be read.
    Output(Logits),
    /// What one readout read, with its size in bytes.
    Read(Arc<dyn Any + Send + Sync>, usize),
}

impl Answer {
    fn bytes(&self) -> usize {
        match self {
            Self::Output(output) => bytes_of(output),
            Self::Read(_, bytes) => ENTRY_BYTES + bytes,
        }
    }
}

/// Whether an output may be remembered.
pub(super) fn is_small(output: &Logits) -> bool {
    output.places.is_none() && bytes_of(output) <= LARGEST
}

fn bytes_of(logits: &Logits) -> usize {
    ENTRY_BYTES + 8 * (logits.data.len() + logits.shape.len())
}

/// What tells the answers of one readout from those of others.
pub(super) fn named(readout: &str) -> Key {
    let mut hasher = Wide::default();
    readout.hash(&mut hasher);
    hasher.key()
}

impl fmt::Debug for PredictionCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answers = self.young.len() + self.old.len();
        f.debug_struct("PredictionCache").field("answers", &answers).field("bytes", &self.bytes).finish()
    }
}

/// What makes a row's answer its own. None where an edit carries numbers: hashing these would cost more than it saves.
pub(super) fn key(fingerprint: &str, plain: bool, row: &Row) -> Option<Key> {
    if row.start.is_some() {
        return None;
    }
    let mut hasher = Wide::default();
    fingerprint.hash(&mut hasher);
    if plain {
        let fields = row.encoded.written();
        fields.len().hash(&mut hasher);
        fields.iter().for_each(|field| field.text.hash(&mut hasher));
    } else {
        row.encoded.tokens.iter().for_each(|token| (token.id, token.type_id).hash(&mut hasher));
        let imposed = row.encoded.tokens.iter().filter_map(|token| token.weight);
        imposed.for_each(|weight| weight.to_bits().hash(&mut hasher));
    }
    for Edit { site, at, change } in &row.edits {
        let Change::Zero = change else { return None };
        (site.to_string(), format!("{at:?}")).hash(&mut hasher);
    }
    Some(hasher.key())
}

/// Two multiply-and-fold streams over the same bytes (after FNV, folded by a 128-bit product). The same on every machine,
/// as answers may be kept on disk.
struct Wide(u64, u64);

impl Default for Wide {
    fn default() -> Self {
        Self(0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f)
    }
}

impl Wide {
    fn key(&self) -> Key {
        let [a, b] =
            [folded(self.0 ^ self.1.rotate_left(32), MULTIPLIERS[0]), folded(self.1, MULTIPLIERS[1])];
        (u128::from(a) << 64) | u128::from(b)
    }
}

const MULTIPLIERS: [u64; 2] = [0xff51_afd7_ed55_8ccd, 0xd6e8_feb8_6659_fd93];

fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

impl Hasher for Wide {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            let word = u64::from_le_bytes(word) ^ ((chunk.len() as u64) << 56);
            self.0 = folded(self.0 ^ word, MULTIPLIERS[0]).wrapping_add(word);
            self.1 = folded(self.1.rotate_left(23) ^ word, MULTIPLIERS[1]).wrapping_add(self.0);
        }
    }

    fn write_usize(&mut self, value: usize) {
        self.write(&(value as u64).to_le_bytes());
    }

    fn write_u32(&mut self, value: u32) {
        self.write(&value.to_le_bytes());
    }

    fn write_u8(&mut self, value: u8) {
        self.write(&[value]);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Encoded, Example, Pick, Site};

    fn logits(value: f64) -> Logits {
        Logits::new(vec![1], vec![value])
    }

    #[test]
    fn rows_that_differ_have_other_keys() {
        let words = |text: &str| Row::new(Encoded::of_words(&Example::text(text)));
        let ids = |ids: &[u32]| Row::new(Encoded::from_ids(ids));
        let zero = |tokens: &[usize]| {
            let at = vec![Pick::Only(tokens.to_vec())];
            ids(&[1, 2]).edit(Edit { site: Site::named("embed.word"), at, change: Change::Zero })
        };
        let keys = [
            key("a", true, &words("good film")),
            key("b", true, &words("good film")),
            key("a", true, &words("good  film")),
            key("a", true, &words("")),
            key("a", true, &Row::new(Encoded::of_words(&Example::pair("good", "film")))),
            key("a", false, &ids(&[1, 2])),
            key("a", false, &ids(&[2, 1])),
            key("a", false, &ids(&[1, 2, 0])),
            key("a", false, &zero(&[0])),
            key("a", false, &zero(&[1])),
        ];
        let distinct: std::collections::HashSet<Key> = keys.iter().flatten().copied().collect();
        assert_eq!(distinct.len(), keys.len(), "{keys:?}");
        assert_eq!(key("a", true, &words("good film")), keys[0]);
        let scaled = ids(&[1]).edit(Edit::whole(Site::named("embed.word"), Change::Scale(2.0)));
        assert_eq!(key("a", false, &scaled), None);
    }

    /// Kept files hold keys, so they must not change between versions unnoticed.
    #[test]
    fn keys_stay_the_same() {
        let row = Row::new(Encoded::of_words(&Example::text("good film")));
        assert_eq!(key("a", true, &row), Some(KNOWN));
    }
    const KNOWN: Key = 219_819_062_638_930_562_707_200_938_959_809_850_618;

    #[test]
    fn what_is_asked_for_outlives_what_is_not() {
        let mut memory = PredictionCache::new(20 * bytes_of(&logits(0.0)));
        for i in 0..100 {
            memory.recall(i, logits(i as f64));
            assert_eq!(memory.output(0), Some(logits(0.0)), "after {i}");
        }
        assert_eq!(memory.output(99), Some(logits(99.0)));
        assert_eq!(memory.output(50), None);
        assert!(memory.young.len() + memory.old.len() <= 20);
        let mut none = PredictionCache::default();
        none.recall(1, logits(1.0));
        assert_eq!(none.output(1), None);
    }
}
