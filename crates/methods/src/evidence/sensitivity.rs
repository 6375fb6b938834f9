//! Sensitivity-max. C.-K. Yeh and others, *On the (in)fidelity and sensitivity of explanations*, 2019: the largest
//! ‖Φ(x + δ) − Φ(x)‖ over ‖δ‖∞ ≤ r, found by trying random δ. As captum divides it by ‖Φ(x)‖.

use super::Level;
use super::check::{Check, Judged, Look, Ruling, no_sets};
use super::noisy::noisy;
use crate::registry::Method;
use crate::{Question, RawAttribution, Stream};
use exegete_core::report::{Checks, Sensitivity};
use exegete_core::{Array, Result};
use rand::RngExt;

/// The radius of the ball in each coordinate, as a share of the word vectors' range; captum's 0.02.
const RADIUS: f64 = 0.02;
const SAMPLES: usize = 8;
/// Within a small ball scores should not move by more than their own size.
const MOST_SENSITIVE: f64 = 1.0;

pub(super) const CHECK: Check = Check { name: "sensitivity", level: Level::Deep, sets: no_sets, measure };

/// Nothing is measured where all scores are zero: nothing is large beside nothing.
fn measure(look: &mut Look<'_, '_>, checks: &mut Checks) -> Result<Ruling> {
    let Some((method, words)) = look.with_noise()? else { return Ok(Ruling::default()) };
    let radius = RADIUS * words.range;
    let mut random = look.job.random(Stream::Sensitivity);
    let mut inside = |_| {
        let numbers =
            (0..words.shape.iter().product()).map(|_| (radius * (2.0 * random.random::<f64>() - 1.0)) as f32);
        Array::new(words.shape.clone(), numbers.collect())
    };
    let moves = (0..SAMPLES).map(&mut inside).collect::<Result<Vec<Array>>>()?;
    let Some((relative, absolute)) = over(&look.job, look.explained, method, &moves)? else {
        return Ok(Judged::undecided(None, MOST_SENSITIVE).into());
    };
    checks.sensitivity = Some(Sensitivity { relative, absolute, radius, samples: SAMPLES });
    let failure = (relative > MOST_SENSITIVE).then(|| {
        format!("within a small ball around the text the scores move by {relative:.2} times their size")
    });
    Ok(Judged::new(relative, MOST_SENSITIVE, failure).into())
}

/// Relative and absolute, over given δ.
fn over(
    job: &Question<'_>,
    explained: &RawAttribution,
    method: &dyn Method,
    moves: &[Array],
) -> Result<Option<(f64, f64)>> {
    let own = explained.elements();
    let size = length(own.iter().copied());
    if size == 0.0 {
        return Ok(None);
    }
    let mut absolute: f64 = 0.0;
    for moved in moves {
        let row = noisy(job, moved.clone())?;
        let scores = method.explain(&Question { row, ..job.clone() })?.elements();
        absolute = absolute.max(length(scores.iter().zip(&own).map(|(a, b)| a - b)));
    }
    Ok(Some((absolute / size, absolute)))
}

fn length(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|v| v * v).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::{LIMIT, Recorded, chosen, recorded};
    use exegete_testkit::{Of, close};

    /// Captum's numbers over the same δ.
    #[test]
    fn given_moves_change_what_captum_says() {
        let mut compared = 0;
        for Recorded { case, model } in recorded("sensitivity_max") {
            if case.params["level"] != "all" {
                continue;
            }
            let name = case.params["of"].as_str().unwrap();
            let ((job, explained), chosen) = (model.explained(&case, name), chosen(name));
            let moves = case.slices("perturbations");
            let (relative, absolute) = over(&job, &explained, &chosen, &moves).unwrap().unwrap();
            let found = if case.params["relative"] == true { relative } else { absolute };
            close(&case.name, &[found], &case.expected.data[..1], Of::Largest(0.0), LIMIT);
            compared += 1;
        }
        assert!(compared >= 20, "{compared}");
    }
}
