//! How alike the scores of noisy copies are (METHODS E6). The noise is strong enough to matter, and the report says how
//! many copies are still decided alike.

use super::STAGE_STABILITY;
use super::again::{Again, Words, noisy};
use crate::noise::gaussian;
use crate::statistics::spearman;
use crate::{Job, Masked};
use exegete_core::report::Stability;
use exegete_core::{Result, Row, Unit};

/// The noise's standard deviation as a share of the word vectors' range.
const NOISE: f64 = 0.05;
const SAMPLES: usize = 5;

pub(super) fn measure(
    job: &Job<'_>,
    masked: &mut Masked<'_>,
    units: &[Unit],
    again: &Again<'_>,
    words: &Words,
) -> Result<Stability> {
    let mut random = job.random(STAGE_STABILITY);
    let noises = (0..SAMPLES).map(|_| gaussian(&words.shape, NOISE * words.range, &mut random));
    let rows = noises.map(|noise| noisy(job, noise)).collect::<Result<Vec<Row>>>()?;
    let whole = masked.whole()?;
    let same_decision = masked.read(&rows)?.iter().filter(|outcome| outcome.decides_as(&whole)).count();
    let own = again.tokens(job, again.explained, units)?;
    let mut correlations = Vec::with_capacity(SAMPLES);
    for row in rows {
        let explained = again.method.explain(&Job { row, ..job.clone() })?;
        correlations.push(spearman(&own, &again.tokens(job, &explained, units)?).unwrap_or(0.0));
    }
    let correlation = correlations.iter().sum::<f64>() / SAMPLES as f64;
    let worst = correlations.into_iter().fold(1.0, f64::min);
    Ok(Stability { correlation, worst, noise: NOISE, samples: SAMPLES, same_decision })
}
