//! `exegete train --kind`: small models from generated data to explanations.

use crate::again::assert_repeats;
use crate::harness::{assert_error, exegete};
use serde_json::{Value, json};
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

/// The same for any kind: some have no states whose width could be said.
fn tiny(kind: &str) -> &'static [&'static str] {
    if ["none", "cnn", "kim"].contains(&kind) { &["--embedding", "8", "--epochs", "1"] } else { TINY }
}

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
        let run = folder.train(kind, tiny(kind));
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
fn a_run_says_what_applies_and_what_it_does_not_know() {
    let folder = Folder::with("keyword", "30");
    let run = folder.train("gru", TINY);
    let first = run.stderr.lines().next().unwrap();
    for said in ["epochs 1, batch 32 of like lengths, adam with amsgrad, rate 0.001 constant", "best by auc"]
    {
        assert!(first.contains(said), "{first}");
    }
    let model = folder.at("gru");
    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.at("gru/training.json")).unwrap()).unwrap();
    assert_eq!(json["command"], "train");
    let bytes = fs::read(folder.at("train.tsv")).unwrap();
    assert_eq!(json["train_sha256"], exegete::sha256_hex(&bytes));
    // Words that no training row has are counted, text by text.
    let known = first_text(&folder);
    let text = format!("{known} xyzzy plugh");
    let run = exegete(&["predict", &text, "--model", &model]);
    assert!(run.stdout.contains("2 unknown words"), "{}", run.stdout);
    let run = exegete(&["predict", &text, "--model", &model, "--format", "json"]);
    assert!(run.stdout.contains("\"unknown\":2"), "{}", run.stdout);
    let run = exegete(&["explain", &text, "--model", &model]);
    assert!(run.stdout.contains("2 tokens of the text stand for words"), "{}", run.stdout);
    let run = exegete(&["predict", &known, "--model", &model]);
    assert!(!run.stdout.contains("unknown"), "{}", run.stdout);
    // A folder with something else in it stays as it is.
    fs::write(folder.at("gru/notes.md"), "mine").unwrap();
    assert_error(&folder.train("gru", TINY), &["holds notes.md", "no part of a model"]);
    for name in
        ["training.tsv", "checkpoints-old", "model-notes.txt", "vocab.backup", ".git", ".env", ".a.1.partial"]
    {
        fs::rename(folder.at("gru/notes.md"), folder.at(&format!("gru/{name}"))).unwrap();
        assert_error(&folder.train("gru", TINY), &[&format!("holds {name}, which is no part of a model")]);
        fs::rename(folder.at(&format!("gru/{name}")), folder.at("gru/notes.md")).unwrap();
    }
    let _still_there = fs::read(folder.at("gru/notes.md")).unwrap();
    fs::rename(folder.at("gru/notes.md"), folder.at("gru/.model.safetensors.1.partial")).unwrap();
    fs::write(folder.at("gru/model-00001-of-00003.safetensors"), "").unwrap();
    assert_eq!(folder.train("gru", TINY).code, 0);
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

/// One list a text, each word one part more than the word before.
fn write_weights(folder: &Folder, to: &str) {
    let rows = fs::read_to_string(folder.at("train.tsv")).unwrap();
    let list = |row: &str| {
        let words = row.split('\t').next().unwrap().split(' ').count();
        let parts = (1..=words).map(|part| part as f64 * 2.0 / (words * (words + 1)) as f64);
        format!("{:?}\n", parts.collect::<Vec<_>>())
    };
    fs::write(folder.at(to), rows.lines().skip(1).map(list).collect::<String>()).unwrap();
}

