//! `exegete data make`.

use crate::harness::{assert_error, exegete, exegete_in};
use crate::snapshot::assert_snapshot;
use serde_json::Value;
use std::fs;

fn make(args: &[&str]) -> crate::harness::Run {
    exegete(&[&["data", "make"], args].concat())
}

/// What must stay the same on every machine and in every version.
#[test]
fn the_list_and_three_rows_of_every_set() {
    let list = make(&[]);
    assert_snapshot("data/list", &list, None);
    let names: Vec<&str> = list.stdout.lines().skip(1).filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names.len(), 16, "{names:?}");
    for name in names {
        assert_snapshot(&format!("data/{name}"), &make(&[name, "--rows", "3"]), None);
    }
}

#[test]
fn a_longer_file_begins_with_the_shorter_one() {
    let [short, long, other] = [&["--rows", "7"][..], &["--rows", "12"], &["--rows", "12", "--seed", "1"]]
        .map(|args| {
            let run = make(&[&["babi2"], args].concat());
            assert_eq!((run.code, run.stderr.as_str()), (0, ""));
            run.stdout
        });
    assert_eq!((short.lines().count(), long.lines().count()), (8, 13));
    assert!(long.starts_with(&short) && long != other);
    assert_eq!(make(&["babi2"]).stdout.lines().count(), 2001);
}

/// All formats hold the same cells.
#[test]
fn formats_follow_the_name_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let written = |name: &str| {
        let run = exegete_in(folder.path(), &["data", "make", "aspect", "--rows", "20", "-o", name]);
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
        fs::read_to_string(folder.path().join(name)).unwrap()
    };
    let [tsv, bare, csv, jsonl] = ["a.tsv", "a", "a.csv", "a.jsonl"].map(written);
    assert_eq!(tsv, bare);
    assert_eq!(make(&["aspect", "--rows", "20", "--format", "jsonl"]).stdout, jsonl);
    assert!(jsonl.starts_with("{\"text\":") && csv.starts_with("text,pair,label,truth\n"));
    let rows: Vec<Vec<&str>> = tsv.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    let columns = ["text", "pair", "label", "truth"];
    assert_eq!(jsonl.lines().count(), rows.len());
    for (line, row) in jsonl.lines().zip(&rows) {
        let object: Value = serde_json::from_str(line).unwrap();
        assert_eq!(columns.map(|name| object[name].as_str().unwrap()), row[..]);
    }
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert!(records.iter().map(|record| record.iter().collect::<Vec<_>>()).eq(rows));
    assert!(csv.contains(" , "), "no cell with a comma was tried");
}

#[test]
fn plain_lines_are_for_language_models() {
    let run = make(&["brackets", "--rows", "20", "--format", "txt"]);
    assert_eq!((run.code, run.stdout.lines().count()), (0, 20));
    assert!(run.stdout.chars().all(|c| "()[]\n".contains(c)), "{}", run.stdout);
    assert_error(
        &make(&["keyword", "-o", "x.txt"]),
        &["keyword has labels", "brackets, name_copy, key_value, agreement"],
    );
}

#[test]
fn absurd_requests_are_one_line() {
    for (args, told) in [
        (&["keywrod"][..], "'keywrod' is no set of data; did you mean keyword?"),
        (&["planted"], "'planted' is no set of data"),
        (&["keyword", "--rows", "0"], "rows=0: must be a whole number from 1 to 10,000,000"),
        (&["keyword", "--rows", "999999999999"], "must be a whole number from 1 to 10,000,000"),
        (&["keyword", "--rows", "-1"], "-1"),
        (&["keyword", "--rows", "many"], "many"),
        (&["keyword", "--seed", "-1"], "-1"),
        (&["copy", "--vocabulary", "0"], "vocabulary=0: must be a whole number from 1 to 100,000"),
        (&["keyword", "--vocabulary", "0"], "keyword knows no 'vocabulary'"),
        (&["keyword", "--set", "colour=red"], "keyword knows no 'colour' (colour=red); it knows max, min"),
        (&["keyword", "--set", "min"], "'min' sets nothing"),
        (&["keyword", "--set", "min=999999999999"], "from 1 to 1,000"),
        (&["keyword", "-o", "x.json"], "x.json: unknown kind of file"),
        (&["keyword", "-o", "/nowhere/at/all.tsv"], "/nowhere/at/all.tsv: cannot be written"),
    ] {
        assert_error(&make(args), &[told]);
    }
    assert_error(&exegete(&["data"]), &["make"]);
}
