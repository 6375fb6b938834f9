//! What an experiment comes to, in the words that all formats share.

use exegete_core::report::{Cell, Finding, Judgement, Table};

/// The verdict for people.
pub(crate) fn word(judgement: &Judgement) -> String {
    let [name, verdict] = [&judgement.name, &judgement.verdict].map(|word| word.replace('_', " "));
    let rule = judgement.rule.map_or_else(String::new, |rule| format!(" (rule {rule})"));
    format!("{name}: {verdict}{rule}")
}

/// The numbers behind the sentences.
pub(crate) fn findings(judgement: &Judgement) -> Table {
    let number = |value: Option<f64>| value.map_or(Cell::Empty, Cell::Number);
    let row = |finding: &Finding| {
        let held = match finding.passed {
            Some(true) => "yes",
            Some(false) => "no",
            None => "undecided",
        };
        vec![
            Cell::Word(finding.check.clone()),
            number(finding.measured),
            number(finding.threshold),
            Cell::Word(held.to_owned()),
        ]
    };
    Table {
        title: "What was measured".to_owned(),
        columns: ["check", "measured", "threshold", "holds"].map(str::to_owned).to_vec(),
        rows: judgement.findings.iter().map(row).collect(),
        ..Table::default()
    }
}