#[test]
fn attention_can_be_imposed() {
    let folder = Folder::with("keyword", "60");
    let (train, weights, model) = (folder.at("train.tsv"), folder.at("w.jsonl"), folder.at("average"));
    write_weights(&folder, "w.jsonl");
    let imposed = [TINY, &["--attention", "imposed", "--weights", &weights]].concat();
    let run = folder.train("average", &imposed);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let run = exegete(&["model", "check", &model]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let corpus = ["--input", &train, "--model", &model];
    let run = exegete(&[&["predict", "--weights", &weights], &corpus[..]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    fs::write(folder.at("one.jsonl"), "[0.25, 0.75]\n").unwrap();
    let one = ["--weights", &folder.at("one.jsonl"), "--model", &model];
    for method in ["integrated_gradients", "leave_one_out", "lime"] {
        let run = exegete(&[&["explain", "good river", "--method", method], &one[..]].concat());
        assert_eq!(run.code, 0, "{method}: {}", run.stderr);
    }
    // Every way of giving the wrong weights is one line.
    assert_error(
        &exegete(&["predict", "good river", "--model", &model]),
        &["takes its attention from outside"],
    );
    let run = exegete(&[&["predict", "good river letter"], &one[..]].concat());
    assert_error(&run, &["2 weights for a text of 3 words"]);
    fs::write(folder.at("short.jsonl"), "[1.0]\n").unwrap();
    let short = folder.at("short.jsonl");
    let run = exegete(&[&["predict", "--weights", &short], &corpus[..]].concat());
    assert_error(&run, &["short.jsonl", "fewer lines than there are texts"]);
    fs::write(folder.at("broken.jsonl"), "0.5 0.5\n").unwrap();
    let broken = folder.at("broken.jsonl");
    let run = exegete(&["predict", "good river", "--weights", &broken, "--model", &model]);
    assert_error(&run, &["broken.jsonl: line 1", "no JSON list"]);
    assert_error(&folder.train("average", &["--attention", "imposed"]), &["belong together"]);
    assert_eq!(folder.train("gru", TINY).code, 0);
    let run = exegete(&[
        "predict",
        "good river",
        "--weights",
        &folder.at("one.jsonl"),
        "--model",
        &folder.at("gru"),
    ]);
    assert_error(&run, &["has its own attention"]);
}

/// A report holds the weights of its own text, which are not in its file of weights alone.
#[test]
fn reports_under_imposed_attention_are_repeated() {
    let folder = Folder::with("keyword", "40");
    write_weights(&folder, "w.jsonl");
    let weights = folder.at("w.jsonl");
    let imposed = [TINY, &["--attention", "imposed", "--weights", &weights]].concat();
    assert_eq!(folder.train("average", &imposed).code, 0);
    let model = folder.at("average");
    // The sums of single precision, which has no short decimals for them.
    fs::write(folder.at("texts.txt"), "good river\nold film of the river\n").unwrap();
    fs::write(folder.at("some.jsonl"), "[0.1, 0.9]\n[0.123456789, 0.3, 0.2, 0.1, 0.276543211]\n").unwrap();
    fs::write(folder.at("one.jsonl"), "[0.3, 0.7]\n").unwrap();
    let [texts, some, one] = ["texts.txt", "some.jsonl", "one.jsonl"].map(|name| folder.at(name));
    let (corpus, text) = (["--input", &texts, "--weights", &some], ["good river", "--weights", &one]);
    for (asked, format) in [(&corpus[..], "jsonl"), (&text, "json")] {
        let args = [&["explain", "--model", &model, "--format", format], asked].concat();
        let run = exegete(&args);
        assert_eq!(run.code, 0, "{}", run.stderr);
        asked
            .iter()
            .filter(|word| word.ends_with(".jsonl"))
            .for_each(|weights| fs::remove_file(weights).unwrap());
        assert_repeats(&run.stdout, format, &args);
    }
    let run = exegete(&["predict", "good river", "--weights", "[0.3, 0.7", "--model", &model]);
    assert_error(&run, &["--weights: line 1", "no JSON list"]);
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
        for told in [&[][..], &["--pair", &text]] {
            let asked = ["explain", &text, "--model", &model, "--method", "attention", "--format", "json"];
            let run = exegete(&[&asked[..], told].concat());
            if attention == "none" {
                assert_error(&run, &["no attention maps"]);
                continue;
            }
            assert_eq!(run.code, 0, "{attention}: {}", run.stderr);
            shows_its_source(&serde_json::from_str(&run.stdout).unwrap(), attention == "uniform");
            let run = exegete(&["explain", &text, "--model", &model, "--method", "attention_rollout"]);
            assert_error(&run, &["no self-attention"]);
        }
    }
    for (flag, value) in [("--labels", "a,b"), ("--metric", "f1"), ("--loss", "soft"), ("--task", "classify")]
    {
        let dev = folder.at("train.tsv");
        assert_error(&folder.train("seq2seq", &[flag, value, "--dev", &dev]), &[flag, "seq2seq"]);
    }
    fs::write(folder.at("train.tsv"), "source\ttarget\na b\t\n").unwrap();
    assert_error(&folder.train("seq2seq", TINY), &["line 2", "target is empty"]);
}

/// Scores of the source, and the matrix of target words by source words whose row is theirs.
fn shows_its_source(report: &Value, even: bool) {
    let [scores, map] = report["items"].as_array().unwrap().as_slice() else { panic!("{report}") };
    assert_eq!(map["axes"], json!({"rows": "target word", "columns": "source word"}));
    let rows = map["layers"].as_array().unwrap();
    let written = map["prediction"]["words"].as_array().unwrap();
    assert_eq!(rows.len(), written.len());
    assert!(rows.iter().zip(written).all(|(row, word)| row["site"] == word["word"]));
    let numbers =
        |list: &Value| -> Vec<f64> { list.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect() };
    let share = 1.0 / map["tokens"].as_array().unwrap().len() as f64;
    for row in rows {
        let row = numbers(&row["token_values"]);
        assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-5, "{row:?}");
        assert!(!even || row.iter().all(|&weight| (weight - share).abs() < 1e-6), "{row:?}");
    }
    // The first word is explained: its row is what its words score.
    let first = numbers(&rows[0]["token_values"]);
    let scored = numbers(&scores["values"]);
    assert!(first.iter().zip(&scored).all(|(a, b)| (a - b).abs() < 1e-6), "{first:?} {scored:?}");
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
    for (kind, more) in [
        ("average", &["--directions", "2"][..]),
        ("kim", &["--directions", "2"]),
        ("flan", &["--encoder", "conv", "--directions", "2"]),
        ("kim", &["--hidden", "5"]),
        ("flan", &["--encoder", "none", "--hidden", "5"]),
        ("lstm", &["--attention", "dot", "--attention-hidden", "5"]),
        ("lstm", &["--attention", "none", "--attention-hidden", "5"]),
    ] {
        refused(kind, more, &[more[more.len() - 2], "this one has none; leave it out"]);
    }
    refused("lstm", &["--keep", "last"], &["--keep last is for --dev"]);
    refused("lstm", &["--positive", "1"], &["--positive is the class of f1 and auc", "--dev"]);
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

/// Every method of the registry with the deep card on a recurrent, a convolutional and a hierarchical model: it runs, or says
/// by name what the model lacks.
#[test]
fn every_method_runs_or_is_refused_by_name() {
    let folder = Folder::with("keyword", "40");
    let text = first_text(&folder);
    let text = format!("{text} . {text}");
    fs::write(folder.at("rows.tsv"), fs::read(folder.at("train.tsv")).unwrap()).unwrap();
    let words: Vec<String> = text.split(' ').map(|word| format!("{word}\t1\n")).collect();
    fs::write(folder.at("words.tsv"), words.concat()).unwrap();
    let (rows, words) = (folder.at("rows.tsv"), folder.at("words.tsv"));
    for kind in ["lstm", "cnn", "han"] {
        let run = folder.train(kind, tiny(kind));
        assert_eq!(run.code, 0, "{kind}: {}", run.stderr);
        let model = folder.at(kind);
        for method in exegete::methods::METHODS {
            let mut args = vec!["explain", "--model", &model, "--method", method.name];
            // Searches bring evidence of their own, and refuse to be asked for more.
            if matches!(method.new, exegete::methods::New::Scores(_)) || method.name == "sp_lime" {
                args.extend(["--check", "deep"]);
            }
            args.extend(match method.name {
                "sp_lime" => vec!["--input", &rows, "--set", "budget=20"],
                "artifacts" => vec!["--input", &rows, "--label-column", "label"],
                "triggers" => {
                    let quick = ["restarts=1", "rounds=1", "candidates=2", "random=1"];
                    let quick = quick.iter().flat_map(|setting| ["--set", *setting]);
                    ["--input", &rows, "--label-column", "label"].into_iter().chain(quick).collect()
                }
                "feature_permutation" => vec![&text[..], "--masker", "sampled", "--words", &words],
                "exact_shap" => vec!["keyword one two"],
                _ => vec![&text[..]],
            });
            let run = exegete(&args);
            match method.name {
                "attention_rollout" | "attention_norm" => {
                    assert_error(&run, &["has no self-attention", "attention"])
                }
                _ => assert_eq!(run.code, 0, "{kind} {}: {}", method.name, run.stderr),
            }
        }
        let run =
            exegete(&["explain", &text, "--model", &model, "--method", "saliency", "--set", "softplus=yes"]);
        match kind {
            "cnn" => {
                assert!(run.code == 0 && run.stdout.contains("logits move by at most"), "{}", run.stdout)
            }
            _ => assert_error(&run, &["has no ReLU that a softplus could replace"]),
        }
    }
}

/// Sizes that no machine can hold, and numbers that nobody means, are one line before anything is allocated.
#[test]
fn absurd_sizes_are_refused() {
    let folder = Folder::with("keyword", "20");
    for (more, expected) in [
        (&["--hidden", "1000000"][..], "--hidden 1000000: expected a number from 1 to 65,536"),
        (&["--embedding", "65537"], "--embedding 65537: expected"),
        (&["--attention-hidden", "0"], "--attention-hidden 0: expected"),
        (&["--layers", "65"], "--layers 65: expected a number from 1 to 64"),
        (&["--epochs", "18446744073709551615"], "--epochs 18446744073709551615: expected"),
        (&["--batch", "0"], "--batch 0: expected a number from 1 to 1,048,576"),
        // 95 TiB: more than whoever runs this test has.
        (&["--hidden", "65536", "--layers", "64"], "weights, gradients and moments need 9"),
    ] {
        let run = folder.train("lstm", more);
        assert_error(&run, &[expected]);
        assert!(!std::path::Path::new(&folder.at("lstm")).exists(), "{more:?}: a folder is left behind");
    }
}

/// Texts of one word and a class of one row are learned from, answered and explained; a single class is refused.
#[test]
fn one_word_and_one_row_are_enough() {
    let folder = Folder::with("keyword", "2");
    let explained = |kind: &str, more: &[&str]| {
        let run = folder.train(kind, &[tiny(kind), more].concat());
        assert_eq!(run.code, 0, "{kind}: {}", run.stderr);
        let (model, pair) = (folder.at(kind), if more.is_empty() { &[][..] } else { &["--pair", "bad"] });
        let run = exegete(&[&["explain", "film", "--model", &model, "--check", "deep"], pair].concat());
        assert_eq!(run.code, 0, "{kind}: {}", run.stderr);
    };
    fs::write(folder.at("train.tsv"), "text\tlabel\nfilm\t1\nbad\t0\ngood\t1\n").unwrap();
    for kind in exegete::small::KINDS.iter().filter(|kind| !["atae", "seq2seq"].contains(kind)) {
        explained(kind, &[]);
    }
    fs::write(folder.at("train.tsv"), "text\tpair\tlabel\nfilm\tbad\t1\nbad\tfilm\t0\n").unwrap();
    for kind in ["gru", "atae"] {
        explained(kind, &["--pair-column", "pair"]);
    }
    fs::write(folder.at("train.tsv"), "text\tlabel\nfilm\t1\ngood\t1\n").unwrap();
    assert_error(&folder.train("rnn", TINY), &["every row has the label '1'", "at least two classes"]);
}

/// A text that the memory cannot hold while it is learned from is refused before the first step, with both figures.
#[test]
fn a_text_that_is_too_long_to_learn_from_is_refused() {
    let folder = Folder::with("keyword", "2");
    let rows = format!("text\tlabel\n{}\t1\nbad film\t0\n", "film ".repeat(100_000));
    fs::write(folder.at("train.tsv"), rows).unwrap();
    let sizes = ["--embedding", "32", "--hidden", "64", "--epochs", "1", "--memory", "64MiB"];
    let run = folder.train("lstm", &sizes);
    let error = run.stderr.lines().last().unwrap();
    assert_eq!((run.code, error.starts_with("error: ")), (2, true), "{}", run.stderr);
    for said in ["one text of 65536 tokens needs", "67108864 are allowed; raise --memory", "--max-tokens"] {
        assert!(error.contains(said), "{error}");
    }
    assert!(!fs::exists(folder.at("lstm")).unwrap(), "a folder is left behind");
    let cut = folder.train("lstm", &[&sizes[..], &["--max-tokens", "1000"]].concat());
    assert_eq!(cut.code, 0, "{}", cut.stderr);
}

/// A text of 100,000 words is cut where the model reads no further, which is said; what the memory cannot hold is refused with
/// both figures.
#[test]
fn a_recurrent_model_reads_long_texts_within_the_memory() {
    let model = crate::harness::golden_root().join("../small/gru-additive").to_string_lossy().into_owned();
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("long.txt").to_string_lossy().into_owned();
    fs::write(&input, "film ".repeat(100_000)).unwrap();
    let explain = ["explain", "--method", "gradient_x_input", "--check", "none", "--format", "jsonl"];
    for command in [&["predict"][..], &explain] {
        let args = [command, &["--model", &model, "--input", &input, "--memory"]].concat();
        let refused = exegete(&[&args[..], &["4MiB"]].concat());
        let said = ["65536 tokens needs", "4194304 are allowed", "raise --memory or shorten it"];
        assert_error(&refused, &said);
        let run = exegete(&[&args[..], &["512MiB"]].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        let told = ["was cut to the 65536 tokens", "cut to the model's 65536 tokens"];
        let all = run.stdout + &run.stderr;
        assert!(told.iter().any(|told| all.contains(told)), "{command:?} says nothing");
    }
}
