//! `exegete train --kind`: small models from generated data to explanations.

use crate::harness::{assert_error, exegete};
use std::fs;

struct Folder(tempfile::TempDir);

impl Folder {
    /// A folder with generated rows, `train.tsv`.
    fn with(set: &str, rows: &str) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        let made = exegete(&["data", "make", set, "--rows", rows, "-o", &folder.at("train.tsv")]);
        assert_eq!(made.code, 0, "{}", made.stderr);
        folder
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).to_string_lossy().into_owned()
    }

    /// Trains on `train.tsv` into a folder named after the kind.
    fn train(&self, kind: &str, more: &[&str]) -> crate::harness::Run {
        let (train, out) = (self.at("train.tsv"), self.at(kind));
        exegete(&[&["train", "--kind", kind, "--train", &train, "-o", &out, "--overwrite"], more].concat())
    }
}

const TINY: &[&str] = &["--embedding", "8", "--hidden", "5", "--epochs", "1"];

/// The first text of a file.
fn first_text(folder: &Folder) -> String {
    let rows = fs::read_to_string(folder.at("train.tsv")).unwrap();
    rows.lines().nth(1).unwrap().split('\t').next().unwrap().to_owned()
}

#[test]
fn every_kind_is_trained_checked_and_explained() {
    let folder = Folder::with("keyword", "60");
    let text = first_text(&folder);
    for kind in exegete::small::KINDS.iter().filter(|kind| !["atae", "seq2seq"].contains(kind)) {
        let run = folder.train(kind, TINY);
        assert_eq!(run.code, 0, "{kind}: {}", run.stderr);
        assert!(run.stderr.contains("unknown are 0.0 % of the training words"), "{kind}: {}", run.stderr);
        let model = folder.at(kind);
        let run = exegete(&["predict", &text, "--model", &model]);
        assert_eq!(run.code, 0, "{kind}: {}", run.stderr);
        let run = exegete(&["model", "check", &model]);
        assert_eq!(run.code, 0, "{kind}: {}{}", run.stdout, run.stderr);
        for method in ["integrated_gradients", "lime", "deep_lift", "lrp", "leave_one_out"] {
            let run = exegete(&["explain", &text, "--model", &model, "--method", method]);
            assert_eq!(run.code, 0, "{kind} {method}: {}", run.stderr);
        }
    }
}

#[test]
fn a_keyword_is_learned_and_found() {
    let folder = Folder::with("keyword", "800");
    let sizes = ["--embedding", "24", "--hidden", "12", "--epochs", "8", "--rate", "0.01"];
    let run = folder.train("gru", &sizes);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let (train, model) = (folder.at("train.tsv"), folder.at("gru"));
    let run = exegete(&["predict", "--input", &train, "--model", &model, "--label-column", "label"]);
    let share = run.stderr.split("accuracy ").nth(1).and_then(|rest| rest.split(' ').next());
    let accuracy: f64 = share.unwrap().parse().unwrap();
    assert!(accuracy > 0.97, "{}", run.stderr);
    // The same seed gives the same bytes, and a folder is whole.
    let before = fs::read(folder.at("gru/model.safetensors")).unwrap();
    assert_eq!(folder.train("gru", &sizes).code, 0);
    assert_eq!(before, fs::read(folder.at("gru/model.safetensors")).unwrap());
    let mut names: Vec<_> =
        fs::read_dir(&model).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["config.json", "model.safetensors", "training.json", "vocab.txt"]);
}

