//! Every report that is kept in the repository fits the published schema.

use exegete_testkit::misfits;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Snapshots in JSON that are no reports: a model's answers, and what a model is.
const NO_REPORTS: [&str; 2] = ["\"schema\":\"exegete.predictions/1\"", "\"max_tokens\":"];

/// The reports of a kept file: one document, or one a line. A snapshot of the program holds them between what it says of
/// the run, with words for what a clock and the number of cores say.
fn reports(text: &str) -> Vec<Value> {
    let stdout = text.split_once("--- stdout\n").map_or(text, |(_, stdout)| stdout);
    let stdout = stdout.split_once("--- stderr\n").map_or(stdout, |(stdout, _)| stdout);
    let json = stdout.replace(": SECONDS", ": 0.5").replace(": THREADS", ": 1");
    let json = json.replace(":SECONDS", ":0.5").replace(":THREADS", ":1");
    serde_json::Deserializer::from_str(&json).into_iter().map(Result::unwrap).collect()
}

/// Files below a folder whose names say that they hold JSON.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let ends = [".json", ".jsonl", ".json.txt", ".jsonl.txt"];
    let holds_json = |path: &Path| ends.iter().any(|end| path.to_string_lossy().ends_with(end));
    entries
        .flat_map(|path| match path.is_dir() {
            true => files(&path),
            false => {
                if holds_json(&path) {
                    vec![path]
                } else {
                    Vec::new()
                }
            }
        })
        .collect()
}

fn schema() -> Value {
    let document = include_str!("../../../../docs/report.schema.json");
    serde_json::from_str(document).unwrap()
}

#[test]
fn every_kept_report_fits() {
    let (schema, mut fitting) = (schema(), 0);
    for folder in ["tests/program/snapshots", "tests/program/fixtures", "../render/tests"] {
        for path in files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)) {
            let text = fs::read_to_string(&path).unwrap();
            if NO_REPORTS.iter().any(|sign| text.contains(sign)) {
                continue;
            }
            let reports = reports(&text);
            assert!(!reports.is_empty(), "{}", path.display());
            for report in reports {
                assert_eq!(misfits(&schema, &report), [""; 0], "{}", path.display());
                fitting += 1;
            }
        }
    }
    assert!(fitting > 80, "{fitting}");
}

/// What is changed in a report that fits, and what is said of it.
#[test]
fn a_report_with_a_fault_does_not_fit() {
    let whole = include_str!("fixtures/report-1.json");
    for (place, value, said) in [
        ("/schema", Value::from("exegete.report/2"), "schema: is"),
        ("/provenance/seed", Value::from(-1), "provenance.seed: is -1"),
        ("/items/0/values/1", Value::Null, "items[0].values[1]: is null"),
        ("/items/0/kind", Value::from("story"), "items[0].kind: is"),
        ("/items/0/checks/flip/before/1", Value::from("0.6"), "items[0].checks"),
        ("/items/1/threshold", Value::from("95 %"), "items[1].threshold: is"),
        ("/items/2/found", Value::Null, "items[2].found: is null"),
    ] {
        let mut report: Value = serde_json::from_str(whole).unwrap();
        *report.pointer_mut(place).unwrap() = value;
        let found = misfits(&schema(), &report);
        assert!(found.iter().any(|misfit| misfit.contains(said)), "{place}: {found:?}");
    }
}
