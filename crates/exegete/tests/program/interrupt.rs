//! Runs that are stopped or killed at any moment: no finished text is lost, no half-written file is left, and going on gives
//! what an uninterrupted run gives.

use crate::harness::{assert_error, exegete, exegete_reading, golden};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const SIGINT: &str = "-INT";
const SIGKILL: &str = "-KILL";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new(texts: usize) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        let (words, labels) = (["warm", "slow", "honest"], ["negative", "neutral", "positive"]);
        let row = |i: usize| format!("film {i} was {}\t{}\n", words[i % 3], labels[i % 3]);
        let rows: String = (0..texts).map(row).collect();
        fs::write(folder.at("texts.tsv"), format!("text\tlabel\n{rows}")).unwrap();
        folder
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).to_string_lossy().into_owned()
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn program(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_exegete"));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("sh").args(["-c", &format!("kill {signal} {}", child.id())]).status().unwrap();
    assert!(sent.success());
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Waits until something is so.
fn until(mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(120), "it never came to that");
        sleep(Duration::from_millis(2));
    }
}

/// Moments of a run, as shares of its time: the same in every run of the test.
fn moments(count: usize) -> impl Iterator<Item = f64> {
    let mut state = 7u64;
    std::iter::repeat_with(move || {
        // Knuth's linear congruential generator, whose high bits are good.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1u64 << 24) as f64
    })
    .take(count)
}

/// Lines of an unfinished file after the first, each of which is a finished text.
fn finished(path: &str) -> usize {
    fs::read_to_string(path).map_or(0, |text| text.matches('\n').count().saturating_sub(1))
}

/// Runs a command to its end, then interrupts it at some moments and lets each go on. `read` says what must be the same.
fn check<T: PartialEq>(folder: &Folder, args: &[&str], signal: &str, count: usize, read: impl Fn(&str) -> T) {
    let command = |output: &str| program(&[args, &["-o", output]].concat());
    let started = Instant::now();
    assert!(command(&folder.at("whole")).status().unwrap().success());
    let whole = started.elapsed();
    let expected = read(&folder.at("whole"));
    let mut stopped = 0;
    for (number, moment) in moments(count).enumerate() {
        let out = folder.at(&format!("out{number}"));
        // What a cache holds must come from the stopped run alone.
        let _ = fs::remove_file(folder.at("cache"));
        let child = command(&out).spawn().unwrap();
        sleep(whole.mul_f64(moment));
        send(signal, &child);
        let ended = child.wait_with_output().unwrap();
        let unfinished = format!("{out}.unfinished");
        let state = Path::new(&out).join("training_state.safetensors");
        let done = finished(&unfinished);
        match ended.status.code() {
            Some(0) => {}
            Some(130) => {
                stopped += 1;
                let (many, steps) =
                    (format!("stopped after {done} texts; "), "steps; the same command goes on\n");
                let one = format!("stopped after {done} text; ");
                let message = told(&ended);
                let said =
                    message.starts_with(&many) || message.starts_with(&one) || message.ends_with(steps);
                assert!(said, "{done} texts: {message}");
                assert!(message.ends_with("; the same command goes on\n"), "{message}");
                assert_eq!(Path::new(&unfinished).exists(), done > 0, "{message}");
            }
            // Before the program could take notice of it, or without a way to.
            _ => assert!(matches!(ended.status.signal(), Some(2 | 9)), "{}", told(&ended)),
        }
        let complete = ended.status.success();
        // A signal may fall between the file's renaming and the program's end: a file that is there is whole.
        assert!(!Path::new(&out).is_file() || read(&out) == expected, "a half-written file");
        let partial = folder.names().into_iter().find(|name| name.ends_with(".partial"));
        assert!(signal == SIGKILL || partial.is_none(), "{partial:?} is left");
        if !complete {
            let again = command(&out).output().unwrap();
            assert!(again.status.success(), "{}", told(&again));
            assert!(
                done == 0 || told(&again).contains(&format!("going on after {done} finished")),
                "{}",
                told(&again)
            );
        }
        assert!(read(&out) == expected, "another result after a stop at {moment} of {whole:?}");
        assert!(!Path::new(&unfinished).exists() && !state.exists());
        let left = folder.names().into_iter().filter(|name| name.starts_with('.')).collect::<Vec<_>>();
        assert!(left.is_empty(), "{left:?} is left");
    }
    assert!(stopped > 0 || signal == SIGKILL, "no run was stopped before its end");
}

