//! What an experiment over many texts hands back: a verdict, tables with intervals, rows of objects.

use super::HOSTILE;
use exegete_core::report::{Cell, Finding, Item, Judgement, ReportRow, Rows, Table};
use serde_json::json;

/// A verdict first, then what it rests on.
pub(crate) fn items() -> [Item; 3] {
    [Item::Verdict(verdict()), Item::Table(flips()), Item::Rows(heads())]
}

/// One that rests on three numbers, of which one decides nothing.
pub(crate) fn verdict() -> Judgement {
    let finding = |check: &str, measured, threshold, passed| Finding {
        check: check.to_owned(),
        measured,
        threshold,
        passed,
    };
    Judgement {
        name: "debate".to_owned(),
        verdict: "says_nothing".to_owned(),
        rule: Some(2),
        sentences: vec![
            "This data set can say nothing: uniform weights do as well as trained ones (F1 0.812 against 0.815)."
                .to_owned(),
            "The weights that an adversary found differ by 0.61 at the same answer.".to_owned(),
        ],
        findings: vec![
            finding("uniform", Some(0.003), Some(0.02), Some(true)),
            finding("jsd", Some(0.61), Some(0.4), Some(false)),
            finding("tau", None, Some(0.25), None),
        ],
        notes: vec!["12 texts of fewer than 6 words are left out".to_owned()],
    }
}

/// Shares with their intervals.
fn flips() -> Table {
    let row = |top: &str, random: &str, value: f64| {
        let [top, random] = [top, random].map(|word| Cell::Word(word.to_owned()));
        vec![top, random, Cell::Interval { value, lower: value - 0.021, upper: value + 0.024 }]
    };
    Table {
        name: "flips".to_owned(),
        title: "Texts whose answer changes without the word".to_owned(),
        columns: ["top", "random", "share"].map(str::to_owned).to_vec(),
        rows: vec![
            row("yes", "yes", 0.034),
            row("yes", "no", 0.128),
            row("no", "yes", 0.022),
            row("no", "no", 0.816),
        ],
        notes: vec!["816 texts; 56 have one word only".to_owned()],
        ..Table::default()
    }
}

/// A head an object, with a list that only programs read.
fn heads() -> Rows {
    let head = |n: u32| {
        let [layer, head] = [n / 4, n % 4];
        let entropy = 0.4 + f64::from(n * 7 % 24) / 8.0;
        ReportRow::default()
            .with("layer", layer)
            .with("head", head)
            .with("pattern", ["diagonal", "vertical", "mixed"][n as usize % 3])
            .with("entropy", entropy)
            .with("distance", json!({"value": f64::from(n) / 4.0, "lower": f64::from(n) / 5.0, "upper": 7.5}))
            .with("token", if n.is_multiple_of(5) { json!("[SEP]") } else { json!(null) })
            .with("weights", json!([0.25, 0.5, 0.25]))
    };
    Rows {
        name: "heads".to_owned(),
        title: "What each head looks at".to_owned(),
        rows: (0..24).map(head).collect(),
        notes: vec!["entropy in bits, distance in tokens".to_owned()],
        ..Rows::default()
    }
}

/// The same with text that tries everything.
pub(super) fn hostile() -> [Item; 2] {
    let mut judgement = verdict();
    (judgement.name, judgement.verdict) = (HOSTILE.to_owned(), HOSTILE.to_owned());
    judgement.sentences.push(HOSTILE.to_owned());
    judgement.findings[0].check = HOSTILE.to_owned();
    let mut rows = heads();
    (rows.name, rows.title) = (HOSTILE.to_owned(), String::new());
    rows.rows.truncate(2);
    rows.rows.push(ReportRow::default().with(HOSTILE, HOSTILE).with("list", json!([HOSTILE])));
    rows.notes = vec![HOSTILE.to_owned()];
    [Item::Verdict(judgement), Item::Rows(rows)]
}
