//! `exegete attention debate`: models are trained, tested and judged in one go, and what cannot be debated is said first.

use crate::harness::{Run, assert_error, exegete};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Rows in which one word decides, among others that say nothing.
fn rows(count: usize, seed: usize) -> String {
    let fillers = ["the", "film", "was", "on", "for", "an", "hour", "again"];
    let row = |i: usize| {
        let at = i * 7 + seed;
        let mut words: Vec<&str> = (0..7 + at % 4).map(|w| fillers[(w * 3 + at) % fillers.len()]).collect();
        let (word, label) = if i.is_multiple_of(2) { ("good", "yes") } else { ("bad", "no") };
        let place = at % words.len();
        words.insert(place, word);
        format!("{}\t{label}\n", words.join(" "))
    };
    format!("text\tlabel\n{}", (0..count).map(row).collect::<String>())
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write("train.tsv", &rows(64, 1));
        folder.write("dev.tsv", &rows(24, 5));
        folder
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).to_string_lossy().into_owned()
    }

    fn write(&self, name: &str, content: &str) -> String {
        fs::write(self.at(name), content).unwrap();
        self.at(name)
    }

    fn args(&self, args: &[&str]) -> Vec<String> {
        let (train, dev) = (self.at("train.tsv"), self.at("dev.tsv"));
        let small = ["--embedding", "6", "--hidden", "4", "--epochs", "3", "--seeds", "3"];
        let all = [&["attention", "debate", "--train", &train, "--dev", &dev], &small[..], args].concat();
        all.into_iter().map(str::to_owned).collect()
    }

    fn debate(&self, args: &[&str]) -> Run {
        exegete(&borrowed(&self.args(args)))
    }
}

fn borrowed(args: &[String]) -> Vec<&str> {
    args.iter().map(String::as_str).collect()
}

fn item<'a>(report: &'a Value, name: &str) -> &'a Value {
    let items = report["items"].as_array().unwrap();
    items.iter().find(|item| item["name"] == name).unwrap_or_else(|| panic!("{name} is missing"))
}

