//! Infidelity. C.-K. Yeh and others, *On the (in)fidelity and sensitivity of explanations*, 2019: E[(I·Φ − (F(x) −
//! F(x − I)))²] over perturbations I, here Gaussian at the site of the scores.
//!
//! Φ must be a slope. Scores that are a slope times the input are divided by it first, as captum's `multiply_by_inputs`
//! does: I·Φ becomes I/(x − x′)·Φ, where an input that equals its baseline divides by one.

use super::Level;
use super::check::{Check, Judged, Look, Ruling, no_sets};
use crate::noise::{gaussian, range};
use crate::raw_attribution::RawScores;
use crate::registry::Meaning;
use crate::{Question, RawAttribution, Stream};
use exegete_core::report::{Checks, Infidelity};
use exegete_core::{Array, Change, Edit, Result};

/// The perturbations' standard deviation as a share of the values' range: captum's examples perturb inputs of range one by
/// 0.003.
const NOISE: f64 = 0.003;
const SAMPLES: usize = 50;
/// The 95th percentile of χ² with one degree of freedom: a factor that fits n perturbations by chance explains more than
/// this share of n only once in twenty times.
const CHANCE_FIT: f64 = 3.84;

pub(super) const CHECK: Check = Check { name: "infidelity", level: Level::Deep, sets: no_sets, measure };

fn measure(look: &mut Look<'_, '_>, checks: &mut Checks) -> Result<Ruling> {
    if look.again().is_none() {
        return Ok(Ruling::default());
    }
    let meaning = look.explained.meaning.unwrap_or(Meaning::Other);
    checks.infidelity = found(&look.job, look.explained, meaning)?;
    let judged = checks.infidelity.as_ref().map(|found| judged(found, meaning));
    Ok(Ruling { judged, sentence: None })
}

/// The number is the share of what perturbations do that the scores foretell, below zero where they foretell the opposite.
/// Scores that compare with a baseline claim nothing about small steps: theirs is shown, not held against them.
fn judged(found: &Infidelity, meaning: Meaning) -> Judged {
    let chance = CHANCE_FIT / found.samples as f64;
    let moves = found.zero > 0.0;
    let explained = 1.0 - found.scaled / found.zero;
    let signed = if found.factor < 0.0 { -explained } else { explained };
    match (moves, meaning) {
        (_, Meaning::TimesDifference) => Judged::shown(Some(signed).filter(|_| moves)),
        (false, _) => Judged::undecided(None, chance),
        (true, _) => Judged::new(signed, chance, failure(explained, chance, found.factor)),
    }
}

fn failure(explained: f64, chance: f64, factor: f64) -> Option<String> {
    if explained <= chance {
        let share = 100.0 * explained;
        return Some(format!(
            "the scores foretell {share:.0} % of what small perturbations do: no more than chance"
        ));
    }
    (factor < 0.0).then(|| "the scores foretell the opposite of what small perturbations do".into())
}

/// None for scores that say nothing of a small change: those of attention, and those by token only.
fn found(job: &Question<'_>, explained: &RawAttribution, meaning: Meaning) -> Result<Option<Infidelity>> {
    let RawScores::Elements(scores, _) = &explained.scores else { return Ok(None) };
    if matches!(meaning, Meaning::Other | Meaning::Looked)
        || explained.site.is_some_and(|site| site != job.site)
    {
        return Ok(None);
    }
    let mut rows = vec![job.row.clone()];
    if meaning == Meaning::TimesDifference {
        rows.extend(job.baseline_rows()?);
    }
    let found = job.read(&rows, &[job.site], &[])?;
    let values: Vec<Array> = found.into_iter().flat_map(|found| found.values).collect();
    let Some((own, baselines)) = values.split_first() else { return Ok(None) };
    let slopes = slopes(scores, own, baselines, meaning);
    let mut random = job.random(Stream::Infidelity);
    let sigma = NOISE * range(own);
    let moves: Vec<Array> = (0..SAMPLES).map(|_| gaussian(&own.shape, -sigma, &mut random)).collect();
    over(job, &slopes, &moves).map(Some)
}

