//! `docs/report.md` explains every field of every report that is kept as a snapshot.

use crate::harness::root;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

/// What these hold is explained elsewhere: the page of a method, and the help of a command.
const ELSEWHERE: [&str; 2] = ["params", "request"];

#[test]
fn every_field_of_a_report_is_explained() {
    let mut fields = BTreeSet::new();
    for entry in fs::read_dir(root().join("crates/exegete/tests/program/snapshots/explain")).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().ends_with(".json.txt") {
            collect(&report(&fs::read_to_string(&path).unwrap()), &mut fields);
        }
    }
    let page = fs::read_to_string(root().join("docs/report.md")).unwrap();
    let missing: Vec<&String> = fields.iter().filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert!(fields.len() > 80 && fields.contains("token_values"), "{fields:?}");
    assert!(missing.is_empty(), "docs/report.md says nothing of {missing:?}");
}

/// The report in a snapshot of a run, whose clock is masked.
fn report(snapshot: &str) -> Value {
    let output =
        snapshot.split_once("--- stdout\n").and_then(|(_, rest)| rest.split_once("--- stderr")).unwrap().0;
    serde_json::from_str(&output.replace("SECONDS", "0").replace("THREADS", "0")).unwrap()
}

fn collect(value: &Value, fields: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            fields.extend(object.keys().cloned());
            let inner = object.iter().filter(|(name, _)| !ELSEWHERE.contains(&name.as_str()));
            inner.for_each(|(_, value)| collect(value, fields));
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, fields)),
        _ => {}
    }
}
