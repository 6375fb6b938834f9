//! What was stumbled over once: small requests whose answer was wrong, and now is right or one line.

use crate::harness::{assert_error, exegete};
use std::fs;
use tempfile::tempdir;

const TEXT: &str = "A warm and honest film.";

#[test]
fn rows_of_files_are_counted_from_one() {
    let folder = tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    assert_eq!(exegete(&["explain", TEXT, "--no-check", "--format", "json", "-o", &at("r.json")]).code, 0);
    fs::write(at("t.txt"), format!("{TEXT}\nBoring stuff!\n")).unwrap();
    let many = ["explain", "--input", &at("t.txt"), "--no-check", "--format", "jsonl", "-o", &at("r.jsonl")];
    assert_eq!(exegete(&many).code, 0);
    assert_error(&exegete(&["show", &at("r.jsonl"), "--row", "0"]), &["counted from 1"]);
    assert_error(&exegete(&["show", &at("r.jsonl"), "--row", "3"]), &["no row 3"]);
    assert_error(&exegete(&["show", &at("r.json"), "--row", "2"]), &["one report", ".jsonl"]);
    assert!(exegete(&["show", &at("r.jsonl"), "--row", "2"]).stdout.contains("Boring"));
}

#[test]
fn a_fit_to_one_sample_explains_nothing() {
    let run = exegete(&["explain", TEXT, "--method", "lime", "--set", "samples=1", "--format", "json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("\"r2\": null"), "{}", run.stdout);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let item = &report["items"][0];
    assert!(item["errors"].as_array().is_none_or(Vec::is_empty), "{}", item["errors"]);
    let note = "one sample is the whole text alone and fits nothing: these weights are a guess, and no error can be given";
    assert_eq!(item["notes"][0], note);
}

#[test]
fn a_budget_that_ends_compares_like_with_like() {
    let run =
        exegete(&["explain", TEXT, "--method", "lime", "--set", "budget=20", "--set", "tolerance=0.0001"]);
    let told = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("% of the largest score, above the tolerance of 0.01 %"), "{}", run.stdout);
}

#[test]
fn columns_and_labels_are_what_they_are_called() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("rows.tsv");
    let path = file.to_string_lossy().into_owned();
    fs::write(&file, "text\tlabel\ttext\na film\tpositive\tb\n").unwrap();
    assert_error(&exegete(&["predict", "--input", &path]), &["line 1", "two columns are called 'text'"]);
    fs::write(&file, "text\tlabel\na film\tpositive\nb film\tsplendid\n").unwrap();
    let run = exegete(&["predict", "--input", &path, "--label-column", "label"]);
    assert_error(&run, &["'splendid' is no label", "negative, positive"]);
}

#[test]
fn what_was_learned_from_is_not_held_out() {
    let folder = tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let rows = "text\tlabel\na good film\tpositive\na bad film\tnegative\n";
    fs::write(at("a.tsv"), rows).unwrap();
    fs::write(at("b.tsv"), "text\tlabel\nA good  film!\tpositive\nanother one\tnegative\n").unwrap();
    let files = ["--input", &at("a.tsv"), "--held-out", &at("b.tsv"), "--label-column", "label"];
    let run = exegete(&[&["explain", "--method", "triggers"], &files[..]].concat());
    assert_error(&run, &["1 of the 2 rows of --held-out", "rows of --input"]);
}
