//! The straight line from a baseline to the text, and the small arithmetic of arrays that methods share.

use crate::Job;
use exegete_core::{Array, Change, Edit, Error, Result, Row, Site};

/// x′ + α(x − x′) at one site, for α from 0 to 1.
pub(super) struct Path {
    row: Row,
    site: Site,
    baseline: Array,
    /// x − x′
    pub(super) delta: Array,
    /// F at the end minus F at the start.
    pub(super) difference: f64,
}

impl Path {
    /// One path a baseline, at this site.
    pub(super) fn all(job: &Job<'_>, site: Site) -> Result<Vec<Self>> {
        let mut rows = vec![job.row.clone()];
        rows.extend(job.baseline_rows()?);
        let reading = job.read(&rows, &[site])?;
        let mut values = reading.sites.into_iter().flatten();
        let own = found(values.next())?;
        let path = |(baseline, value): (Array, &f64)| Self {
            row: job.row.clone(),
            site,
            delta: minus(own.clone(), &baseline),
            baseline,
            difference: reading.values[0] - value,
        };
        let mut paths: Vec<Self> = values.zip(&reading.values[1..]).map(path).collect();
        if !job.carries_all(site) {
            // What goes around the site stays as it is for the text, so the start is not the baseline's own run.
            let starts: Vec<Row> = paths.iter().map(|path| path.at(0.0)).collect();
            let starts = job.read(&starts, &[])?.values;
            paths
                .iter_mut()
                .zip(starts)
                .for_each(|(path, start)| path.difference = reading.values[0] - start);
        }
        Ok(paths)
    }

    /// The row at one point.
    pub(super) fn at(&self, alpha: f64) -> Row {
        let change = if self.baseline.data.iter().all(|&x| x == 0.0) {
            Change::Scale(alpha as f32)
        } else {
            Change::Mix { share: (1.0 - alpha) as f32, toward: self.baseline.clone() }
        };
        self.row.clone().edit(Edit::whole(self.site, change))
    }

    /// The rows at some points.
    pub(super) fn rows(&self, alphas: impl IntoIterator<Item = f64>) -> Vec<Row> {
        alphas.into_iter().map(|alpha| self.at(alpha)).collect()
    }
}

/// What a pass over one row must have given.
pub(super) fn found<T>(value: Option<T>) -> Result<T> {
    value.ok_or_else(|| Error::Model("the model ran no row".into()))
}

/// a ⊙ b
pub(super) fn times(mut a: Array, b: &Array) -> Array {
    a.data.iter_mut().zip(&b.data).for_each(|(a, b)| *a *= b);
    a
}

/// a − b
pub(super) fn minus(mut a: Array, b: &Array) -> Array {
    a.data.iter_mut().zip(&b.data).for_each(|(a, b)| *a -= b);
    a
}

/// The mean over baselines.
pub(super) fn mean(arrays: &[Array]) -> Result<Array> {
    weighted(arrays, &vec![1.0 / arrays.len() as f64; arrays.len()])
}

/// Σ weight · array, summed in double precision.
pub(super) fn weighted(arrays: &[Array], weights: &[f64]) -> Result<Array> {
    let first = found(arrays.first())?;
    let mut sums = vec![0.0f64; first.len()];
    for (array, &weight) in arrays.iter().zip(weights) {
        sums.iter_mut().zip(&array.data).for_each(|(sum, &x)| *sum += weight * f64::from(x));
    }
    Array::new(first.shape.clone(), sums.iter().map(|&sum| sum as f32).collect())
}
