//! How alike the scores of noisy copies are (METHODS E6). The noise is strong enough to matter, and the report says how
//! many copies are still decided alike.

use super::again::noisy;
use super::check::{Check, FEWEST_RANKED, Look, Ruling, no_sets};
use super::{FEWEST_TOKENS, Level};
use crate::Job;
use crate::noise::gaussian;
use crate::statistics::spearman;
use exegete_core::report::{Checks, Stability};
use exegete_core::{Result, Row};

/// The noise's standard deviation as a share of the word vectors' range.
const NOISE: f64 = 0.05;
const SAMPLES: usize = 5;
/// The stream of random numbers.
const STAGE: u64 = 105;
/// Scores of noisy copies should go with the original at least this well, while the decision stays.
const LEAST_STABLE: f64 = 0.5;

pub(super) const CHECK: Check = Check { level: Level::Deep, sets: no_sets, measure };

fn measure(look: &mut Look<'_, '_>, checks: &mut Checks) -> Result<Ruling> {
    if look.tokens() < FEWEST_TOKENS {
        return Ok(Ruling::default());
    }
    let Some((again, words)) = look.with_noise()? else { return Ok(Ruling::default()) };
    let (job, units) = (&look.job, &look.job.units);
    let mut random = job.random(STAGE);
    let noises = (0..SAMPLES).map(|_| gaussian(&words.shape, NOISE * words.range, &mut random));
    let rows = noises.map(|noise| noisy(job, noise)).collect::<Result<Vec<Row>>>()?;
    let whole = look.masked.whole()?;
    let same_decision = look.masked.read(&rows)?.iter().filter(|outcome| outcome.decides_as(&whole)).count();
    let own = again.tokens(job, again.explained, units)?;
    let mut correlations = Vec::with_capacity(SAMPLES);
    for row in rows {
        let explained = again.method.explain(&Job { row, ..job.clone() })?;
        correlations.push(spearman(&own, &again.tokens(job, &explained, units)?).unwrap_or(0.0));
    }
    let correlation = correlations.iter().sum::<f64>() / SAMPLES as f64;
    let worst = correlations.into_iter().fold(1.0, f64::min);
    let found = Stability { correlation, worst, noise: NOISE, samples: SAMPLES, same_decision };
    let failure = failure(&found, look.tokens());
    checks.stability = Some(found);
    Ok(failure.into())
}

fn failure(found: &Stability, tokens: usize) -> Option<String> {
    let (alike, same, of) = (found.correlation, found.same_decision, found.samples);
    (alike < LEAST_STABLE && 2 * same > of && tokens >= FEWEST_RANKED).then(|| {
        format!("noise that leaves the decision in {same} of {of} copies changes the order of the scores (ρ = {alike:.2})")
    })
}
