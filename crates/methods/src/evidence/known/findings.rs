//! What a verdict says is what its findings say.

use super::{Bench, Level, scored};
use crate::evidence::CHECKS;
use exegete_core::report::{Checks, Finding, Verdict};
use exegete_core::task;
use std::collections::BTreeSet;

const TEXT: &str = "p5 n20 p10 p90 n2 p4 n1 p70 a p3 n15 p8 p2 n4 p30 p1 n30 p6 b p3";

/// What says how each check is judged.
const PAGE: &str = include_str!("../../../../../docs/evidence.md");

/// The verdict on the weights of the words times a factor.
fn verdict(text: &str, factor: f64) -> Verdict {
    let bench = Bench::new(&task::CLASSIFICATION, 1.0, text, "predicted");
    let values: Vec<f64> = bench.oracle().iter().map(|weight| factor * weight).collect();
    bench.check(&values, true).verdict.unwrap()
}

fn finding<'v>(verdict: &'v Verdict, check: &str) -> &'v Finding {
    verdict.findings.iter().find(|finding| finding.check == check).unwrap()
}

/// Whether a number keeps its threshold, as `docs/evidence.md` has it.
pub(super) fn keeps(Finding { check, measured, threshold, .. }: &Finding) -> bool {
    let (measured, threshold) = (measured.unwrap(), threshold.unwrap());
    let name = check.replace('_', " ");
    let row = PAGE.contains(&format!("\n| {name} | "));
    assert!(row, "docs/evidence.md has no row for '{name}' in the table of its verdict");
    match check.as_str() {
        "precision" | "goal_reached" | "search_complete" => measured >= threshold,
        "random_rules" | "random_edits" | "held_out" => measured < threshold,
        "random_triggers" => measured > threshold,
        "completeness" | "cancelling" | "chance" | "randomisation" | "sensitivity" | "swap" => {
            measured <= threshold
        }
        "distinct_scores" | "stability" => measured >= threshold,
        "zero_scores" | "infidelity" | "head_randomisation" => measured > threshold,
        _ => panic!("no line here says when {check} keeps its threshold"),
    }
}

/// The findings of a rule or an edit are these, each judged as its number is, and the failures are as many as failed.
pub(crate) fn agrees(verdict: &Verdict, expected: &[(&str, bool)]) {
    let judged = |finding: &Finding| (finding.check.clone(), finding.passed.unwrap());
    let found: Vec<(String, bool)> = verdict.findings.iter().map(judged).collect();
    let expected: Vec<(String, bool)> =
        expected.iter().map(|(check, passed)| ((*check).to_owned(), *passed)).collect();
    assert_eq!(found, expected, "{verdict:?}");
    assert!(verdict.findings.iter().all(|finding| Some(keeps(finding)) == finding.passed), "{verdict:?}");
    assert_eq!(verdict.failures.len(), expected.iter().filter(|(_, passed)| !passed).count(), "{verdict:?}");
}

#[test]
fn every_check_has_a_name_that_the_page_explains() {
    let explains = |line: &str, name: &str| {
        let row = line.strip_prefix("| ").and_then(|row| row.split(" |").next()) == Some(name);
        row || line.strip_prefix("### ").is_some_and(|title| title.split(" and ").any(|part| part == name))
    };
    let mut names = BTreeSet::new();
    for check in CHECKS {
        let name = check.name.replace('_', " ");
        assert!(PAGE.lines().any(|line| explains(line, &name)), "docs/evidence.md does not explain '{name}'");
        assert!(names.insert(check.name), "two checks are called '{name}'");
    }
    assert!(!PAGE.lines().any(|line| explains(line, "top half")));
}

#[test]
fn right_and_wrong_scores_are_told_apart_by_number() {
    let (right, wrong) = (verdict(TEXT, 1.0), verdict(TEXT, -1.0));
    let expected = [
        "flip",
        "zero_scores",
        "distinct_scores",
        "chance",
        "comprehensiveness",
        "sufficiency",
        "leave_one_out",
    ];
    for (verdict, passed) in [(&right, true), (&wrong, false)] {
        let names: Vec<&str> = verdict.findings.iter().map(|finding| finding.check.as_str()).collect();
        assert_eq!(names, expected, "the findings of the default level, in the order of `CHECKS`");
        assert_eq!(finding(verdict, "chance").passed, Some(passed));
        assert_eq!(keeps(finding(verdict, "chance")), passed);
        for name in &expected[4..] {
            let shown = finding(verdict, name);
            assert!(shown.measured.is_some() && (shown.threshold, shown.passed) == (None, None), "{name}");
        }
        assert_eq!(verdict.failures.len(), usize::from(!passed));
    }
    let flip = finding(&right, "flip");
    assert_eq!((flip.measured, flip.threshold, flip.passed), (Some(2.0), None, None));
    let flat = verdict(TEXT, 0.0);
    let zero = finding(&flat, "zero_scores");
    assert_eq!((zero.measured, zero.passed), (Some(0.0), Some(false)));
    assert!(flat.findings.iter().all(|found| found.check != "distinct_scores"), "they are told so once");
    assert_eq!(flat.failures[0], "all scores are 0: they rank nothing");
    assert_eq!(finding(&flat, "chance").passed, Some(false), "the text could have shown more");
}

#[test]
fn what_a_text_cannot_show_is_undecided() {
    let short = verdict("p5 n20 p10", 1.0);
    let found = finding(&short, "chance");
    assert_eq!((found.measured, found.threshold, found.passed), (None, Some(0.015), None));
    let four = verdict("p5 n20 p10 p7", 1.0);
    let found = finding(&four, "chance");
    assert_eq!((found.measured, found.passed), (Some(1.0 / 24.0), None), "the best that four words allow");
    let one_decides = verdict("p90 a b c d e f g", 1.0);
    assert_eq!(finding(&one_decides, "chance").passed, None);
    assert!(one_decides.failures.is_empty());
    let one = verdict("p5", 1.0);
    let found = finding(&one, "comprehensiveness");
    assert!(found.measured.is_some() && found.threshold.is_none() && found.passed.is_none(), "{found:?}");
    assert_eq!(finding(&one, "leave_one_out").measured, None);
    assert!(one.findings.iter().all(|finding| finding.check != "distinct_scores"), "it does not apply");
}

/// What is no number is written as null and does not pass.
#[test]
fn sums_are_judged_as_well() {
    let bench = Bench::new(&task::CLASSIFICATION, 1.0, TEXT, "predicted");
    let judged = |sum: f64, difference: f64| {
        let sums = exegete_core::report::Completeness::new([sum], difference);
        let checks = Checks { completeness: Some(sums), ..Checks::default() };
        let explained = scored(&bench.oracle(), true);
        let verdict =
            bench.evidence().check(Level::Default, &explained, None, checks).unwrap().verdict.unwrap();
        ["completeness", "cancelling"].map(|name| finding(&verdict, name).clone())
    };
    let [gap, cancelling] = judged(1.0, 1.0);
    assert_eq!((gap.measured, gap.threshold, gap.passed), (Some(0.0), Some(0.05), Some(true)));
    assert!(cancelling.passed == Some(true) && keeps(&cancelling), "{cancelling:?}");
    let [gap, _] = judged(f64::NAN, 1.0);
    assert_eq!((gap.measured, gap.passed), (None, Some(false)));
    let [gap, _] = judged(1.0, 1e-9);
    assert!(gap.passed == Some(false) && !keeps(&gap), "{gap:?}");
    let [_, cancelling] = judged(0.0, 0.0);
    assert_eq!((cancelling.measured, cancelling.threshold, cancelling.passed), (None, Some(100.0), None));
}
