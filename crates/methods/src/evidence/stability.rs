//! How alike the scores of noisy copies are. The noise is strong enough to matter, and the report says how
//! many copies are still decided alike.

use super::check::{Check, FEWEST_RANKED, Judged, Look, Ruling, no_sets};
use super::noisy::noisy;
use super::{FEWEST_TOKENS, Level};
use crate::noise::gaussian;
use crate::statistics::spearman;
use crate::{Question, Stream};
use exegete_core::report::{Checks, Stability};
use exegete_core::{Result, Row};

/// The noise's standard deviation as a share of the word vectors' range.
const NOISE: f64 = 0.05;
const SAMPLES: usize = 5;
/// Scores of noisy copies should go with the original at least this well, while the decision stays.
const LEAST_STABLE: f64 = 0.5;

pub(super) const CHECK: Check = Check { name: "stability", level: Level::Deep, sets: no_sets, measure };

fn measure(look: &mut Look<'_, '_>, checks: &mut Checks) -> Result<Ruling> {
    if look.tokens() < FEWEST_TOKENS {
        let judged = look.takes_noise().map(|_| Judged::undecided(None, LEAST_STABLE));
        return Ok(Ruling { judged, sentence: None });
    }
    let Some((method, words)) = look.with_noise()? else { return Ok(Ruling::default()) };
    let job = &look.job;
    let mut random = job.random(Stream::Stability);
    let noises = (0..SAMPLES).map(|_| gaussian(&words.shape, NOISE * words.range, &mut random));
    let rows = noises.map(|noise| noisy(job, noise)).collect::<Result<Vec<Row>>>()?;
    let whole = look.masked.whole()?;
    let same_decision = look.masked.read(&rows)?.iter().filter(|outcome| outcome.decides_as(&whole)).count();
    let own = look.explained.inside(job)?;
    let mut correlations = Vec::with_capacity(SAMPLES);
    for row in rows {
        let explained = method.explain(&Question { row, ..job.clone() })?;
        correlations.push(spearman(&own, &explained.inside(job)?).unwrap_or(0.0));
    }
    let correlation = correlations.iter().sum::<f64>() / SAMPLES as f64;
    let worst = correlations.into_iter().fold(1.0, f64::min);
    let found = Stability { correlation, worst, noise: NOISE, samples: SAMPLES, same_decision };
    let judged = judged(&found, look.tokens());
    checks.stability = Some(found);
    Ok(judged.into())
}

/// Where most copies are decided otherwise, their scores should be others too.
fn judged(found: &Stability, tokens: usize) -> Judged {
    let (alike, same, of) = (found.correlation, found.same_decision, found.samples);
    if 2 * same <= of || tokens < FEWEST_RANKED {
        return Judged::undecided(Some(alike), LEAST_STABLE);
    }
    let failure = (alike < LEAST_STABLE).then(|| {
        format!("noise that leaves the decision in {same} of {of} copies changes the order of the scores (ρ = {alike:.2})")
    });
    Judged::new(alike, LEAST_STABLE, failure)
}
