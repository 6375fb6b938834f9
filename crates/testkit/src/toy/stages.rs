use super::parameters::Parameters;
use exegete_core::Sites;
use std::fmt;
use std::sync::Arc;

/// One value a stage.
pub(super) type Values = Vec<Vec<f64>>;

/// The arithmetic of a toy: one stage a site, each with its forward, its tangent and its pull-back.
pub(super) trait Stages: fmt::Debug + Send + Sync {
    /// Its sites; a stage is an index into these.
    fn sites(&self) -> &Sites;

    /// Its parameters.
    fn parameters(&self) -> &Parameters;

    /// The same with other parameters.
    fn with(&self, parameters: Parameters) -> Arc<dyn Stages>;

    /// The value of a stage from those before it.
    fn stage(&self, stage: usize, ids: &[u32], values: &Values) -> Vec<f64>;

    /// How a stage moves when those before it move.
    fn tangent(&self, stage: usize, values: &Values, moves: &Values) -> Vec<f64>;

    /// Adds what a stage's cotangent gives to those before it.
    fn pull(&self, stage: usize, values: &Values, cotangent: &[f64], pulled: &mut Values);
}

/// `[n, k]` times `[k, m]`.
pub(super) fn product(left: &[f64], right: &[f64], k: usize, m: usize) -> Vec<f64> {
    let row = |row: &[f64]| -> Vec<f64> {
        (0..m).map(|j| row.iter().enumerate().map(|(i, x)| x * right[i * m + j]).sum()).collect()
    };
    left.chunks(k).flat_map(row).collect()
}

pub(super) fn transposed(matrix: &[f64], k: usize, m: usize) -> Vec<f64> {
    (0..m).flat_map(|j| (0..k).map(move |i| matrix[i * m + j])).collect()
}

pub(super) fn sum(one: &[f64], other: &[f64]) -> Vec<f64> {
    one.iter().zip(other).map(|(a, b)| a + b).collect()
}

pub(super) fn add(into: &mut [f64], more: &[f64]) {
    into.iter_mut().zip(more).for_each(|(a, b)| *a += b);
}