/// Over given perturbations, each −I.
fn over(job: &Question<'_>, slopes: &[f64], moves: &[Array]) -> Result<Infidelity> {
    let edit = |moved: &Array| Edit::whole(job.site, Change::Add(moved.clone()));
    let mut rows = vec![job.row.clone()];
    rows.extend(moves.iter().map(|moved| job.row.clone().edit(edit(moved))));
    let values: Vec<f64> = job.read(&rows, &[], &[])?.iter().map(|found| found.value).collect();
    // What is added is −I.
    let foretold =
        |moved: &Array| -moved.data.iter().zip(slopes).map(|(i, s)| f64::from(*i) * s).sum::<f64>();
    let pairs = moves.iter().map(foretold).zip(values[1..].iter().map(|after| values[0] - after));
    Ok(compare(&pairs.collect::<Vec<_>>()))
}

/// What F changes by for a unit change of each element, as the scores have it.
fn slopes(scores: &Array, own: &Array, baselines: &[Array], meaning: Meaning) -> Vec<f64> {
    let mean = |i: usize| {
        baselines.iter().map(|b| f64::from(b.data[i])).sum::<f64>() / baselines.len().max(1) as f64
    };
    let slope = |(i, &score): (usize, &f32)| {
        let divisor = match meaning {
            Meaning::Slope | Meaning::Looked | Meaning::Other => 1.0,
            Meaning::TimesInput | Meaning::TimesDifference => f64::from(own.data[i]) - mean(i),
        };
        f64::from(score) / if divisor == 0.0 { 1.0 } else { divisor }
    };
    scores.data.iter().enumerate().map(slope).collect()
}

/// Mean squares over pairs of what was foretold and what happened.
fn compare(pairs: &[(f64, f64)]) -> Infidelity {
    let mean = |term: &dyn Fn(f64, f64) -> f64| {
        pairs.iter().map(|&(a, b)| term(a, b)).sum::<f64>() / pairs.len().max(1) as f64
    };
    let size = mean(&|a, _| a * a);
    let factor = if size > 0.0 { mean(&|a, b| a * b) / size } else { 0.0 };
    Infidelity {
        value: mean(&|a, b| (a - b).powi(2)),
        scaled: mean(&|a, b| (factor * a - b).powi(2)),
        factor,
        zero: mean(&|_, b| b * b),
        samples: pairs.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reduce;
    use crate::recorded::{Recorded, recorded};
    use exegete_testkit::{Comparison, Of};

    /// Four times what `docs/accuracy.md` says: a square of what two changes differ by keeps fewer digits than scores do.
    const LIMIT: f64 = 4.0 * 1.5e-5;

    /// Captum's numbers over the same perturbations.
    #[test]
    fn given_perturbations_cost_what_captum_says() {
        let mut comparison = Comparison::default();
        for Recorded { case, model } in recorded("infidelity") {
            let flag = |name: &str| case.params[name].as_bool().unwrap();
            let (job, explained) = model.explained(&case, case.params["of"].as_str().unwrap());
            let RawScores::Elements(scores, Reduce::L2 | Reduce::Sum) = &explained.scores else { panic!() };
            let own = job.read_own(&[job.site], &[], exegete_core::Rules::Gradient).unwrap().values.remove(0);
            let meaning = if flag("scaled") { Meaning::TimesInput } else { Meaning::Slope };
            let moves: Vec<Array> = case
                .slices("perturbations")
                .into_iter()
                .map(|mut moved| {
                    moved.data.iter_mut().for_each(|x| *x = -*x);
                    moved
                })
                .collect();
            let found = over(&job, &slopes(scores, &own, &[], meaning), &moves).unwrap();
            let found = if flag("normalised") { found.scaled } else { found.value };
            comparison.compare(&case.name, &[found], &case.expected.data[..1], Of::Largest(0.0));
        }
        println!("{:?}", comparison.worst());
        comparison.assert_within(LIMIT);
        assert!(comparison.compared() >= 20, "{}", comparison.compared());
    }

    #[test]
    fn by_hand() {
        let found = compare(&[(1.0, 2.0), (2.0, 4.0)]);
        assert_eq!((found.value, found.scaled, found.factor, found.zero), (2.5, 0.0, 2.0, 10.0));
        let nothing = compare(&[(0.0, 2.0), (0.0, -2.0)]);
        assert_eq!((nothing.value, nothing.scaled, nothing.factor), (4.0, 4.0, 0.0));
        let opposite = compare(&[(1.0, -1.0), (-1.0, 1.0)]);
        assert_eq!((opposite.scaled, opposite.factor), (0.0, -1.0));
    }
}
