//! `exegete train`: what it refuses before it starts, what it leaves, and what a kill does not cost.

use crate::harness::{assert_error, exegete, golden};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Sixty rows whose class is the one word of three that they hold.
fn rows() -> String {
    let (words, marks) = (["the film", "a plot", "music", "it was", "and"], ["slow", "warm", "honest"]);
    let row = |i: usize| {
        let (a, b) = (words[i / 3 % 5], words[i / 15 % 5]);
        format!("{}\t{a} {} {b}\n", ["negative", "neutral", "positive"][i % 3], marks[i % 3])
    };
    "label\ttext\n".to_owned() + &(0..60).map(row).collect::<String>()
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            fs::write(folder.path().join(name), content).unwrap();
        }
        Self(folder)
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).to_string_lossy().into_owned()
    }
}

#[test]
fn trains_and_leaves_a_folder_that_predicts() {
    let folder = Folder::new(&[("train.tsv", &rows())]);
    let (train, output, model) = (folder.at("train.tsv"), folder.at("out"), golden("bert-sequence"));
    let args = [
        "train", "--train", &train, "--dev", &train, "--model", &model, "-o", &output, "--epochs", "20",
        "--batch", "8", "--rate", "3e-3",
    ];
    let run = exegete(&args);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.starts_with("epoch") && run.stdout.lines().count() == 21, "{}", run.stdout);
    assert!(run.stdout.contains("1.0000"), "{}", run.stdout);
    assert!(run.stderr.contains("60 of 60 rows"), "the leak goes unsaid: {}", run.stderr);
    let report: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.at("out/training.json")).unwrap()).unwrap();
    assert_eq!(report["data"]["train_rows"], 60);
    assert!(report["examples_per_second"].as_f64().unwrap() > 0.0);
    assert_eq!(report["labels"], serde_json::json!(["negative", "neutral", "positive"]));
    let mut names: Vec<_> = fs::read_dir(folder.at("out"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let expected =
        ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "training.json"];
    assert_eq!(names, expected);
    let run = exegete(&["predict", "--input", &train, "--model", &output, "--label-column", "label"]);
    assert!(run.stderr.contains("accuracy 1.0000 (60 of 60)"), "{}", run.stderr);
    // A finished model is not replaced by accident.
    assert_error(&exegete(&args), &["holds a model.safetensors already", "--overwrite"]);
}

#[test]
fn bad_rows_are_refused_before_anything_is_written() {
    let good = rows();
    let cases: &[(&str, &str, &[&str], &[&str])] = &[
        ("a.tsv", "label\ttext\nnegative\tfine\npositive\t \n", &[], &["a.tsv: line 3", "empty"]),
        ("a.tsv", "text\tb\nx\ty\n", &[], &["a.tsv: line 1", "no column 'label'"]),
        ("a.tsv", "label\tbody\n0\tx\n", &[], &["a.tsv: line 1", "no column text"]),
        (
            "a.tsv",
            "label\ttext\nnegative\tx\nangry\ty\n",
            &["--labels", "negative,positive"],
            &["a.tsv: line 3", "'angry'", "negative, positive"],
        ),
        (
            "a.tsv",
            "label\ttext\n\tx\n",
            &["--labels", "negative,positive"],
            &["a.tsv: line 2", "label is empty"],
        ),
        ("a.tsv", "label\ttext\nwarm\tx\nwarm\ty\n", &[], &["every row has the label 'warm'"]),
        ("a.tsv", "label\ttext\n", &[], &["a.tsv", "no rows"]),
        (
            "a.csv",
            "label,text\nabc,x\n",
            &["--loss", "regression"],
            &["a.csv: line 2", "'abc' is not a number"],
        ),
        ("a.csv", "label,text\n0.5|0.2,x\n", &["--loss", "soft"], &["a.csv: line 2", "sum to 0.7"]),
        (
            "a.csv",
            "label,text\n0.5|0.5,x\n1,y\n",
            &["--loss", "soft"],
            &["a.csv: line 3", "1 shares for the 2 classes"],
        ),
        (
            "a.jsonl",
            "{\"text\":\"x\",\"label\":[\"a\",\"b\"]}\n{\"text\":\"x\",\"label\":[\"c\"]}\n",
            &["--loss", "multi_label", "--labels", "a,b"],
            &["a.jsonl: line 2", "'c' is none of a, b"],
        ),
        ("a.jsonl", "{\"text\":\"x\"}\n", &[], &["a.jsonl: line 1", "no column 'label'"]),
        ("a.tsv", &good, &["--dev", "nowhere.tsv"], &["nowhere.tsv", "cannot be opened"]),
        ("a.jsonl", "{\"text\":\"x\",\"label\":null}\n", &[], &["a.jsonl: line 1", "'label' is null"]),
        (
            "a.tsv",
            "label\ttext\n1\tx\n2\ty\n0\tz\n",
            &["--labels", "1,2"],
            &["a.tsv: line 4", "'0' is none of 1, 2"],
        ),
        ("a.tsv", "label\ttext\na\tx\nb\t\u{200b}\n", &[], &["a.tsv: line 3", "empty"]),
        ("a.csv", "label,text\n1,x\n", &["--loss", "soft"], &["1 labels, at least 2"]),
        ("a.csv", "label,text\n1,x\n", &["--loss", "regression", "--labels", "a,b"], &["one output"]),
        ("a.txt", "x\n", &[], &["a.txt", "has no labels"]),
        ("a.tsv", &good, &["--momentum", "0.5"], &["--momentum", "sgd"]),
        ("a.tsv", &good, &["--optimiser", "sgd", "--momentum", "2"], &["momentum"]),
        ("a.tsv", &good, &["--metric", "loss"], &["--dev"]),
        ("a.tsv", &good, &["--rate", "0"], &["rate"]),
        ("a.tsv", &good, &["--epochs", "0"], &["epochs"]),
        ("a.tsv", &good, &["--labels", "negative,negative"], &["named twice"]),
    ];
    for (name, content, options, told) in cases {
        let folder = Folder::new(&[(name, content)]);
        let (train, output, model) = (folder.at(name), folder.at("out"), golden("bert-bare"));
        let mut args = vec!["train", "--train", &train, "--model", &model, "--output", &output];
        args.extend(*options);
        assert_error(&exegete(&args), told);
        assert!(!Path::new(&output).exists(), "{told:?}: something was written");
    }
}

