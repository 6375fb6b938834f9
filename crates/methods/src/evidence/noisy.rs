use crate::Question;
use crate::noise::range;
use exegete_core::{Array, Change, Edit, Result, Row, Rules};

/// A text's word vectors, for noise in proportion to their range.
#[derive(Clone)]
pub(super) struct Words {
    pub(super) shape: Vec<usize>,
    pub(super) range: f64,
}

impl Words {
    pub(super) fn of(job: &Question<'_>) -> Result<Self> {
        let words = job.read_own(&[job.words()?], &[], Rules::Gradient)?.values.swap_remove(0);
        Ok(Self { range: range(&words), shape: words.shape })
    }
}

/// The text with noise on its word vectors.
pub(super) fn noisy(job: &Question<'_>, noise: Array) -> Result<Row> {
    Ok(job.row.clone().edit(Edit::whole(job.words()?, Change::Add(noise))))
}
