//! How far F falls without the top-ranked units: high is good (`erasure` has the definition).

use super::Level;
use super::check::{Check, Judged, Look, Ruling};
use super::erasure::{Hide, measured, sets, sizes};
use super::sentence::quote;
use crate::Question;
use exegete_core::Result;
use exegete_core::report::{Checks, Erasure};

/// How many units the sentence lists in full.
const MOST: usize = super::sentence::MOST;

pub(super) const CHECK: Check = Check {
    name: "comprehensiveness",
    level: Level::Default,
    sets: |look| sets(&look.rankings, Hide::Top),
    measure,
};

fn measure(look: &mut Look<'_, '_>, checks: &mut Checks) -> Result<Ruling> {
    let pool = look.pool()?;
    let found = measured(look.masked, &look.rankings, &pool, Hide::Top)?;
    let judged = Some(Judged::shown(Some(found.own.mean)));
    let sentence = checks.hiding.as_ref().map(|hiding| lowered(look, &found, hiding.value));
    checks.comprehensiveness = Some(found);
    Ok(Ruling { judged, sentence })
}

/// What hiding the top units does to F, beside random ones.
fn lowered(look: &Look<'_, '_>, erasure: &Erasure, before: f64) -> String {
    let ranking = &look.rankings.own;
    let sizes = sizes(ranking.len());
    // The largest bin that can be listed in full or is a tenth of the text says the most.
    let bin = sizes.iter().rposition(|&size| size <= sizes[2].max(MOST)).unwrap_or(0);
    let (count, after) = (sizes[bin], before - erasure.own.values[bin]);
    let random = erasure.random.iter().map(|drop| drop.values[bin]).sum::<f64>();
    let random = before - random / erasure.random.len().max(1) as f64;
    let digits = digits(before, &[after, random]);
    let listed = look.quoted(&ranking[..count]);
    let what = match count {
        1 if ranking.len() == 1 => format!("{listed}, the only {},", look.job.kind),
        1 => format!("the top {} ({listed})", look.job.kind),
        _ => format!("the top {count} {} ({listed})", look.noun(count)),
    };
    let name = name(&look.job);
    let from = match moves(before, after, digits, 1) {
        "leaves" => format!("leaves {name} at {before:.digits$}"),
        moves => format!("{moves} {name} from {before:.digits$} to {after:.digits$}"),
    };
    let own = format!("{} {what} {from}", look.verb());
    if ranking.len() == 1 {
        return format!("{own}.");
    }
    let others = match count {
        1 => format!("a random {}", look.job.kind),
        _ => format!("{count} random {}", look.noun(count)),
    };
    let moves = moves(before, random, digits, count);
    let to = if moves.starts_with("leave") { "at" } else { "to" };
    format!("{own}; {others} {moves} it {to} {random:.digits$} on average.")
}

/// What F is called in a sentence.
fn name(job: &Question<'_>) -> String {
    let task = job.card().task;
    match job.target.choice() {
        Some(choice) if task.answers_in_text() => quote(&choice.name),
        Some(choice) => task.called(choice),
        None => job.target.in_words(),
    }
}

fn moves(before: f64, after: f64, digits: usize, count: usize) -> &'static str {
    let shown = |value: f64| format!("{value:.digits$}");
    match (shown(before) == shown(after), after < before, count) {
        (true, _, 1) => "leaves",
        (true, ..) => "leave",
        (_, true, 1) => "lowers",
        (_, true, _) => "lower",
        (_, false, 1) => "raises",
        (_, false, _) => "raise",
    }
}

/// Two digits, or more where the numbers would look alike though they are not.
fn digits(before: f64, others: &[f64]) -> usize {
    let apart = |digits: usize| {
        let shown = |value: f64| format!("{value:.digits$}");
        others.iter().any(|&other| shown(other) != shown(before))
    };
    (2..=4).find(|&digits| apart(digits)).unwrap_or(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grammar() {
        assert_eq!(moves(0.9, 0.5, 2, 1), "lowers");
        assert_eq!(moves(0.9, 0.95, 2, 4), "raise");
        assert_eq!(moves(0.9, 0.9001, 2, 4), "leave");
        assert_eq!(digits(0.9991, &[0.9984, 0.9991]), 3);
        assert_eq!(digits(0.9, &[0.5]), 2);
        assert_eq!(digits(0.9, &[0.9]), 2);
    }
}