/// Texts of the excluded files are not learned from, however they are written.
#[test]
fn excluded_texts_are_left_out() {
    let dev = "label\ttext\nnegative\tTHE film, slow the film!\npositive\tnever seen\n";
    let folder = Folder::new(&[("train.tsv", &rows()), ("dev.tsv", dev)]);
    let (train, held) = (folder.at("train.tsv"), folder.at("dev.tsv"));
    let model = golden("bert-sequence");
    let run = |extra: &[&str], output: &str| {
        let output = folder.at(output);
        let mut args = vec![
            "train", "--train", &train, "--dev", &held, "--model", &model, "--epochs", "1", "-o", &output,
        ];
        args.extend(extra);
        let run = exegete(&args);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let text = fs::read_to_string(Path::new(&output).join("training.json")).unwrap();
        (run.stderr, serde_json::from_str::<serde_json::Value>(&text).unwrap())
    };
    let (told, report) = run(&[], "leaky");
    assert!(told.contains("1 of 2 rows") && told.contains("--exclude"), "{told}");
    assert_eq!(report["data"]["train_rows"], 60);
    let (told, report) = run(&["--exclude", &held], "clean");
    assert!(told.contains("left out 1 of 60") && !told.contains("also training rows"), "{told}");
    assert_eq!(report["data"]["train_rows"], 59);
    assert_eq!(report["data"]["excluded_rows"], 1);
}

/// A run that is killed without warning, at several places, is taken up again and reaches the same weights.
#[test]
fn a_killed_run_reaches_the_same_weights() {
    let folder = Folder::new(&[("train.tsv", &rows())]);
    let (train, model) = (folder.at("train.tsv"), golden("bert-sequence"));
    let command = |output: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_exegete"));
        command
            .args(["train", "--train", &train, "--dev", &train, "--model", &model, "--from-scratch", "-o"])
            .args([output, "--epochs", "100", "--batch", "4", "--rate", "1e-3", "--save-every", "40"])
            .args(["--threads", "1"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command
    };
    let (whole, killed) = (folder.at("whole"), folder.at("killed"));
    assert!(command(&whole).status().unwrap().success());
    let state = Path::new(&killed).join("training_state.safetensors");
    let mut kills = 0;
    for _ in 0..3 {
        let before = fs::metadata(&state).and_then(|m| m.modified()).ok();
        let mut child = command(&killed).spawn().unwrap();
        let started = Instant::now();
        // Until another state was written, so that every kill comes later in the run than the one before.
        while fs::metadata(&state).and_then(|m| m.modified()).ok() == before
            && child.try_wait().unwrap().is_none()
            && started.elapsed() < Duration::from_secs(60)
        {
            std::thread::sleep(Duration::from_millis(2));
        }
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            kills += 1;
        }
        child.wait().unwrap();
    }
    assert!(kills > 0, "the runs were over before they could be killed");
    let last = command(&killed).output().unwrap();
    let told = String::from_utf8(last.stderr).unwrap();
    assert!(last.status.success() && told.contains("taking up the run again after"), "{told}");
    let read = |dir: &str| fs::read(Path::new(dir).join("model.safetensors")).unwrap();
    assert!(read(&whole) == read(&killed), "the killed run has other weights");
    assert!(!state.exists());
}

#[test]
fn a_folder_is_neither_its_own_start_nor_overwritten_nor_given_another_order() {
    let folder = Folder::new(&[("train.tsv", &rows()), ("config.json", "{}")]);
    let (train, model) = (folder.at("train.tsv"), golden("bert-sequence"));
    let own = folder.at("");
    assert_error(
        &exegete(&["train", "--train", &train, "--model", &model, "-o", &own]),
        &["config.json already"],
    );
    let same = format!("{model}/../bert-sequence");
    let args = ["train", "--train", &train, "--model", &model, "-o", &same, "--overwrite"];
    assert_error(&exegete(&args), &["the folder it starts from"]);
    let (out, turned) = (folder.at("out"), "positive,neutral,negative");
    let args = ["train", "--train", &train, "--model", &model, "-o", &out, "--labels", turned];
    assert_error(&exegete(&args), &["another order", "negative,neutral,positive"]);
    let nowhere = folder.at("train.tsv/out");
    assert_error(
        &exegete(&["train", "--train", &train, "--model", &model, "-o", &nowhere]),
        &["cannot be made"],
    );
}

/// The spaces around a label are no part of it, and a class may look like a list.
#[test]
fn labels_are_trimmed() {
    let folder = Folder::new(&[("train.csv", "text,label\nx, [a]\ny,[b] \nz,[a]\n")]);
    let (train, out, model) = (folder.at("train.csv"), folder.at("out"), golden("bert-bare"));
    let run = exegete(&["train", "--train", &train, "--model", &model, "-o", &out, "--epochs", "1"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let report = fs::read_to_string(folder.at("out/training.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["labels"], serde_json::json!(["[a]", "[b]"]));
}
