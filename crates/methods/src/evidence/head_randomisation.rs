//! Scores of a model whose head alone is random. Whoever says why this class won must say something else then; the change was
//! measured with the first step of `randomisation`.

use super::Level;
use super::check::{Check, Judged, Look, Ruling, no_sets};
use exegete_core::Result;
use exegete_core::report::{Checks, Sense};
use serde_json::json;

/// Scores that move by no more than this share of the largest are the same.
const SAME: f64 = 1e-6;

pub(super) const CHECK: Check =
    Check { name: "head_randomisation", level: Level::Deep, sets: no_sets, measure };

fn measure(look: &mut Look<'_, '_>, checks: &mut Checks) -> Result<Ruling> {
    let Some(change) = look.head_change else { return Ok(Ruling::default()) };
    let alike = look.explained.sense() == Sense::SameForEveryClass;
    let says = match alike {
        true => RIGHTLY.to_owned(),
        false => {
            format!("with a random head the scores move by up to {:.2} % of the largest", 100.0 * change)
        }
    };
    checks.add(CHECK.name, &json!({"change": change, "says": says}))?;
    Ok(judged(change, alike).into())
}

/// What is said of scores that read no class.
const RIGHTLY: &str = "the same for every class: cannot say why this one, and a random head rightly leaves the scores as they are";

/// Scores that are the same for every class by what they are make no claim that could fail.
fn judged(change: f64, same_for_every_class: bool) -> Judged {
    if same_for_every_class {
        return Judged::shown(Some(change));
    }
    let failure = (change <= SAME).then(|| {
        "with a random head the scores are the same: they are the same for every class, and cannot say why this one".to_owned()
    });
    Judged::new(change, SAME, failure)
}

/// The largest change as a share of the largest score; none where there are no scores at all, or others.
pub(super) fn change(own: &[f64], scores: &[f64]) -> Option<f64> {
    let largest = own.iter().fold(0.0, |most: f64, score| most.max(score.abs()));
    // What is no number has moved by no known amount.
    let further = |most: f64, by: f64| if most.is_nan() || by.is_nan() { f64::NAN } else { most.max(by) };
    let moved = own.iter().zip(scores).map(|(a, b)| (a - b).abs() / largest).fold(0.0, further);
    (largest > 0.0 && own.len() == scores.len()).then_some(moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_scores_that_do_not_move_are_the_same() {
        let own = [0.5, -0.25, 0.0];
        for (scores, same) in [
            (&[0.5, -0.25, 0.0][..], true),
            (&[0.5, -0.25, 1e-8], true),
            (&[0.5, -0.25, 1e-4], false),
            // The same ranks and shares say that the head has a part.
            (&[1.0, -0.5, 0.0], false),
            (&[f64::NAN; 3], false),
        ] {
            assert_eq!(change(&own, scores).unwrap() <= SAME, same, "{scores:?}");
        }
        assert_eq!(change(&own, &[1.0, -0.5, 0.0]), Some(1.0));
        assert_eq!(change(&own, &[0.5, -0.25]), None);
        assert_eq!(change(&[0.0; 3], &[0.0; 3]), None, "no scores at all");
    }
}