fn report(path: &str) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_debate_is_one_verdict_with_every_number_behind_it() {
    let folder = Folder::new();
    let out = folder.at("debate.json");
    let run = folder.debate(&["--kinds", "none,gru:dot", "-o", &out]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(!Path::new(&folder.at("debate.json.unfinished")).exists());
    assert!(!Path::new(&folder.at("debate.json.unfinished.models")).exists());
    let report = report(&out);
    let verdict = &report["items"][0];
    assert_eq!((&verdict["kind"], &verdict["name"]), (&json!("verdict"), &json!("debate")));
    assert!(["supports", "contradicts", "says_nothing"].contains(&verdict["verdict"].as_str().unwrap()));
    assert!((1..=5).contains(&verdict["rule"].as_u64().unwrap()));
    for finding in verdict["findings"].as_array().unwrap() {
        assert!(finding["check"].is_string() && finding["threshold"].is_number(), "{finding}");
    }
    for (name, columns) in [
        ("correlation", &["kind", "seed", "epoch", "class", "with", "tau", "sd", "significant", "texts"][..]),
        ("permutation", &["kind", "seed", "bin", "class", "median_tvd", "texts"]),
        ("adversary", &["kind", "seed", "class", "jsd_mean", "share_above", "texts"]),
        ("concentration", &["kind", "seed", "words_90", "share", "texts"]),
        ("flips", &["kind", "seed", "top", "random", "share"]),
        ("training", &["kind", "arm", "seed", "f1", "accuracy", "tvd", "jsd", "lambda"]),
        (
            "removed",
            &[
                "kind",
                "seed",
                "ranking",
                "median",
                "lower",
                "upper",
                "q1",
                "q3",
                "whisker_low",
                "whisker_high",
                "undecided",
            ],
        ),
        ("published", &["statistic", "published", "ours", "lower", "upper", "data", "about"]),
    ] {
        assert_eq!(item(&report, name)["columns"], json!(columns), "{name}");
    }
    let flips = item(&report, "flips")["rows"].as_array().unwrap();
    let of = |kind: &str, seed: u64| {
        flips.iter().filter(|row| row[0] == kind && row[1] == json!(seed as f64)).count()
    };
    assert_eq!((flips.len(), of("none", 2), of("gru:dot", 0)), (2 * 3 * 4, 4, 4), "{flips:?}");
    assert!(report["items"].as_array().unwrap().iter().all(|item| item["name"] != "truth"));
    assert_eq!(report["request"]["files"].as_array().unwrap().len(), 2);
}

/// The same rows in tables without a header, cut elsewhere, come to the same.
#[test]
fn tables_may_lack_a_header_and_be_cut_elsewhere() {
    let folder = Folder::new();
    let verdict = |args: &[&str]| {
        let run = folder.debate(&[&["--kinds", "none", "--format", "json"], args].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        serde_json::from_str::<Value>(&run.stdout).unwrap()["items"][0].clone()
    };
    let usual = verdict(&[]);
    for name in ["train.tsv", "dev.tsv"] {
        let rows = fs::read_to_string(folder.at(name)).unwrap();
        let (_, bare) = rows.split_once('\n').unwrap();
        folder.write(name, &bare.replace('\t', "|"));
    }
    assert_eq!(verdict(&["--no-header", "--delimiter", "|"]), usual);
}

#[test]
fn generated_rows_come_with_their_truth() {
    let args = ["--rows", "60", "--kinds", "none", "--seeds", "3", "--embedding", "6", "--epochs", "2"];
    let run = exegete(&[&["attention", "debate", "--format", "json"], &args[..]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let truth = item(&report, "truth");
    assert_eq!(truth["columns"], json!(["kind", "ranking", "top1", "average_precision"]));
    let rankings: Vec<&str> =
        truth["rows"].as_array().unwrap().iter().map(|row| row[1].as_str().unwrap()).collect();
    assert_eq!(rankings, ["attention", "gradient", "leave_one_out", "weight_gradient", "product", "random"]);
}

#[test]
fn every_format_shows_the_verdict_and_csv_its_findings() {
    let folder = Folder::new();
    let common = ["--kinds", "none"];
    let said = "attention_is_needed";
    for (name, opens, says) in [
        ("page.html", "<!", said),
        ("page.svg", "<svg", "do weights rank words as leaving them out does?"),
        ("page.csv", "check", said),
    ] {
        let out = folder.at(name);
        let run = folder.debate(&[&common[..], &["-o", &out]].concat());
        assert_eq!(run.code, 0, "{name}: {}", run.stderr);
        let text = fs::read_to_string(&out).unwrap();
        assert!(text.contains(opens), "{name}: {}", &text[..200.min(text.len())]);
        assert!(text.contains(says), "{name}");
    }
}

#[test]
fn a_killed_run_goes_on_with_what_it_found() {
    let folder = Folder::new();
    let (whole, out) = (folder.at("whole.json"), folder.at("out.json"));
    let args = |out: &str| folder.args(&["--kinds", "none,gru", "-o", out]);
    assert_eq!(exegete(&borrowed(&args(&whole))).code, 0);
    let mut child =
        Command::new(env!("CARGO_BIN_EXE_exegete")).args(args(&out)).stderr(Stdio::null()).spawn().unwrap();
    let journal = folder.at("out.json.unfinished");
    let lines = || fs::read_to_string(&journal).map_or(0, |text| text.matches('\n').count());
    let started = Instant::now();
    while lines() < 2 && started.elapsed() < Duration::from_secs(120) {
        sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!((2..7).contains(&lines()) && !Path::new(&out).exists(), "{} lines", lines());
    // Another run is told what differs and changes nothing.
    let other = exegete(&borrowed(&[args(&out), vec!["--seed".to_owned(), "3".to_owned()]].concat()));
    assert_error(&other, &["differs in: seed"]);
    let run = exegete(&borrowed(&args(&out)));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("going on after"), "{}", run.stderr);
    assert_eq!(report(&out)["items"], report(&whole)["items"]);
    assert!(!Path::new(&journal).exists() && !Path::new(&folder.at("out.json.unfinished.models")).exists());
}

#[test]
fn what_cannot_be_debated_is_said_in_a_line() {
    let folder = Folder::new();
    assert_error(&folder.debate(&["--kinds", "lsmt"]), &["no kind 'lsmt'", "did you mean 'lstm'?"]);
    assert_error(&folder.debate(&["--kinds", "none,kim"]), &["kim", "no attention"]);
    assert_error(&folder.debate(&["--kinds", "lstm:uniform"]), &["learns no weights"]);
    assert_error(&folder.debate(&["--min-words", "40"]), &["none of 24 has 40 words", "--min-words"]);
    assert_error(&folder.debate(&["--kinds", "none", "--text-column", "body"]), &["body"]);
    folder.write("dev.tsv", "text\tlabel\ngood\tyes\nbad\tno\n");
    assert_error(&folder.debate(&["--kinds", "none", "--min-words", "1"]), &["no text can be tested"]);
    folder.write("dev.tsv", &rows(24, 5));
    let one: String =
        rows(40, 1).lines().filter(|line| !line.ends_with("\tno")).map(|line| format!("{line}\n")).collect();
    folder.write("train.tsv", &one);
    assert_error(&folder.debate(&["--kinds", "none"]), &["every row has the label 'yes'"]);
    let debate = |args: &[&str]| exegete(&[&["attention", "debate"], args].concat());
    assert_error(&debate(&["--seeds", "2"]), &["--seeds 2", "at least"]);
    assert_error(&debate(&["--text-column", "a"]), &["--text-column is for files"]);
    assert_error(&debate(&["--delimiter", ";"]), &["--delimiter is for files"]);
    assert_error(&debate(&["--rows", "3"]), &["--rows 3"]);
    assert_eq!(debate(&["--train", "a.tsv"]).code, 2);
}
