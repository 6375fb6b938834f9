//! The straight line from a baseline to the text, and the small arithmetic of arrays that methods share.

use crate::{Baseline, Question};
use exegete_core::{Array, Change, Edit, Error, Explanation, Result, Row, Site};

/// x′ + α(x − x′) at one site, for α from 0 to 1.
pub(super) struct Line {
    row: Row,
    site: Site,
    /// x′; none where it is zero.
    pub(super) start: Option<Array>,
}

/// A line whose ends were run.
pub(super) struct Path {
    pub(super) line: Line,
    /// The input minus the baseline: x − x′.
    pub(super) delta: Array,
    /// F at the end minus F at the start.
    pub(super) difference: f64,
}

/// What was found at some points of a line.
pub(super) struct Points {
    /// The value F at each point.
    pub(super) values: Vec<f64>,
    /// The gradient ∂F/∂x at each point.
    pub(super) gradients: Vec<Array>,
    /// x − x′, where the end of the line is among the points.
    pub(super) delta: Option<Array>,
}

impl Line {
    /// One line a baseline, at this site.
    pub(super) fn all(job: &Question<'_>, site: Site) -> Result<Vec<Self>> {
        let line = |start| Self { row: job.row.clone(), site, start };
        if Some(site) == job.words().ok() && job.baselines.iter().all(|baseline| *baseline == Baseline::Zero)
        {
            return Ok(job.baselines.iter().map(|_| line(None)).collect());
        }
        let starts =
            job.read(&job.baseline_rows()?, &[site], &[])?.into_iter().flat_map(|found| found.values);
        let some = |start: Array| Some(start).filter(|start| start.data.iter().any(|&x| x != 0.0));
        Ok(starts.map(|start| line(some(start))).collect())
    }

    /// The line from zero at a site, whatever a baseline has there.
    pub(super) fn from_zero(job: &Question<'_>, site: Site) -> Self {
        Self { row: job.row.clone(), site, start: None }
    }

    /// The row at one point.
    pub(super) fn at(&self, alpha: f64) -> Row {
        let change = match &self.start {
            None => Change::Scale(alpha as f32),
            Some(start) => Change::Mix { share: (1.0 - alpha) as f32, toward: start.clone() },
        };
        self.row.clone().edit(Edit::whole(self.site, change))
    }

    /// F and its gradients at some points.
    pub(super) fn points(&self, job: &Question<'_>, alphas: &[f64]) -> Result<Points> {
        let mut points = Points { values: Vec::new(), gradients: Vec::new(), delta: None };
        let rows: Vec<Row> = alphas.iter().map(|&alpha| self.at(alpha)).collect();
        for (found, &alpha) in job.read(&rows, &[self.site], &[self.site])?.into_iter().zip(alphas) {
            points.values.push(found.value);
            points.gradients.extend(found.gradients);
            if alpha == 1.0 {
                points.delta = found.values.into_iter().next().map(|end| self.delta(end));
            }
        }
        Ok(points)
    }

    fn delta(&self, end: Array) -> Array {
        match &self.start {
            None => end,
            Some(start) => end.plus(start, -1.0),
        }
    }
}

impl Path {
    /// One path a baseline, at this site.
    pub(super) fn all(job: &Question<'_>, site: Site) -> Result<Vec<Self>> {
        let lines = Line::all(job, site)?;
        // What goes around the site stays as it is for the text, so the start is not the baseline's own run.
        let rows: Vec<Row> =
            std::iter::once(job.row.clone()).chain(lines.iter().map(|line| line.at(0.0))).collect();
        let mut ends = job.read(&rows, &[site], &[])?.into_iter();
        let text = found(ends.next())?;
        let end = found(text.values.into_iter().next())?;
        let path = |(line, start): (Line, Explanation)| Self {
            delta: line.delta(end.clone()),
            difference: text.value - start.value,
            line,
        };
        Ok(lines.into_iter().zip(ends).map(path).collect())
    }

    /// The rows at some points.
    pub(super) fn rows(&self, alphas: impl IntoIterator<Item = f64>) -> Vec<Row> {
        alphas.into_iter().map(|alpha| self.line.at(alpha)).collect()
    }
}

/// So many arrays of this size, in bytes, are held at a time.
pub(super) fn together(job: &Question<'_>, array: &Array) -> usize {
    (job.driver.memory_bytes / 16 / (size_of::<f32>() * array.len()).max(1)).max(1)
}

/// Σ weight · what a row gives, over points of a path with their weights, as many at a time as the memory holds.
pub(super) fn along(
    job: &Question<'_>,
    path: &Path,
    points: &[(f64, f64)],
    give: impl Fn(&[Row]) -> Result<Vec<Array>>,
) -> Result<Array> {
    let mut sum = Sum::default();
    for points in points.chunks(together(job, &path.delta)) {
        let rows = path.rows(points.iter().map(|(alpha, _)| *alpha));
        give(&rows)?.iter().zip(points).for_each(|(array, (_, weight))| sum.add(array, *weight));
    }
    sum.array()
}

/// What a pass over one row must have given.
pub(super) fn found<T>(value: Option<T>) -> Result<T> {
    value.ok_or_else(|| Error::Model("the model ran no row".into()))
}

/// The product element by element: a ⊙ b.
pub(crate) fn times(mut a: Array, b: &Array) -> Array {
    a.data.iter_mut().zip(&b.data).for_each(|(a, b)| *a *= b);
    a
}

/// The mean over baselines.
pub(super) fn mean(arrays: &[Array]) -> Result<Array> {
    weighted(arrays, &vec![1.0 / arrays.len() as f64; arrays.len()])
}

/// Σ weight · array, summed in double precision.
pub(super) fn weighted(arrays: &[Array], weights: &[f64]) -> Result<Array> {
    let mut sum = Sum::default();
    arrays.iter().zip(weights).for_each(|(array, &weight)| sum.add(array, weight));
    sum.array()
}

/// Σ weight · array, array by array, in double precision.
#[derive(Default)]
pub(super) struct Sum {
    shape: Option<Vec<usize>>,
    sums: Vec<f64>,
}

impl Sum {
    pub(super) fn add(&mut self, array: &Array, weight: f64) {
        self.shape.get_or_insert_with(|| array.shape.clone());
        self.sums.resize(array.len(), 0.0);
        self.sums.iter_mut().zip(&array.data).for_each(|(sum, &x)| *sum += weight * f64::from(x));
    }

    pub(super) fn array(self) -> Result<Array> {
        Array::new(found(self.shape)?, self.sums.iter().map(|&sum| sum as f32).collect())
    }
}
