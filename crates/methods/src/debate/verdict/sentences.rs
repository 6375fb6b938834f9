//! The verdict in plain words. Every sentence is there because a threshold was met, and says the numbers.

use super::{
    AGREES, COUNTS, DebateStatistics, ENOUGH_DECISIVE, FAR, IDLE, LITTLE, MOVES, MUCH, OTHERS, RULES,
};
use crate::statistics::interval::Interval;
use exegete_core::report::number::percent;

/// Rule 1, by whichever of its two conditions hold.
pub(super) fn contradicts(found: &DebateStatistics) -> String {
    let mut reasons = Vec::new();
    if let Some(ratio) = found.ratio.filter(|_| found.decides_elsewhere()) {
        reasons.push(format!(
            "words whose removal changes the answer get less than half an equal share: {} times one, in the {} of texts that have such a word",
            said(ratio),
            percent(found.decisive, 1)
        ));
    }
    if let Some(tau) = found.tau.filter(|_| found.ranks_against()) {
        reasons
            .push(format!("weights rank words against what leaving them out does, mean tau {}", said(tau)));
    }
    format!("Attention contradicts what decides: {}.", reasons.join("; and "))
}

/// Why rule 2 holds.
pub(super) fn idle(found: &DebateStatistics) -> String {
    format!(
        "the weights are idle, moving them to other words changes the answer by {}, less than {IDLE}",
        said(found.moved)
    )
}

/// Why rule 3 holds.
pub(super) fn not_needed(found: &DebateStatistics) -> String {
    format!(
        "uniform weights do as well on these data, the trained ones gain {} of {} and {COUNTS} would count",
        said(found.gain),
        found.metric
    )
}

/// Rule 4, with everything that it asks for.
pub(super) fn supports(found: &DebateStatistics) -> String {
    let [tau, ratio] = [found.tau, found.ratio].map(|of| of.map_or_else(String::new, said));
    format!(
        "Attention supports reading it as an explanation of this model on these data: moving the weights changes the answer by {}, \
         the word whose removal changes the answer most has {ratio} times an equal share, weights rank words as leaving them out does \
         with a mean tau of {tau}, and erasing the top word alone flips {} more texts than erasing another.",
        said(found.moved),
        said_as_percent(found.flips)
    )
}

/// Rule 5, with what of rule 4 fails.
pub(super) fn mixed(found: &DebateStatistics) -> String {
    let failed: Vec<String> =
        found.support().iter().filter(|part| !part.holds).map(|part| failed(found, part.name)).collect();
    format!("Attention says nothing clear here: it is needed and not idle, but {}.", failed.join("; "))
}

/// What fails where a condition of rule 4 does.
fn failed(found: &DebateStatistics, condition: &str) -> String {
    let or_absent = |of: Option<Interval>, absent: &str| of.map_or_else(|| absent.to_owned(), said);
    match condition {
        "weights_move_the_answer" => {
            format!(
                "moving the weights changes the answer by {}, not surely above {MOVES}",
                said(found.moved)
            )
        }
        "decisive_words_have_much_weight" => match found.ratio {
            Some(ratio) => {
                format!(
                    "the word that decides has {} times an equal share, not surely above {MUCH}",
                    said(ratio)
                )
            }
            None => "no text has a word whose removal alone changes the answer by a tenth".to_owned(),
        },
        "ranks_as_leaving_out" => format!(
            "the mean tau with leaving words out is {}, not surely above {AGREES}",
            or_absent(found.tau, "not defined")
        ),
        "top_word_flips_more" => {
            format!(
                "erasing the top word does not surely flip more texts than another, {}",
                said(found.flips)
            )
        }
        _ => match found.removed {
            Some(removed) => {
                format!(
                    "more words must go in the order of the weights than at random, {} of all",
                    said(removed)
                )
            }
            None => "no answer flips whatever is erased".to_owned(),
        },
    }
}

/// What holds beside the verdict.
pub(super) fn further(found: &DebateStatistics, rule: u32) -> Vec<String> {
    let mut said_too = Vec::new();
    let also = |number: u32| number > rule && RULES.iter().any(|r| r.number == number && (r.holds)(found));
    if also(2) {
        said_too.push(capital(&idle(found)));
    }
    if also(3) {
        said_too.push(capital(&not_needed(found)));
    }
    if rule > 1 && found.decisive < ENOUGH_DECISIVE {
        said_too.push(format!(
            "Only {} of texts have a word whose removal alone changes the answer by a tenth, too few to hold weights below {LITTLE} of an equal share against them.",
            percent(found.decisive, 1)
        ));
    }
    if found.other_weights_would_do() {
        said_too.push(other_weights(found));
    }
    if let Some(guide) = found.guide.filter(|_| found.informs_alone().holds) {
        said_too.push(format!(
            "The weights carry information alone: a model without context gains {} of {} from them over equal weights.",
            said(guide),
            found.metric
        ));
    }
    if let Some(beyond) = found.beyond_product.filter(|_| found.points_better().holds) {
        said_too.push(format!(
            "Gradients point better: in the order of the weights {} more of the words must go before the answer flips than in that of weight times gradient.",
            said_as_percent(beyond)
        ));
    }
    said_too
}

fn other_weights(found: &DebateStatistics) -> String {
    let mut reasons = Vec::new();
    if found.other_weights.lies_above(super::MOST) {
        reasons.push(format!(
            "in {} of texts the answer stays with weights at a JSD above {FAR}",
            said_as_percent(found.other_weights)
        ));
    }
    if let Some(adversary) = found.adversary.filter(|adversary| adversary.would_do()) {
        reasons.push(format!(
            "a model trained to answer the same with a mean JSD of {:.2}, above {OTHERS}, loses {:.3} of {}",
            adversary.jsd, adversary.loss, found.metric
        ));
    }
    format!("Other weights would do: {}.", reasons.join("; "))
}

fn capital(text: &str) -> String {
    let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    format!("{}{rest}.", first.to_uppercase())
}

/// A number with its interval, as exact as its size deserves.
fn said(of: Interval) -> String {
    let decimals = match of.value.abs() {
        size if size < 1.0 => 3,
        size if size < 10.0 => 2,
        _ => 1,
    };
    let Interval { value, lower, upper } = of;
    format!("{value:.decimals$} ({lower:.decimals$} to {upper:.decimals$})")
}

fn said_as_percent(of: Interval) -> String {
    let [value, lower, upper] = [of.value, of.lower, of.upper].map(|share| 100.0 * share);
    format!("{value:.1} % ({lower:.1} to {upper:.1})")
}
