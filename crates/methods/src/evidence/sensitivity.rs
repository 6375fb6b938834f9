//! Sensitivity-max. C.-K. Yeh and others, *On the (in)fidelity and sensitivity of explanations*, 2019: the largest
//! ‖Φ(x + δ) − Φ(x)‖ over ‖δ‖∞ ≤ r, found by trying random δ. As captum divides it by ‖Φ(x)‖.

use super::STAGE_SENSITIVITY;
use super::again::{Again, Words, noisy};
use crate::Job;
use exegete_core::report::Sensitivity;
use exegete_core::{Array, Result};
use rand::RngExt;

/// The radius of the ball in each coordinate, as a share of the word vectors' range; captum's 0.02.
const RADIUS: f64 = 0.02;
const SAMPLES: usize = 8;

/// None where all scores are zero: nothing is large beside nothing.
pub(super) fn measure(job: &Job<'_>, again: &Again<'_>, words: &Words) -> Result<Option<Sensitivity>> {
    let radius = RADIUS * words.range;
    let own = Again::elements(again.explained);
    let size = length(own.iter().copied());
    if size == 0.0 {
        return Ok(None);
    }
    let mut random = job.random(STAGE_SENSITIVITY);
    let mut absolute: f64 = 0.0;
    for _ in 0..SAMPLES {
        let data = (0..words.shape.iter().product())
            .map(|_| (radius * (2.0 * random.random::<f64>() - 1.0)) as f32)
            .collect();
        let row = noisy(job, Array::new(words.shape.clone(), data)?);
        let moved = Again::elements(&again.method.explain(&Job { row, ..job.clone() })?);
        absolute = absolute.max(length(moved.iter().zip(&own).map(|(a, b)| a - b)));
    }
    Ok(Some(Sensitivity { relative: absolute / size, absolute, radius, samples: SAMPLES }))
}

fn length(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|v| v * v).sum::<f64>().sqrt()
}
