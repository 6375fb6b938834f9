//! What a rule says, in words and figures that every renderer shares.

use crate::figures::{interval, percent};
use crate::headline::said;
use exegete_core::Field;
use exegete_core::report::{Bounded, Rule, RuleStep};

/// A piece of a sentence.
pub(crate) struct SentencePart {
    /// The words of the piece.
    pub(crate) text: String,
    /// Whose words they are.
    pub(crate) words: Words,
}

/// Whose words some are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Words {
    /// Words that this program adds.
    Ours,
    /// Words of the text that a rule names.
    Condition,
    /// Words that the model answers with.
    Answer,
}

/// A share with its name.
pub(crate) struct Measure {
    /// The name of what is measured.
    pub(crate) name: &'static str,
    /// The share that came out, with its bounds.
    pub(crate) share: Bounded,
    /// What should be known of it; empty where the name says all.
    pub(crate) told: String,
    /// The same for whoever meets it the first time.
    pub(crate) meaning: &'static str,
}

/// Texts under a rule, of one kind.
pub(crate) struct Examples<'a> {
    /// Which kind of texts they are.
    pub(crate) title: &'static str,
    /// The texts, field by field.
    pub(crate) texts: &'a [Vec<Field>],
}

/// If … then ….
pub(crate) fn sentence(rule: &Rule) -> Vec<SentencePart> {
    let part = |text: &str, words| SentencePart { text: text.to_owned(), words };
    let mut parts = Vec::new();
    let last = rule.conditions.len().saturating_sub(1);
    for (index, unit) in rule.conditions.iter().enumerate() {
        parts.push(part(
            match index {
                0 => "if the text holds ",
                index if index == last => " and ",
                _ => ", ",
            },
            Words::Ours,
        ));
        parts.push(part(rule.units.get(*unit).map_or("?", |unit| &unit.text), Words::Condition));
        parts.extend(field_name(rule, *unit).map(|name| part(&format!(" ({name})"), Words::Ours)));
    }
    parts.push(part(if parts.is_empty() { "whatever the text holds" } else { "" }, Words::Ours));
    parts.push(part(", the answer stays ", Words::Ours));
    parts.push(part(&said(&rule.subject.prediction).decision, Words::Answer));
    let often = format!(" in {} of the texts tried", percent(rule.precision.value));
    parts.push(part(if rule.met { "" } else { &often }, Words::Ours));
    parts.retain(|part| !part.text.is_empty());
    parts
}

/// Which of several fields a unit is of.
fn field_name(rule: &Rule, unit: usize) -> Option<&str> {
    let input = &rule.subject.input;
    let field = rule.units.get(unit).and_then(|unit| input.get(unit.field))?;
    (input.len() > 1).then_some(field.name.as_str())
}

/// Precision, coverage, and what random rules reach.
pub(crate) fn measures(rule: &Rule) -> Vec<Measure> {
    let mut measures = vec![
        Measure {
            name: "precision",
            share: rule.precision,
            told: format!("asked for {}: {}", percent(rule.threshold), reached(rule)),
            meaning: "how often the answer stays where the rule applies",
        },
        Measure {
            name: "coverage",
            share: rule.coverage,
            told: String::new(),
            meaning: "how often the rule applies",
        },
    ];
    measures.extend(rule.random.map(|share| Measure {
        name: "random rules",
        share,
        told: "their mean precision".to_owned(),
        meaning: "how often the answer stays under random rules with as many conditions",
    }));
    measures
}

fn reached(rule: &Rule) -> &'static str {
    match rule.met {
        true => "met",
        false if rule.precision.value >= rule.threshold => "not shown, the interval reaches below",
        false => "not met",
    }
}

/// The heads of the table of steps.
pub(crate) const STEP_HEADS: [&str; 3] = ["it must hold", "precision", "coverage"];

/// The conditions, precision and coverage of a step.
pub(crate) fn step(rule: &Rule, step: &RuleStep) -> [String; 3] {
    let text = |unit: &usize| rule.units.get(*unit).map(|unit| format!("“{}”", unit.text));
    let conditions: Vec<String> = step.conditions.iter().filter_map(text).collect();
    let conditions = if conditions.is_empty() { "nothing".to_owned() } else { conditions.join(", ") };
    [conditions, interval(step.precision), interval(step.coverage)]
}

/// Texts that keep the answer and texts that lose it, where there are any.
pub(crate) fn examples(rule: &Rule) -> Vec<Examples<'_>> {
    let kinds = [
        Examples { title: "texts under the rule that keep the answer", texts: &rule.keeps },
        Examples { title: "texts under the rule that change it", texts: &rule.breaks },
    ];
    kinds.into_iter().filter(|kind| !kind.texts.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_core::ClassScore;
    use exegete_core::report::{Subject, UnitText, Verdict};

    fn rule(conditions: &[usize], fields: usize, met: bool) -> Rule {
        let share = Bounded { value: 0.971, low: 0.93, high: 0.99 };
        let unit = |text: &str| UnitText { text: text.to_owned(), field: 0, start: 0, end: 0 };
        let score = ClassScore { label: "positive".to_owned(), logit: None, prob: 0.9 };
        Rule {
            subject: Subject {
                method: "anchors".to_owned(),
                params: Default::default(),
                input: vec![Field { name: "premise".to_owned(), text: String::new() }; fields],
                prediction: exegete_core::Scores::Classes {
                    label: "positive".to_owned(),
                    scores: vec![score],
                },
                target: String::new(),
                value: 0.9,
                sense: Default::default(),
                notes: Vec::new(),
            },
            units: ["great", "good", "fun"].map(unit).to_vec(),
            conditions: conditions.to_vec(),
            precision: share,
            coverage: share,
            threshold: 0.95,
            met,
            steps: Vec::new(),
            keeps: Vec::new(),
            breaks: Vec::new(),
            random: None,
            verdict: Verdict::new(String::new(), Vec::new()),
        }
    }

    #[test]
    fn rules_are_sentences() {
        for (conditions, fields, met, expected) in [
            (&[0, 2][..], 1, true, "if the text holds *great* and *fun*, the answer stays =positive="),
            (&[0, 1, 2], 1, true, "if the text holds *great*, *good* and *fun*, the answer stays =positive="),
            (&[0], 2, true, "if the text holds *great* (premise), the answer stays =positive="),
            (&[], 1, true, "whatever the text holds, the answer stays =positive="),
            (&[7], 1, true, "if the text holds *?*, the answer stays =positive="),
            (
                &[0],
                1,
                false,
                "if the text holds *great*, the answer stays =positive= in 97.1 % of the texts tried",
            ),
        ] {
            let shown = |part: &SentencePart| match part.words {
                Words::Ours => part.text.clone(),
                Words::Condition => format!("*{}*", part.text),
                Words::Answer => format!("={}=", part.text),
            };
            let found: String = sentence(&rule(conditions, fields, met)).iter().map(shown).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn the_asked_for_precision_is_judged() {
        let told = |rule: &Rule| measures(rule)[0].told.clone();
        let mut short = rule(&[0], 1, false);
        assert_eq!(told(&rule(&[0], 1, true)), "asked for 95.0 %: met");
        assert_eq!(told(&short), "asked for 95.0 %: not shown, the interval reaches below");
        short.precision.value = 0.6;
        assert_eq!(told(&short), "asked for 95.0 %: not met");
    }
}
