//! What the model says, in a few words.

use crate::figures::{figure, percent};
use crate::sense::explained;
use exegete_core::report::{Attribution, Provenance, Subject};
use exegete_core::{Brief, NumberWords, Scores};

/// A prediction in words.
pub(crate) fn said(answered: &Scores) -> Brief {
    answered.shape().brief(NumberWords { number: figure, share: percent })
}

/// The decision and its probability: `negative 98.7 %`.
pub(crate) fn decided(answered: &Scores) -> String {
    let Brief { decision, probability, .. } = said(answered);
    probability.map_or_else(|| decision.clone(), |p| format!("{decision} {}", percent(p)))
}

/// What the model already gives without the text, where the method compares the text with something.
pub(crate) fn baseline(attribution: &Attribution) -> Option<String> {
    let Attribution { subject, baseline_value, .. } = attribution;
    let value = baseline_value.filter(|value| value.is_finite())?;
    let compared = subject.params.get("baselines").and_then(|value| value.as_array());
    let names: Option<Vec<&str>> =
        compared.map(|names| names.iter().filter_map(|name| name.as_str()).collect());
    let what = match names {
        Some(names) => format!("its baseline ({})", names.join(", ")),
        None => "a text with everything hidden".to_owned(),
    };
    let of_class = subject.target.starts_with("class:") && subject.target.ends_with(":prob");
    Some(match (of_class, compared.is_none()) {
        (true, true) => format!("an empty text already gives {value:.2}"),
        (true, false) => format!("{what} already gives {value:.2}"),
        _ => format!("{what} gives {}", figure(value)),
    })
}

/// What is explained, and how: what attributions of one text share is named, what differs is counted.
pub(crate) fn asked(members: &[&Attribution]) -> String {
    let Some(first) = members.first() else { return String::new() };
    let shared = |of: fn(&Attribution) -> &str, noun: &str| {
        let mut different: Vec<&str> = members.iter().map(|member| of(member)).collect();
        different.sort_unstable();
        different.dedup();
        match different.as_slice() {
            [only] => Ok((*only).to_owned()),
            several => Err(format!("{} {noun}s", several.len())),
        }
    };
    let target = shared(|member| &member.subject.target, "target");
    let target = target
        .map_or_else(|many| many, |one| format!("{} = {}", explained(&one), figure(first.subject.value)));
    let method = shared(|member| &member.subject.method, "method").unwrap_or_else(|many| many);
    let site = match shared(|member| &member.site, "site").unwrap_or_else(|many| many).as_str() {
        // Nothing inside the model was looked at.
        "input" => String::new(),
        site => format!(" at {site}"),
    };
    let sampled = if let [only] = members { sampled(&only.subject) } else { String::new() };
    format!("{target} by {method}{site}{sampled}")
}

/// The same for a rule and for edits.
pub(crate) fn asked_of(subject: &Subject) -> String {
    let Subject { target, value, method, .. } = subject;
    format!("{} = {} by {method}{}", explained(target), figure(*value), sampled(subject))
}

/// How many samples a method took, and how well a local model fits them; empty where it says neither.
pub(crate) fn sampled(subject: &Subject) -> String {
    let number = |key: &str| subject.params.get(key).and_then(serde_json::Value::as_f64);
    let counted = |key: &str, noun: &str| {
        let whole = number(key).filter(|n| *n >= 0.0 && n.fract() == 0.0)?;
        Some(format!(", {}", crate::figures::count(whole as usize, noun)))
    };
    let fit = number("r2").map(|fit| format!(", local R² {}", figure(fit)));
    [counted("samples", "sample"), counted("draws", "draw"), fit].into_iter().flatten().collect()
}

/// What a report cost.
pub(crate) fn cost(provenance: &Provenance) -> String {
    let Provenance { asked_rows, forward_rows, backward_rows, seconds, threads, .. } = provenance;
    let rows = |number: usize, way: &str| crate::figures::count(number, &format!("{way} row"));
    // Rows that were asked for again are remembered, so fewer may run; older reports do not say how many were asked for.
    let forward = if asked_rows > forward_rows {
        format!("{} asked, {forward_rows} run", rows(*asked_rows, "forward"))
    } else {
        rows(*forward_rows, "forward")
    };
    format!(
        "{forward}, {}, {} s on {}",
        rows(*backward_rows, "backward"),
        figure(*seconds),
        crate::figures::count(*threads, "thread")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_core::{Answer, ClassScore, Fill, Span, Tag, TokenScore};

    fn score(label: &str, prob: f64) -> ClassScore {
        ClassScore { label: label.to_owned(), logit: None, prob }
    }

    fn tag(text: &str, label: &str) -> Tag {
        Tag {
            text: text.to_owned(),
            span: Span { field: 0, start: 0, end: 1 },
            label: label.to_owned(),
            prob: 0.9,
        }
    }

    #[test]
    fn every_task_has_words() {
        let many: Vec<_> = (0..9).map(|n| score(&n.to_string(), 0.1)).collect();
        let answer = |answer: &str| Answer { answer: answer.to_owned(), span: None, score: 3.0, prob: 0.75 };
        let fill =
            Fill { position: 4, top: vec![TokenScore { piece: "good".to_owned(), logit: 1.0, prob: 0.5 }] };
        let both = vec!["a".to_owned(), "b".to_owned()];
        for (answered, decision, probability, others) in [
            (
                Scores::Classes { label: "0".into(), scores: many },
                "0",
                Some(0.1),
                "1 10.0 %, 2 10.0 %, 3 10.0 %, 4 10.0 % and 4 more",
            ),
            (
                Scores::Labels {
                    label: "a".into(),
                    labels: both,
                    scores: vec![score("a", 0.9), score("b", 0.6), score("c", 0.1)],
                },
                "a, b",
                None,
                "c 10.0 %",
            ),
            (
                Scores::Labels { label: "a".into(), labels: vec![], scores: vec![score("a", 0.2)] },
                "a",
                Some(0.2),
                "",
            ),
            (Scores::Value { value: 2.5 }, "2.50", None, ""),
            (Scores::Answer(answer("in Paris")), "“in Paris”", Some(0.75), ""),
            (Scores::Answer(answer("")), "no answer", Some(0.75), ""),
            (Scores::Tags { tags: vec![tag("Ann", "PER"), tag("is", "O")] }, "Ann PER", None, ""),
            (Scores::Fills { masks: vec![fill] }, "token 4: good 50.0 %", None, ""),
            (Scores::Written { text: "b a".into(), log_prob: -0.5, words: vec![] }, "“b a”", None, ""),
            (Scores::Vector { vector: vec![0.0; 3] }, "a vector of 3", None, ""),
        ] {
            let said = said(&answered);
            assert_eq!(
                (said.decision.as_str(), said.probability, said.others.as_str()),
                (decision, probability, others)
            );
        }
    }
}
