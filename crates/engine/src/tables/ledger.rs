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
    /// Adds Σ f(a, b) over each row of `b`; `a` has its shape, or is one row or one column for all.
    pub(crate) fn add<T: Scalar>(&mut self, a: &Tensor<T>, b: &Tensor<T>, f: impl Fn(f64, f64) -> f64) {
        let fits = |a: usize, b: usize| a == b || a == 1;
        let (rows, cols) = (b.rows(), b.cols());
        assert!(fits(a.rows(), rows) && fits(a.cols(), cols), "booking different shapes");
        let (down, along) = (usize::from(a.rows() == rows), usize::from(a.cols() == cols));
        let entries = self.entries.entry(rows).or_insert_with(|| vec![0.0; rows]);
        for (row, entry) in entries.iter_mut().enumerate() {
            let at = |col: usize| a.data()[row * down * a.cols() + col * along].value();
            let b = &b.data()[row * cols..][..cols];
            *entry += b.iter().enumerate().map(|(col, b)| f(at(col), b.value())).sum::<f64>();
        }
    }

    /// The sum of all that was booked.
    pub fn total(&self) -> f64 {
        self.entries.values().flatten().sum()
    }
}
