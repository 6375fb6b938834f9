use crate::segments::Segments;
use std::sync::Arc;

/// The geometry of multi-head attention over packed sequences.
///
/// It cannot be changed but for the scale: where each map lies is computed once, and threads write there unchecked.
///
/// ```compile_fail,E0616
/// use exegete_engine::{Heads, Segments};
/// let mut heads = Heads::new(2, 3, Segments::new([4, 4]), Segments::new([4, 4]));
/// heads.queries = Segments::new([8, 4]); // The maps of the first sequence would reach into those of the second.
/// ```
#[derive(Debug, Clone)]
pub struct Heads {
    count: usize,
    width: usize,
    queries: Segments,
    keys: Segments,
    /// The factor on q·kᵀ.
    pub scale: f64,
    offsets: Arc<[usize]>,
}

impl Heads {
    /// Heads over these sequences, scaled by 1/√D; panics where the maps have more elements than can be counted.
    pub fn new(count: usize, width: usize, queries: Segments, keys: Segments) -> Self {
        assert_eq!(queries.count(), keys.count(), "queries and keys of different batches");
        assert!(count.checked_mul(width).is_some(), "heads of more columns than can be counted");
        let size = |b: usize| count.checked_mul(queries.len(b))?.checked_mul(keys.len(b));
        let mut offsets = vec![0usize];
        for b in 0..queries.count() {
            let end = size(b).and_then(|size| offsets[b].checked_add(size));
            offsets.push(end.expect("attention maps of more elements than can be counted"));
        }
        Self { count, width, queries, keys, scale: 1.0 / (width as f64).sqrt(), offsets: offsets.into() }
    }

    /// Number of heads N.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Width of a head D.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The sequences of the queries.
    pub fn queries(&self) -> &Segments {
        &self.queries
    }

    /// The sequences of the keys and values: as many, perhaps of other lengths.
    pub fn keys(&self) -> &Segments {
        &self.keys
    }

    /// Elements of all attention maps together.
    pub fn total(&self) -> usize {
        self.offsets[self.queries.count()]
    }

    /// Where the map of one sequence and head begins; it is row-major \[queries, keys\].
    pub fn map(&self, sequence: usize, head: usize) -> usize {
        self.offsets[sequence] + head * self.queries.len(sequence) * self.keys.len(sequence)
    }
}
