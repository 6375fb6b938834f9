//! What earlier programs wrote is still of use: reports are shown, kept answers are not asked for again.

use crate::harness::{exegete, golden};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const FORMATS: [&str; 6] = ["text", "json", "jsonl", "html", "csv", "svg"];
const SHORT: &str = "A warm film.";
/// A black box that likes texts with "warm" in them, and writes down what it is asked. The answers that are kept are
/// kept under this very command.
const WARM: &str = r#"cmd: tee -a "${ASKED:-/dev/null}" | while IFS= read -r line; do n=$(printf '%s' "$line" | grep -o '","' | wc -l); out=""; rest=${line#*[}; i=0; while [ $i -le $n ]; do text=${rest%%\",\"*}; rest=${rest#*\",\"}; case "$text" in *warm*) row='[0.1,0.9]';; *) row='[0.8,0.2]';; esac; out="$out${out:+,}$row"; i=$((i+1)); done; echo "{\"scores\":[$out],\"labels\":[\"no\",\"yes\"]}"; done"#;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/fixtures").join(name)
}

/// What `show` makes of a stored file.
fn shown(name: &str, row: &str, format: &str) -> String {
    let run = exegete(&["show", fixture(name).to_str().unwrap(), "--row", row, "--format", format]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{name} as {format}");
    run.stdout
}

#[test]
fn reports_are_shown() {
    for format in FORMATS {
        let (whole, second) = (shown("report-1.json", "1", format), shown("corpus-1.jsonl", "2", format));
        assert!(whole.contains("honest") && second.contains("bad"), "{format}: {whole}{second}");
    }
    let stored = |name: &str| fs::read_to_string(fixture(name)).unwrap();
    assert_eq!(shown("report-1.json", "1", "json"), stored("report-1.json"));
    let lines = ["1", "2"].map(|row| shown("corpus-1.jsonl", row, "jsonl")).concat();
    assert_eq!(lines, stored("corpus-1.jsonl"));
    let report: Value = serde_json::from_str(&stored("report-1.json")).unwrap();
    assert_eq!(report["items"].as_array().unwrap().len(), 3);
}

/// An explanation with a copy of stored answers: the report, what the file holds now, and what a black box was asked.
fn explained(answers: &str, args: &[&str]) -> (Value, Vec<u8>, String) {
    explained_after(&fs::read(fixture(answers)).unwrap(), args)
}

fn explained_after(answers: &[u8], args: &[&str]) -> (Value, Vec<u8>, String) {
    let folder = tempfile::tempdir().unwrap();
    let (cache, asked) = (folder.path().join("answers"), folder.path().join("asked"));
    fs::write(&cache, answers).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_exegete"));
    command.args(["explain", "--format", "json", "--cache"]).arg(&cache).args(args).env("ASKED", &asked);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report = serde_json::from_slice(&output.stdout).unwrap();
    (report, fs::read(&cache).unwrap(), fs::read_to_string(&asked).unwrap_or_default())
}

#[test]
fn an_open_model_runs_only_what_is_new() {
    let model = golden("bert-sequence");
    let args = ["--model", &model, "--method", "leave_one_out"];
    let (report, after, _) = explained("open-1.answers", &[&args[..], &[SHORT]].concat());
    // The text with everything hidden is what the program that wrote the file never asked for.
    assert_eq!(report["provenance"]["forward_rows"], 1);
    assert!(report["provenance"]["asked_rows"].as_u64() > Some(1));
    assert!(after.starts_with(&fs::read(fixture("open-1.answers")).unwrap()));
    let (again, unchanged, _) = explained_after(&after, &[&args[..], &[SHORT]].concat());
    assert_eq!(again["provenance"]["forward_rows"], 0, "and it is kept from then on");
    assert!(unchanged == after && again["items"] == report["items"]);
    let (other, ..) = explained("open-1.answers", &[&args[..], &["Other words."]].concat());
    assert!(other["provenance"]["forward_rows"].as_u64() > Some(0), "what is not kept is run");
}

#[cfg(unix)]
#[test]
fn a_black_box_is_asked_nothing_again() {
    let (report, after, asked) = explained("black-box-1.answers", &["--model", WARM, SHORT]);
    assert_eq!(report["provenance"]["forward_rows"], 0);
    assert!(report["provenance"]["asked_rows"].as_u64() > Some(0));
    assert_eq!(after, fs::read(fixture("black-box-1.answers")).unwrap());
    // Every connection is tried with a text of its own.
    assert!(asked.contains("This is a sentence.") && !asked.contains("film"), "{asked}");
    let (_, _, asked) = explained("black-box-1.answers", &["--model", WARM, "Other words."]);
    assert!(asked.contains("Other words."), "what is not kept is asked: {asked}");
}