/// JSON lines without what a clock says.
fn timeless(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap();
    let line = |line: &str| {
        let mut report: Value = serde_json::from_str(line).unwrap();
        report["provenance"]["seconds"] = Value::Null;
        report.to_string() + "\n"
    };
    text.lines().map(line).collect()
}

/// A command on a file of texts, on one thread, with these options.
fn on_file<'a>(command: &'a str, input: &'a str, model: &'a str, options: &[&'a str]) -> Vec<&'a str> {
    [&[command, "--input", input, "--model", model, "--threads", "1"], options].concat()
}

fn explain<'a>(input: &'a str, model: &'a str) -> Vec<&'a str> {
    on_file("explain", input, model, &["--method", "saliency"])
}

/// Explains what comes through a pipe.
fn piped<'a>(model: &'a str, output: &'a str) -> [&'a str; 8] {
    ["explain", "-", "--model", model, "--threads", "1", "-o", output]
}

/// Starts a command that reads texts from a pipe and writes to another, and waits for the first byte of its answer to one text.
/// The pipe stays open.
fn answered_once(args: &[&str]) -> (Child, ChildStdin) {
    let mut child = program(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(b"film one\n").unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    (child, pipe)
}

#[test]
fn explain_stops_and_goes_on() {
    let (folder, model) = (Folder::new(60), golden("bert-sequence"));
    let input = folder.at("texts.tsv");
    check(&folder, &explain(&input, &model), SIGINT, 10, timeless);
}

/// Answers that are kept change what a text costs, and nothing else.
#[test]
fn with_a_cache_only_the_counts_differ() {
    let (folder, model) = (Folder::new(60), golden("bert-sequence"));
    let (input, cache) = (folder.at("texts.tsv"), folder.at("cache"));
    let countless = |path: &str| {
        let line = |line: &str| {
            let mut report: Value = serde_json::from_str(line).unwrap();
            report["provenance"] = Value::Null;
            report.to_string()
        };
        timeless(path).lines().map(line).collect::<Vec<_>>()
    };
    check(&folder, &[&explain(&input, &model)[..], &["--cache", &cache]].concat(), SIGINT, 3, countless);
}

/// Tables and text are made of what was kept, and are what a run without a stop prints.
#[test]
fn every_format_of_a_corpus_survives_a_kill() {
    let (folder, model) = (Folder::new(60), golden("bert-sequence"));
    let input = folder.at("texts.tsv");
    for format in ["csv", "text", "html"] {
        let args = [&explain(&input, &model)[..], &["--format", format]].concat();
        let printed = exegete(&args);
        assert_eq!((printed.code, printed.stderr.as_str()), (0, ""));
        // The line that says what a text cost has the only figure of a clock.
        let timeless = |text: &str| {
            text.lines().filter(|line| !line.contains(" s on 1 thread")).collect::<Vec<_>>().join("\n")
        };
        check(&folder, &args, SIGKILL, 5, |path| timeless(&fs::read_to_string(path).unwrap()));
        assert_eq!(
            timeless(&fs::read_to_string(folder.at("whole")).unwrap()),
            timeless(&printed.stdout),
            "{format}"
        );
        (0..5).for_each(|number| fs::remove_file(folder.at(&format!("out{number}"))).unwrap());
    }
}

/// Methods over many texts finish no text before all: what the model answered is kept, and asked for once.
#[test]
fn methods_over_many_texts_stop_and_go_on() {
    let (folder, model) = (Folder::new(40), golden("bert-sequence"));
    let (input, whole) = (folder.at("texts.tsv"), folder.at("whole"));
    let items = |path: &str| {
        let mut report: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        (report["items"].take(), report["provenance"]["forward_rows"].as_u64().unwrap())
    };
    for (method, options) in
        [("sp_lime", &["--set", "budget=40000"][..]), ("triggers", &["--label-column", "label"])]
    {
        let args = [&on_file("explain", &input, &model, &["--format", "json", "--method", method]), options]
            .concat();
        let command = |output: &str| program(&[&args[..], &["-o", output]].concat());
        let done = command(&whole).output().unwrap();
        assert!(done.status.success(), "{method}: {}", told(&done));
        let (expected, rows) = items(&whole);
        let out = folder.at(method);
        let kept = format!("{out}.unfinished");
        let child = command(&out).spawn().unwrap();
        let enough = || fs::metadata(&kept).map_or(0, |file| file.len()) > 1_000;
        until(|| enough() || Path::new(&out).exists());
        send(SIGINT, &child);
        let stopped = child.wait_with_output().unwrap();
        let said = told(&stopped);
        assert_eq!(stopped.status.code(), Some(130), "{method}: {said}");
        assert_eq!(said.lines().last(), Some("stopped before the end; the same command goes on"), "{method}");
        assert!(enough() && !Path::new(&out).exists(), "{method}");
        let again = command(&out).output().unwrap();
        assert!(again.status.success(), "{method}: {}", told(&again));
        assert!(told(&again).contains("going on with the answers in "), "{method}: {}", told(&again));
        let (found, fewer) = items(&out);
        assert_eq!(found, expected, "{method}");
        assert!(fewer < rows, "{method}: {fewer} of {rows} rows were run again");
        assert!(!Path::new(&kept).exists(), "{method}");
    }
    assert_eq!(folder.names(), ["sp_lime", "texts.tsv", "triggers", "whole"]);
}

#[test]
fn what_is_no_file_of_answers_is_left_alone() {
    let (folder, model) = (Folder::new(4), golden("bert-sequence"));
    let (input, out) = (folder.at("texts.tsv"), folder.at("out"));
    fs::write(folder.at("out.unfinished"), "a diary").unwrap();
    let args = on_file("explain", &input, &model, &["--method", "sp_lime", "-o", &out]);
    assert_error(&exegete(&args), &["out.unfinished: cannot be used for answers", "holds something else"]);
    assert_eq!(fs::read_to_string(folder.at("out.unfinished")).unwrap(), "a diary");
}

#[test]
fn eval_stops_and_goes_on() {
    let (folder, model) = (Folder::new(30), golden("bert-sequence"));
    let input = folder.at("texts.tsv");
    let options = ["--methods", "saliency,gradient_x_input", "--format", "json"];
    let args = on_file("eval", &input, &model, &options);
    check(&folder, &args, SIGINT, 10, |path| {
        let mut report: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        report["provenance"]["seconds"] = Value::Null;
        let columns = report["items"][0]["columns"].as_array().unwrap();
        let seconds = columns.iter().position(|column| column == "seconds").unwrap();
        for row in report["items"][0]["rows"].as_array_mut().unwrap() {
            row[seconds] = Value::Null;
        }
        report
    });
}

#[test]
fn train_stops_and_goes_on() {
    let (folder, model) = (Folder::new(60), golden("bert-sequence"));
    let input = folder.at("texts.tsv");
    let args = [
        "train",
        "--train",
        &input,
        "--dev",
        &input,
        "--model",
        &model,
        "--from-scratch",
        "--epochs",
        "8",
        "--batch",
        "4",
        "--rate",
        "1e-3",
        "--save-every",
        "0",
        "--threads",
        "1",
    ];
    check(&folder, &args, SIGINT, 10, |path| {
        let entries = fs::read_dir(path).unwrap().flatten().map(|entry| entry.path());
        let mut files: BTreeMap<_, _> =
            entries.map(|path| (path.file_name().unwrap().to_owned(), fs::read(&path).unwrap())).collect();
        let report = files.remove(std::ffi::OsStr::new("training.json")).unwrap();
        let mut report: Value = serde_json::from_slice(&report).unwrap();
        report["examples_per_second"] = Value::Null;
        report["seconds"] = Value::Null;
        report["request"]["output"] = Value::Null;
        report["epochs"].as_array_mut().unwrap().iter_mut().for_each(|epoch| epoch["seconds"] = Value::Null);
        (files, report)
    });
}

#[test]
fn predict_stops_and_goes_on() {
    let (folder, model) = (Folder::new(4000), golden("bert-sequence"));
    let input = folder.at("texts.tsv");
    for (index, format) in ["json", "csv"].into_iter().enumerate() {
        let args = on_file("predict", &input, &model, &["--label-column", "label", "--format", format]);
        let printed = exegete(&args);
        check(&folder, &args, [SIGINT, SIGKILL][index], 3, |path| fs::read_to_string(path).unwrap());
        assert_eq!(fs::read_to_string(folder.at("whole")).unwrap(), printed.stdout, "{format}");
        fs::remove_file(folder.at("whole")).unwrap();
        let whole = exegete(&[&args[..], &["-o", &folder.at("whole")]].concat());
        assert_eq!(whole.stderr, printed.stderr, "accuracy");
        (0..3).for_each(|number| fs::remove_file(folder.at(&format!("out{number}"))).unwrap());
    }
}

/// Texts that come through a pipe are recognised by what they say.
#[test]
fn a_pipe_with_other_texts_is_refused() {
    let (folder, model) = (Folder::new(0), golden("bert-sequence"));
    let (out, whole) = (folder.at("out.jsonl"), folder.at("whole.jsonl"));
    let (args_out, args_whole) = (piped(&model, &out), piped(&model, &whole));
    let texts = b"film one\nfilm two\nfilm three\nfilm four\n";
    assert_eq!(exegete_reading(&args_whole, texts).code, 0);
    let mut child = program(&args_out).stdin(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(b"film one\nfilm two\n").unwrap();
    let unfinished = folder.at("out.jsonl.unfinished");
    until(|| finished(&unfinished) == 2);
    // The pipe stays open: the program waits for a line that does not come.
    send(SIGINT, &child);
    let stopped = child.wait_with_output().unwrap();
    let message = told(&stopped);
    assert_eq!(
        (stopped.status.code(), &*message),
        (Some(130), "stopped after 2 texts; the same command goes on\n")
    );
    drop(pipe);
    for (other, line) in [
        (&b"film one\nfilm 2\nfilm three\n"[..], "stdin: line 2: is another text"),
        (b"film one\n", "stdin: holds fewer texts"),
    ] {
        let run = exegete_reading(&args_out, other);
        assert_error(&run, &[line, "unfinished"]);
        assert_eq!(finished(&unfinished), 2, "nothing is lost by a refusal");
    }
    let other = exegete_reading(&[&args_out[..], &["--seed", "3"]].concat(), texts);
    assert_error(&other, &["out.jsonl.unfinished: an unfinished run that differs in: seed (then 0, now 3);"]);
    let run = exegete_reading(&args_out, texts);
    assert_eq!((run.code, run.stderr.as_str()), (0, "going on after 2 finished texts\n"));
    assert_eq!(timeless(&out), timeless(&whole));
}

#[test]
fn without_a_file_a_stop_says_what_would_have_kept_the_texts() {
    let (_folder, model) = (Folder::new(0), golden("bert-sequence"));
    let (child, _pipe) = answered_once(&["explain", "-", "--model", &model]);
    send(SIGINT, &child);
    let stopped = child.wait_with_output().unwrap();
    assert_eq!(stopped.status.code(), Some(130));
    assert_eq!(told(&stopped), "stopped after 1 text; with -o FILE the same command could go on\n");
}

/// A model that never answers again: the first interrupt waits for it, the second does not.
#[test]
fn a_second_interrupt_stops_at_once() {
    let model = r#"cmd: while IFS= read -r line; do case "$line" in *This\ is*) echo '{"scores":[[0.75,0.25]]}';; *) sleep 100;; esac; done"#;
    let mut child = program(&["predict", "-", "--model", model, "--timeout", "90"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"film one\n").unwrap();
    // Long enough to have asked; too early an interrupt would only make the test easier to pass.
    sleep(Duration::from_millis(700));
    send(SIGINT, &child);
    sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none(), "the first interrupt waits for the batch at hand");
    let started = Instant::now();
    send(SIGINT, &child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[test]
fn two_runs_do_not_train_into_one_folder() {
    let (folder, model) = (Folder::new(60), golden("bert-sequence"));
    let (input, out) = (folder.at("texts.tsv"), folder.at("out"));
    let args = ["train", "--train", &input, "--model", &model, "-o", &out, "--threads", "1", "--epochs"];
    let [long, short] = ["100000", "1"].map(|epochs| [&args[..], &[epochs]].concat());
    let mut first = program(&long).spawn().unwrap();
    until(|| Path::new(&out).join("training_state.safetensors").exists());
    assert_error(&exegete(&long), &["out: another run is training into this folder"]);
    assert!(first.try_wait().unwrap().is_none(), "the first goes on");
    first.kill().unwrap();
    first.wait().unwrap();
    // The system gives the folder back, and what differs is named.
    assert_error(&exegete(&short), &["a difference in: settings"]);
    let second = program(&long).spawn().unwrap();
    sleep(Duration::from_millis(500));
    send(SIGINT, &second);
    let second = second.wait_with_output().unwrap();
    assert_eq!(second.status.code(), Some(130), "{}", told(&second));
    assert!(told(&second).contains("taking up the run again after"), "{}", told(&second));
}

/// The weights of an open model are cut off between two texts.
#[test]
fn a_model_that_is_cut_off_is_one_line() {
    let folder = Folder::new(0);
    for entry in
        fs::read_dir(golden("bert-sequence")).unwrap().flatten().filter(|entry| entry.path().is_file())
    {
        fs::copy(entry.path(), folder.at(&entry.file_name().into_string().unwrap())).unwrap();
    }
    let (child, mut pipe) = answered_once(&["explain", "-", "--model", &folder.at(""), "--no-check"]);
    fs::OpenOptions::new().write(true).open(folder.at("model.safetensors")).unwrap().set_len(100).unwrap();
    pipe.write_all(b"film two\n").unwrap();
    drop(pipe);
    let ended = child.wait_with_output().unwrap();
    let message = told(&ended);
    assert_eq!(ended.status.code(), Some(2), "{message}");
    assert!(message.starts_with("error: stdin: line 2: ") && message.lines().count() == 1, "{message}");
    assert!(message.contains("model.safetensors: changed while it was open (was "), "{message}");
}

/// A million orders of eleven words have 2,048 sets: all else is arithmetic, which an interrupt ends as well.
#[test]
fn arithmetic_without_rows_stops_too() {
    let text = "one film that is not so bad and not good either";
    let model = golden("bert-sequence");
    let args =
        ["explain", text, "--model", &model, "--method", "permutation_shap", "--set", "samples=1000000"];
    let child = program(&[&args[..], &["--no-check"]].concat()).spawn().unwrap();
    // Long enough for every set to be known.
    sleep(Duration::from_secs(2));
    send(SIGINT, &child);
    let started = Instant::now();
    let stopped = child.wait_with_output().unwrap();
    assert_eq!(stopped.status.code(), Some(130));
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}
