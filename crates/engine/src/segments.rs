use std::ops::Range;
use std::sync::Arc;

/// Where each sequence of a packed batch begins and ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segments(Arc<[usize]>);

impl Segments {
    /// Sequences of these lengths, laid end to end; panics where their elements cannot be counted.
    pub fn new(lengths: impl IntoIterator<Item = usize>) -> Self {
        let mut offsets = vec![0];
        let mut end = 0usize;
        for length in lengths {
            end = end.checked_add(length).expect("sequences of more elements than can be counted");
            offsets.push(end);
        }
        Self(offsets.into())
    }

    /// The number of sequences.
    pub fn count(&self) -> usize {
        self.0.len() - 1
    }

    /// The length of all sequences together.
    pub fn total(&self) -> usize {
        self.0[self.count()]
    }

    /// The positions of one sequence.
    pub fn range(&self, sequence: usize) -> Range<usize> {
        self.0[sequence]..self.0[sequence + 1]
    }

    /// The length of one sequence.
    pub fn len(&self, sequence: usize) -> usize {
        self.range(sequence).len()
    }

    /// The length of each sequence, in order.
    pub fn lengths(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.count()).map(|sequence| self.len(sequence))
    }

    /// The sequence that each row belongs to: gathering by it hands one row a sequence to all its rows.
    pub fn owners(&self) -> Arc<[usize]> {
        (0..self.count()).flat_map(|sequence| std::iter::repeat_n(sequence, self.len(sequence))).collect()
    }
}
