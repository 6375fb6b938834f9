//! `exegete predict` on golden models: every head, every format, every kind of file.

use crate::harness::{Run, exegete, exegete_reading, file, golden};
use crate::snapshot::{agree, assert_snapshot};
use serde_json::Value;

const TEXT: &str = "A warm and honest film.";

fn predict(model: &str, args: &[&str]) -> Run {
    let folder = golden(model);
    exegete(&[&["predict", "--model", &folder], args].concat())
}

#[test]
fn every_head_in_every_format() {
    for (model, args) in [
        ("bert-sequence", &[TEXT][..]),
        ("bert-pair", &[TEXT, "--pair", "Boring"]),
        ("bert-multilabel", &[TEXT]),
        ("bert-regression", &[TEXT]),
        ("bert-token", &[TEXT]),
        ("bert-qa", &["Who was boring?", "--pair", TEXT]),
        ("bert-mlm", &["A warm [MASK] film."]),
        ("bert-bare", &[TEXT]),
    ] {
        for format in ["text", "json", "csv"] {
            let run = predict(model, &[args, &["--format", format]].concat());
            assert_snapshot(&format!("{model}.{format}"), &run, None);
        }
    }
}

#[test]
fn every_family_answers() {
    for family in ["albert", "bert", "distilbert", "electra", "roberta", "xlm-roberta"] {
        let run = predict(&format!("{family}-sequence"), &[TEXT, "--format", "json"]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{family}");
        let document: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(document["schema"], "exegete.predictions/1");
        assert_eq!(document["rows"][0]["input"][0]["text"], TEXT);
        let scores = document["rows"][0]["prediction"]["scores"].as_array().unwrap();
        let total: f64 = scores.iter().map(|score| score["prob"].as_f64().unwrap()).sum();
        assert!((total - 1.0).abs() < 1e-6, "{family}: {total}");
    }
}

/// The same three texts in every kind of file give the same rows.
#[test]
fn every_kind_of_file_gives_the_same_rows() {
    let files: [(&str, &[u8], &[&str]); 6] = [
        ("a.txt", b"one film\na \"b\nthe end\n", &[]),
        ("crlf.txt", b"\xef\xbb\xbfone film\r\na \"b\r\nthe end", &[]),
        ("a.tsv", b"sentence\tlabel\none film\t0\na \"b\t1\nthe end\t2\n", &[]),
        ("a.csv", b"id,content\n1,one film\n2,\"a \"\"b\"\n3,the end\n", &[]),
        ("a.jsonl", b"{\"text\":\"one film\"}\n{\"text\":\"a \\\"b\"}\n{\"text\":\"the end\"}\n", &[]),
        ("b.tsv", b"q\tr\nx\tone film\nx\ta \"b\nx\tthe end\n", &["--text-column", "r"]),
    ];
    let model = golden("bert-sequence");
    let lines = exegete_reading(&["predict", "-", "--model", &model, "--format", "csv"], files[0].1);
    assert_snapshot("predict-lines", &lines, None);
    for (name, content, options) in files {
        let (_folder, path) = file(name, content);
        let run = predict("bert-sequence", &[&["--input", &path, "--format", "csv"], options].concat());
        assert_eq!((run.code, &run.stdout, &run.stderr), (0, &lines.stdout, &String::new()), "{name}");
    }
}

#[test]
fn a_corpus_comes_out_in_order_whatever_the_chunk() {
    let texts: Vec<String> = (0..700).map(|i| format!("film {i}")).collect();
    let (folder, path) = file("many.txt", texts.join("\n").as_bytes());
    let out = folder.path().join("out.csv").to_string_lossy().into_owned();
    let run =
        predict("bert-sequence", &["--input", &path, "--format", "csv", "-o", &out, "--memory", "1MiB"]);
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
    let written = std::fs::read_to_string(&out).unwrap();
    let first: Vec<_> = written.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(first, texts);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "a partial file stayed behind");
    let alone = predict("bert-sequence", &["film 699", "--format", "csv"]);
    assert!(agree(written.lines().last().unwrap(), alone.stdout.lines().last().unwrap(), true));
}

#[test]
fn labels_give_an_accuracy_by_name_or_index() {
    // Whatever the prediction, one of the three names and one of the three indices is right.
    let golds = ["neutral", "negative", "positive", "0", "1", "2"];
    let rows: Vec<String> = golds.iter().map(|gold| format!("Boring\t{gold}\n")).collect();
    let (_folder, path) = file("a.tsv", format!("text\tgold\n{}", rows.concat()).as_bytes());
    let run = predict("bert-sequence", &["--input", &path, "--label-column", "gold", "--format", "csv"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, "accuracy 0.3333 (2 of 6)\n"));
}

#[test]
fn truncation_is_said_on_the_row_and_on_stderr() {
    let long = "film ".repeat(100);
    let run = predict("bert-sequence", &[&long]);
    assert_snapshot("truncated", &run, None);
    let run = predict("bert-sequence", &[&long, "--format", "json"]);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(document["rows"][0]["truncated"], true);
}

#[test]
fn a_reader_who_stops_early_is_no_error() {
    use std::process::{Command, Stdio};
    let texts = "film\n".repeat(3000);
    let (_folder, path) = file("many.txt", texts.as_bytes());
    for format in ["text", "json", "csv"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_exegete"));
        command.args(["predict", "--model", &golden("bert-sequence"), "--input", &path, "--format", format]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()), "{format}");
    }
}

#[test]
fn threads_do_not_change_the_answer() {
    let [one, two] = ["1", "2"].map(|n| predict("bert-sequence", &[TEXT, "--format", "csv", "--threads", n]));
    assert_eq!((one.code, two.code), (0, 0), "{}{}", one.stderr, two.stderr);
    assert!(agree(&one.stdout, &two.stdout, true));
}

/// Without `--model`, and by its name, the model that is part of the program answers; what is exported is the same model.
#[test]
fn the_default_model_answers() {
    let text = "It is not a perfect film, but I loved every minute of it.";
    let run = exegete(&["predict", text]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.lines().nth(1).unwrap().trim_start().starts_with("positive"), "{}", run.stdout);
    assert_eq!(exegete(&["predict", text, "--model", "default"]).stdout, run.stdout);
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("exported").to_string_lossy().into_owned();
    let exported = exegete(&["model", "export", "-o", &output]);
    assert_eq!((exported.code, exported.stdout.as_str(), exported.stderr.as_str()), (0, "", ""));
    assert_eq!(exegete(&["predict", text, "--model", &output]).stdout, run.stdout);
    let again = exegete(&["model", "export", "-o", &output]);
    assert_eq!(again.code, 2);
    let info = exegete(&["model", "info"]);
    assert!(info.stdout.contains("default") && info.stdout.contains("negative, positive"), "{}", info.stdout);
}
