//! `exegete eval`: tables of known shape, and runs that go on.

mod elsewhere;

use crate::harness::{Run, assert_error, exegete, golden};
use crate::snapshot::assert_snapshot;
use serde_json::{Value, json};
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const TEXTS: &str = "A warm and honest film.\nBoring stuff, and the plot is thin!\n\
    Don't leave before the end: it's worth it.\nNobody in Berlin knew why.\n";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write("texts.txt", TEXTS);
        folder
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).to_string_lossy().into_owned()
    }

    fn write(&self, name: &str, content: &str) -> String {
        fs::write(self.at(name), content).unwrap();
        self.at(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Runs the command on the folder's texts.
    fn eval(&self, args: &[&str]) -> Run {
        exegete(
            &[&["eval", "--input", &self.at("texts.txt"), "--model", &golden("bert-sequence")], args]
                .concat(),
        )
    }

    /// The report of a run, without what a clock says.
    fn report(&self, args: &[&str]) -> Value {
        let run = self.eval(&[args, &["--format", "json"]].concat());
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        timeless(&run.stdout)
    }
}

fn timeless(json: &str) -> Value {
    let mut report: Value = serde_json::from_str(json).unwrap();
    report["provenance"]["seconds"] = json!(0);
    let heads = report["items"][0]["columns"].as_array().unwrap().clone();
    if let Some(at) = heads.iter().position(|head| head == "seconds") {
        for row in report["items"][0]["rows"].as_array_mut().unwrap() {
            row[at] = Value::Null;
        }
    }
    report
}

/// The mean in the first table; null where the cell is empty.
fn mean(report: &Value, method: &str, head: &str) -> Value {
    let table = &report["items"][0];
    let at = table["columns"].as_array().unwrap().iter().position(|c| c == head).unwrap();
    let row = table["rows"].as_array().unwrap().iter().find(|row| row[0] == method).unwrap();
    if row[at].is_object() { row[at]["mean"].clone() } else { row[at].clone() }
}

const METHODS: [&str; 4] =
    ["--methods", "integrated_gradients,saliency", "--set", "integrated_gradients.steps=16"];

#[test]
fn both_levels_in_every_format() {
    let folder = Folder::new();
    for level in ["default", "deep"] {
        let report = folder.report(&[&METHODS[..], &["--check", level, "--threads", "1"]].concat());
        assert_eq!(report["schema"], "exegete.report/1");
        let saved = folder.write("report.json", &report.to_string());
        assert_snapshot(&format!("eval-{level}"), &exegete(&["show", &saved]), None);
    }
    for (format, told) in [
        (
            "text",
            &[
                "2 explanations on 2 texts",
                "Agreement",
                "± ",
                "Clean cards, beside explanations",
                "conclusion: ",
            ][..],
        ),
        ("html", &["<table", "integrated_gradients", "±", "<svg", "<h1>conclusion: "]),
        (
            "csv",
            &[
                "method,clean,clean_error,undecided,undecided_error,z,z_error,completeness gap,",
                "\nrandom,",
                "\n\nmethod,integrated_gradients",
            ],
        ),
    ] {
        let run = folder.eval(&[&METHODS[..], &["--limit", "2", "--format", format]].concat());
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        told.iter().for_each(|part| assert!(run.stdout.contains(part), "{part}: {}", run.stdout));
    }
}

/// Every number is the mean of what `explain` says of each text.
#[test]
fn means_are_those_of_single_explanations() {
    let folder = Folder::new();
    let report = folder.report(&["--methods", "gradient_x_input", "--seed", "3"]);
    let single = |text: &str| -> Value {
        let model = golden("bert-sequence");
        let args = [
            "explain",
            text,
            "--model",
            &model,
            "--method",
            "gradient_x_input",
            "--seed",
            "3",
            "--format",
            "json",
        ];
        serde_json::from_str(&exegete(&args).stdout).unwrap()
    };
    let singles: Vec<Value> = TEXTS.lines().map(single).collect();
    for (head, path) in [
        ("comprehensiveness", "/items/0/checks/comprehensiveness/own/mean"),
        ("suff reversed", "/items/0/checks/sufficiency/reversed/mean"),
        ("tau", "/items/0/checks/leave_one_out/tau"),
    ] {
        let sum: f64 = singles.iter().map(|single| single.pointer(path).unwrap().as_f64().unwrap()).sum();
        let found = mean(&report, "gradient_x_input", head).as_f64().unwrap();
        assert!((found - sum / 4.0).abs() < 1e-6, "{head}: {found} is not {}", sum / 4.0);
    }
    assert_eq!(mean(&report, "gradient_x_input", "rows run"), 1.0);
    assert_eq!(mean(&report, "random", "rows asked"), Value::Null);
}

/// A killed run goes on after the texts it finished, and the result is that of a run that was never killed.
#[test]
fn a_killed_run_goes_on() {
    let folder = Folder::new();
    folder.write("texts.txt", &TEXTS.repeat(4));
    let (whole, killed) = (folder.at("whole.json"), folder.at("killed.json"));
    let base = [&METHODS[..], &["--check", "deep", "--threads", "1", "--format", "json"]].concat();
    assert_eq!(folder.eval(&[&base[..], &["-o", &whole]].concat()).code, 0);
    let journal = |folder: &Folder| folder.names().into_iter().find(|name| name.ends_with(".unfinished"));
    let lines = || {
        let text = journal(&folder).and_then(|name| fs::read_to_string(folder.at(&name)).ok());
        // After the line that says what run it is.
        text.map_or(0, |text| text.matches('\n').count().saturating_sub(1))
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_exegete"));
    command.args([
        "eval",
        "--input",
        &folder.at("texts.txt"),
        "--model",
        &golden("bert-sequence"),
        "-o",
        &killed,
    ]);
    let mut child = command.args(&base).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    while lines() < 2 && started.elapsed() < Duration::from_secs(120) {
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let done = lines();
    assert!((2..16).contains(&done), "{done} texts were done");
    let path = folder.at(&journal(&folder).unwrap());
    fs::write(&path, fs::read_to_string(&path).unwrap() + "{\"trunc").unwrap();
    let other = folder.eval(&[&base[..], &["-o", &killed, "--seed", "1"]].concat());
    assert_error(&other, &["an unfinished run that differs in: seed (then 0, now 1);"]);
    let run = folder.eval(&[&base[..], &["-o", &killed]].concat());
    assert_eq!((run.code, run.stderr), (0, format!("going on after {done} finished texts\n")));
    let read = |path: &str| timeless(&fs::read_to_string(path).unwrap());
    assert_eq!(read(&killed), read(&whole));
    assert_eq!(folder.names(), ["killed.json", "texts.txt", "whole.json"]);
}

#[test]
fn a_text_that_is_too_long_keeps_what_was_done() {
    let folder = Folder::new();
    folder.write("texts.txt", &format!("A warm film.\nBoring stuff!\n{}\nThe end.\n", "film ".repeat(30)));
    let output = folder.at("out.csv");
    let args = ["--methods", "saliency", "--format", "csv", "-o", &output];
    let run = folder.eval(&[&args[..], &["--memory", "60KB"]].concat());
    assert_error(&run, &["texts.txt: line 3", "--memory"]);
    let unfinished = fs::read_to_string(folder.at("out.csv.unfinished")).unwrap();
    assert_eq!(unfinished.lines().count(), 1 + 2);
    let run = folder.eval(&args);
    assert_eq!((run.code, run.stderr.as_str()), (0, "going on after 2 finished texts\n"));
    assert!(fs::read_to_string(&output).unwrap().contains("\nsaliency,"));
    assert_eq!(folder.names(), ["out.csv", "texts.txt"]);
    fs::remove_file(&output).unwrap();
    assert_error(&folder.eval(&["--methods", "saliency", "--memory", "60KB"]), &["texts.txt: line 3"]);
    assert_eq!(folder.names(), ["texts.txt"], "without -o nothing is kept");
}
