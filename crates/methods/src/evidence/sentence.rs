use super::erasure::sizes;
use super::verdict::Facts;
use crate::Job;
use exegete_core::report::{Checks, Flip};
use exegete_core::{Encoded, Target, Unit, Units};

/// Letters of a quoted unit that are shown, and how many units are listed.
const LONGEST: usize = 30;
const MOST: usize = 5;

/// What hiding the top units does, beside random ones.
pub(super) fn sentence(job: &Job<'_>, facts: &Facts<'_>, ranking: &[usize], checks: &Checks) -> String {
    // A flip that takes most of the text says little about its words.
    let telling = |flip: &&Flip| (1..=ranking.len().div_ceil(2)).contains(&flip.units.len());
    match checks.flip.as_ref().filter(telling) {
        Some(flip) => flipped(job, facts, flip, verb(checks)),
        None => lowered(job, facts, ranking, checks).unwrap_or_default(),
    }
}

/// What a unit is called.
pub(crate) fn noun(kind: Units, count: usize) -> String {
    format!("{kind}{}", if count == 1 { "" } else { "s" })
}

/// What is deleted is removed; what is replaced in its place is hidden.
fn verb(checks: &Checks) -> &'static str {
    let deleted = checks.hiding.as_ref().is_some_and(|hiding| hiding.masker == "delete");
    if deleted { "Removing" } else { "Hiding" }
}

fn flipped(job: &Job<'_>, facts: &Facts<'_>, flip: &Flip, verb: &str) -> String {
    // Answers and words are pieces of text; classes and tags are names.
    let quoted = job.card().task.answers_in_text();
    let named = |label: &str| if quoted { quote(label) } else { label.to_owned() };
    let (before, after) = (&flip.before, &flip.after);
    let turns =
        format!("turns {} ({:.2}) into {} ({:.2})", named(&before.0), before.1, named(&after.0), after.1);
    let count = flip.units.len();
    let what = match count {
        1 if facts.units.len() == 1 => format!("{}, the only {},", list(facts, &flip.units), facts.kind),
        1 => format!("{} alone", list(facts, &flip.units)),
        _ => format!("the {count} top {} ({})", noun(facts.kind, count), list(facts, &flip.units)),
    };
    let cases = format!("in {} of cases", percent(flip.random_share));
    match count {
        1 if facts.units.len() == 1 => format!("{verb} {what} {turns}."),
        1 => format!("{verb} {what} {turns}; a random {} does so {cases}.", facts.kind),
        _ => format!("{verb} {what} {turns}; {count} random {} do so {cases}.", noun(facts.kind, count)),
    }
}

fn lowered(job: &Job<'_>, facts: &Facts<'_>, ranking: &[usize], checks: &Checks) -> Option<String> {
    let (erasure, hiding) = (checks.comprehensiveness.as_ref()?, checks.hiding.as_ref()?);
    let sizes = sizes(ranking.len());
    // The largest bin that can be listed in full or is a tenth of the text says the most.
    let bin = sizes.iter().rposition(|&size| size <= sizes[2].max(MOST)).unwrap_or(0);
    let (count, before) = (sizes[bin], hiding.value);
    let after = before - erasure.own.values[bin];
    let random = erasure.random.iter().map(|drop| drop.values[bin]).sum::<f64>();
    let random = before - random / erasure.random.len().max(1) as f64;
    let digits = digits(before, &[after, random]);
    let what = match count {
        1 if ranking.len() == 1 => format!("{}, the only {},", list(facts, ranking), facts.kind),
        1 => format!("the top {} ({})", facts.kind, list(facts, &ranking[..1])),
        _ => format!("the top {count} {} ({})", noun(facts.kind, count), list(facts, &ranking[..count])),
    };
    let name = name(job, &job.target);
    let from = match moves(before, after, digits, 1) {
        "leaves" => format!("leaves {name} at {before:.digits$}"),
        moves => format!("{moves} {name} from {before:.digits$} to {after:.digits$}"),
    };
    let own = format!("{} {what} {from}", verb(checks));
    if ranking.len() == 1 {
        return Some(format!("{own}."));
    }
    let others = match count {
        1 => format!("a random {}", facts.kind),
        _ => format!("{count} random {}", noun(facts.kind, count)),
    };
    let moves = moves(before, random, digits, count);
    let to = if moves.starts_with("leave") { "at" } else { "to" };
    Some(format!("{own}; {others} {moves} it {to} {random:.digits$} on average."))
}

/// What F is called in a sentence.
fn name(job: &Job<'_>, target: &Target) -> String {
    let task = job.card().task;
    match target.choice() {
        Some(choice) if task.answers_in_text() => quote(&choice.name),
        Some(choice) => task.called(choice),
        None => target.in_words(),
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

pub(crate) fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

fn list(facts: &Facts<'_>, units: &[usize]) -> String {
    quoted(facts.encoded, facts.units, units)
}

/// Some units in quotation marks, the first few of many.
pub(crate) fn quoted(encoded: &Encoded, all: &[Unit], units: &[usize]) -> String {
    let text = |&unit: &usize| quote(encoded.slice(all[unit].span));
    let mut shown: Vec<String> = units.iter().take(MOST).map(text).collect();
    if units.len() > MOST {
        shown.push("…".into());
    }
    shown.join(", ")
}

/// In quotation marks, on one line, and not too long.
pub(crate) fn quote(text: &str) -> String {
    let text: Vec<&str> = text.split_whitespace().collect();
    let text = text.join(" ");
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("\"{}…\"", text[..end].trim_end()),
        None => format!("\"{text}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_and_shortened() {
        assert_eq!(quote("so\n good"), "\"so good\"");
        assert_eq!(quote(&"long ".repeat(9)), "\"long long long long long long…\"");
        assert_eq!(quote(&"é".repeat(31)).chars().count(), 33);
    }

    #[test]
    fn grammar() {
        assert_eq!((noun(Units::Word, 1), noun(Units::Sentence, 3)), ("word".into(), "sentences".into()));
        assert_eq!(moves(0.9, 0.5, 2, 1), "lowers");
        assert_eq!(moves(0.9, 0.95, 2, 4), "raise");
        assert_eq!(moves(0.9, 0.9001, 2, 4), "leave");
        assert_eq!(digits(0.9991, &[0.9984, 0.9991]), 3);
        assert_eq!(digits(0.9, &[0.5]), 2);
        assert_eq!(digits(0.9, &[0.9]), 2);
        assert_eq!(percent(0.04), "4 %");
    }
}