#[test]
fn stories_are_asked_about() {
    let folder = Folder::with("babi1", "40");
    let run = folder.train("lstm", &[TINY, &["--pair-column", "pair", "--task", "entity_qa"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let config = fs::read_to_string(folder.at("lstm/config.json")).unwrap();
    assert!(config.contains("\"entity_qa\""), "{config}");
    let model = folder.at("lstm");
    let story = ["--pair", "where is mary", "--model", &model];
    let run = exegete(&[&["predict", "mary moves to the kitchen"], &story[..]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let run = exegete(&["model", "check", &model]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let run = exegete(&[&["explain", "mary moves to the kitchen"], &story[..]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_error(&exegete(&["predict", "mary moves", "--model", &model]), &["reads a pair"]);
}

#[test]
fn aspects_are_asked_about() {
    let folder = Folder::with("aspect", "40");
    let run = folder.train("atae", &[TINY, &["--pair-column", "pair"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let model = folder.at("atae");
    let run = exegete(&["model", "check", &model]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let run = exegete(&["explain", &first_text(&folder), "--pair", "food", "--model", &model]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_error(&folder.train("atae", TINY), &["--pair-column"]);
}

#[test]
fn texts_are_written_checked_and_explained() {
    let folder = Folder::with("copy", "60");
    let text = first_text(&folder);
    for attention in ["bahdanau", "luong", "uniform", "none"] {
        let dev = folder.at("train.tsv");
        let run = folder.train("seq2seq", &[TINY, &["--attention", attention, "--dev", &dev]].concat());
        assert_eq!(run.code, 0, "{attention}: {}", run.stderr);
        assert!(run.stderr.contains("target: vocabulary of"), "{attention}: {}", run.stderr);
        let model = folder.at("seq2seq");
        assert!(
            fs::read_to_string(folder.at("seq2seq/vocab.target.txt")).unwrap().starts_with("<pad>\n<unk>\n")
        );
        let run = exegete(&["predict", &text, "--model", &model]);
        assert!(run.code == 0 && run.stdout.contains("log-probability -"), "{}{}", run.stdout, run.stderr);
        let run = exegete(&["predict", "--input", &dev, "--pair-column", "target", "--model", &model]);
        assert_eq!(run.code, 0, "{attention}: {}", run.stderr);
        let run = exegete(&["model", "check", &model]);
        assert_eq!(run.code, 0, "{attention}: {}{}", run.stdout, run.stderr);
        for method in
            ["integrated_gradients", "lime", "deep_lift", "lrp", "leave_one_out", "grad_cam", "saliency"]
        {
            let asked = ["explain", &text, "--pair", &text, "--model", &model, "--method", method];
            // Relevance is handed down from sums of outputs alone.
            let targets = ["predicted", "loss", "token:1=</s>:logprob"];
            for target in &targets[..if method == "lrp" { 1 } else { 3 }] {
                let run = exegete(&[&asked[..], &["--target", target]].concat());
                assert_eq!(run.code, 0, "{attention} {method} {target}: {}", run.stderr);
            }
        }
        let run = exegete(&["explain", &text, "--model", &model, "--target", "class:1"]);
        assert_error(&run, &["token:POS=WORD"]);
        assert_error(
            &exegete(&["explain", &text, "--model", &model, "--method", "attention"]),
            &["no attention maps"],
        );
    }
    for (flag, value) in [("--labels", "a,b"), ("--metric", "f1"), ("--loss", "soft"), ("--task", "classify")]
    {
        let dev = folder.at("train.tsv");
        assert_error(&folder.train("seq2seq", &[flag, value, "--dev", &dev]), &[flag, "seq2seq"]);
    }
    fs::write(folder.at("train.tsv"), "source\ttarget\na b\t\n").unwrap();
    assert_error(&folder.train("seq2seq", TINY), &["line 2", "target is empty"]);
}

#[test]
fn vectors_are_read_frozen_and_refused_by_line() {
    let folder = Folder::with("keyword", "30");
    let words = first_text(&folder);
    let words: Vec<&str> = words.split(' ').collect();
    let good: String = words.iter().map(|word| format!("{word} 0.5 -1 2\n")).collect();
    fs::write(folder.at("v.txt"), &good).unwrap();
    let run =
        folder.train("average", &["--vectors", &folder.at("v.txt"), "--freeze-vectors", "--epochs", "1"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("of them with a vector"), "{}", run.stderr);
    let bytes = fs::read(folder.at("average/model.safetensors")).unwrap();
    let two: Vec<u8> = [0.5f32, -1.0, 2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    assert!(bytes.windows(two.len()).any(|window| window == two), "a frozen vector was moved");
    let refused = |more: &[&str], said: &[&str]| assert_error(&folder.train("lstm", more), said);
    fs::write(folder.at("w.txt"), format!("{good}{} 1 2\n", words[0])).unwrap();
    let line = format!("line {}", words.len() + 1);
    refused(&["--vectors", &folder.at("w.txt")], &["w.txt", &line, "2 numbers, expected 3"]);
    refused(&["--vectors", &folder.at("v.txt"), "--embedding", "4"], &["--embedding 4", "have 3 numbers"]);
    let run = folder.train("lstm", &["--min-count", "99999"]);
    assert!(run.code != 0 && run.stderr.contains("the vocabulary is empty"), "{} {}", run.code, run.stderr);
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let folder = Folder::with("keyword", "30");
    let refused = |kind: &str, more: &[&str], said: &[&str]| assert_error(&folder.train(kind, more), said);
    refused("lstm", &["--attention", "sharp"], &["'attention' is 'sharp'", "additive, dot"]);
    refused("lstm", &["--encoder", "gru"], &["no choice"]);
    refused("cnn", &["--layers", "2"], &["recurrent"]);
    refused("lstm", &["--directions", "3"], &["1 or 2"]);
    refused("lstm", &["--task", "entity_qa"], &["--pair-column"]);
    refused("lstm", &["--loss", "regression", "--label-column", "label"], &["number"]);
    let run = folder.train("rnn", &["--rate", "1e30", "--optimiser", "sgd"]);
    assert!(
        run.code != 0 && run.stderr.contains("diverged in step 2 at learning rate 1e30"),
        "{}",
        run.stderr
    );
    let (train, out) = (folder.at("train.tsv"), folder.at("out"));
    let run = exegete(&["train", "--train", &train, "-o", &out, "--hidden", "3"]);
    assert_error(&run, &["--hidden", "give --kind"]);
}
