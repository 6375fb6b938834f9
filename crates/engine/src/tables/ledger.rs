use crate::scalar::Scalar;
use crate::tensor::Tensor;
use std::collections::BTreeMap;

/// What rules took aside on the way back: one number for each row of the values it was taken from.
///
/// Packed values have one row a token or one row a text; which of the two it is follows from how many there are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    /// By the number of rows.
    pub entries: BTreeMap<usize, Vec<f64>>,
}

impl Ledger {
    /// Adds Σ f(a, b) over each row.
    pub(crate) fn add<T: Scalar>(&mut self, a: &Tensor<T>, b: &Tensor<T>, f: impl Fn(f64, f64) -> f64) {
        assert_eq!((a.rows(), a.cols()), (b.rows(), b.cols()), "booking different shapes");
        let (rows, cols) = (a.rows(), a.cols().max(1));
        let entries = self.entries.entry(rows).or_insert_with(|| vec![0.0; rows]);
        let pairs = a.data().chunks_exact(cols).zip(b.data().chunks_exact(cols));
        for (entry, (a, b)) in entries.iter_mut().zip(pairs) {
            *entry += a.iter().zip(b).map(|(a, b)| f(a.value(), b.value())).sum::<f64>();
        }
    }

    /// Everything together.
    pub fn total(&self) -> f64 {
        self.entries.values().flatten().sum()
    }
}
