//! What edits do, in words and figures that every renderer shares.

use crate::figures::{count, figure, percent};
use crate::headline::decided;
use exegete_core::Field;
use exegete_core::Scores;
use exegete_core::report::{Chance, Edited, Edits};

/// What became of the answer.
pub(crate) struct ChangedAnswer {
    /// `negative 98.7 % → positive 61.0 %`.
    pub(crate) answers: String,
    /// The target before and after, and how much was changed.
    pub(crate) figures: String,
    /// What is left of a text that lost more than half; else empty.
    pub(crate) left: String,
    /// What is wrong with it; empty where it reaches the goal.
    pub(crate) missed: &'static str,
}

/// What a changed text does to the answer.
pub(crate) fn outcome(edits: &Edits, edited: &Edited) -> ChangedAnswer {
    let subject = &edits.subject;
    let answers = format!("{} → {}", decided(&subject.prediction), decided(&edited.prediction));
    let (before, after) = (figure(subject.value), figure(edited.value));
    let changes = count(edited.swaps.len(), "change");
    let figures = format!("{} {before} → {after}, {changes}", subject.target);
    ChangedAnswer {
        answers,
        figures,
        left: left(edits, edited),
        missed: if edited.reached { "" } else { "does not reach the goal" },
    }
}

fn left(edits: &Edits, edited: &Edited) -> String {
    let size = |fields: &[Field]| fields.iter().map(|field| field.text.trim().len()).sum::<usize>();
    if 2 * size(&edited.input) >= size(&edits.subject.input) {
        return String::new();
    }
    let texts = edited.input.iter().map(|field| field.text.split_whitespace().collect::<Vec<_>>().join(" "));
    match texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().as_slice() {
        [] => "nothing".to_owned(),
        texts => texts.join(" / "),
    }
}

/// Every class with its probability before and after, for a closer look; empty where there are no classes.
pub(crate) fn closer(before: &Scores, after: &Scores) -> String {
    let was = before.by_class().unwrap_or_default();
    let told = after.by_class().unwrap_or_default().iter().map(|now| {
        let was =
            was.iter().find(|was| was.label == now.label).map(|was| format!("{} → ", percent(was.prob)));
        format!("{} {}{}", now.label, was.unwrap_or_default(), percent(now.prob))
    });
    told.collect::<Vec<_>>().join(", ")
}

/// What is known of the changes: a name and what came out.
pub(crate) fn lines(edits: &Edits) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let reached = edits.found.iter().filter(|edited| edited.reached).count();
    if reached == 0 {
        lines.push(("goal", "not reached".to_owned()));
    } else {
        let proven = if edits.smallest { "proven: nothing smaller would do" } else { "not proven" };
        lines.push(("smallest", proven.to_owned()));
    }
    lines.extend(edits.random.map(|chance| ("random changes", self::chance(chance))));
    lines
}

fn chance(Chance { hits, trials }: Chance) -> String {
    match trials {
        0 => "none of the same size were tried".to_owned(),
        trials => {
            let share = percent(hits as f64 / trials as f64);
            format!("{hits} of {trials} of the same size do so too ({share})")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_core::ClassScore;

    #[test]
    fn classes_are_compared_by_name() {
        let classes = |probs: &[(&str, f64)]| {
            let score = |(label, prob): &(&str, f64)| ClassScore {
                label: (*label).to_owned(),
                logit: None,
                prob: *prob,
            };
            Scores::Classes { label: String::new(), scores: probs.iter().map(score).collect() }
        };
        let before = classes(&[("no", 0.9), ("yes", 0.1)]);
        for (after, expected) in [
            (classes(&[("no", 0.25), ("yes", 0.75)]), "no 90.0 % → 25.0 %, yes 10.0 % → 75.0 %"),
            (classes(&[("other", 1.0)]), "other 100.0 %"),
            (Scores::Value { value: 1.0 }, ""),
        ] {
            assert_eq!(closer(&before, &after), expected);
        }
    }

    #[test]
    fn chances_are_counted() {
        for (hits, trials, expected) in [
            (1, 40, "1 of 40 of the same size do so too (2.5 %)"),
            (0, 40, "0 of 40 of the same size do so too (0.0 %)"),
            (0, 0, "none of the same size were tried"),
        ] {
            assert_eq!(chance(Chance { hits, trials }), expected);
        }
    }
}
