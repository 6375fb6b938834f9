//! Rules as rows: one for each step, numbered, and one for the rule itself.

use super::{Row, number, word};
use exegete_core::report::{Bounded, Rule, RuleStep};

#[rustfmt::skip]
pub(super) const HEAD: [&str; 18] = [
    "item", "method", "target", "answer", "step", "units", "conditions",
    "precision", "precision_low", "precision_high", "coverage", "coverage_low", "coverage_high",
    "threshold", "met", "random", "random_low", "random_high",
];

/// The last row, `rule`, says what was asked for and what random rules reach.
pub(super) fn rows(item: usize, rule: &Rule) -> Vec<Row> {
    let whole =
        RuleStep { conditions: rule.conditions.clone(), precision: rule.precision, coverage: rule.coverage };
    let steps = rule.steps.iter().enumerate();
    let mut rows: Vec<Row> =
        steps.map(|(index, step)| row(item, rule, &index.to_string(), step, Default::default())).collect();
    let random = rule.random.map_or_else(Default::default, bounds);
    let [value, low, high] = random;
    let judged = [number(rule.threshold), rule.met.to_string(), value, low, high];
    rows.push(row(item, rule, "rule", &whole, judged));
    rows
}

fn row(item: usize, rule: &Rule, name: &str, step: &RuleStep, judged: [String; 5]) -> Row {
    let subject = &rule.subject;
    let answer = crate::headline::said(&subject.prediction).decision;
    let indices: Vec<String> = step.conditions.iter().map(usize::to_string).collect();
    let texts: Vec<&str> = step
        .conditions
        .iter()
        .filter_map(|unit| rule.units.get(*unit))
        .map(|unit| unit.text.as_str())
        .collect();
    let head =
        [item.to_string(), word(&subject.method), word(&subject.target), word(&answer), name.to_owned()];
    let conditions = [indices.join(" "), word(&texts.join(" & "))];
    let shares = bounds(step.precision).into_iter().chain(bounds(step.coverage));
    head.into_iter().chain(conditions).chain(shares).chain(judged).collect()
}

fn bounds(share: Bounded) -> [String; 3] {
    [share.value, share.low, share.high].map(number)
}
