//! `exegete explain`, `show` and `methods`: every format, every kind of target, odd texts, killed runs.

mod fixtures;
mod snapshots;

use crate::harness::{Run, assert_error, exegete, exegete_reading, file, golden};
use crate::snapshot::assert_snapshot;
use serde_json::Value;
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub(super) const TEXT: &str = "A warm and honest film.";

fn explain(model: &str, args: &[&str]) -> Run {
    let folder = golden(model);
    exegete(&[&["explain", "--model", &folder], args].concat())
}

fn report(model: &str, args: &[&str]) -> Value {
    let run = explain(model, &[args, &["--format", "json"]].concat());
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{args:?}");
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["schema"], "exegete.report/1");
    report
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

/// Behind the scores of self-attention attribution stand the matrix that they are the columns of, and the tree of all layers.
#[test]
fn a_matrix_and_a_tree_stand_behind_scores() {
    let args = [TEXT, "--method", "attention_attribution"];
    let found = report("bert-sequence", &[&args[..], &["--set", "tree=yes"]].concat());
    let [scores, map, tree] = found["items"].as_array().unwrap().as_slice() else { panic!("{found}") };
    assert_eq!(map["axes"], serde_json::json!({"rows": "token that reads", "columns": "token that is read"}));
    let rows: Vec<Vec<f64>> =
        map["layers"].as_array().unwrap().iter().map(|row| numbers(&row["token_values"])).collect();
    let tokens = numbers(&scores["token_values"]);
    assert_eq!((rows.len(), rows[0].len()), (tokens.len(), tokens.len()));
    for (at, score) in tokens.iter().enumerate() {
        let column: f64 = rows.iter().map(|row| row[at]).sum();
        assert!((column - score).abs() < 1e-5, "{at}: {column} {score}");
    }
    assert_eq!((&tree["kind"], &tree["name"]), (&"table".into(), &"tree".into()));
    let columns = ["layer", "from", "to", "from_token", "to_token", "attribution"];
    assert_eq!(tree["columns"], serde_json::json!(columns));
    let edges = tree["rows"].as_array().unwrap();
    // Each token once, below one that was there when its layer began.
    let mut layer_of = std::collections::BTreeMap::from([(0, usize::MAX)]);
    let last = map["layers"].as_array().unwrap().len();
    for edge in edges {
        let number = |at: usize| edge[at].as_f64().unwrap() as usize;
        let (layer, from, to) = (number(0), number(3), number(4));
        assert!(layer_of.get(&from).is_some_and(|&own| own > layer) && to < last, "{edges:?}");
        assert!(layer_of.insert(to, layer).is_none() && edge[5].as_f64().unwrap() > 0.0, "{edges:?}");
        let piece = |at: usize| &map["tokens"][at]["piece"];
        assert_eq!((&edge[1], &edge[2]), (piece(from), piece(to)));
    }
    assert!(!edges.is_empty(), "{tree}");
    assert_eq!(report("bert-sequence", &args)["items"].as_array().unwrap().len(), 2);
    let page = explain("bert-sequence", &[&args[..], &["--format", "html"]].concat());
    assert!(page.stdout.contains("token that reads by token that is read"), "{}", page.stdout);
}

#[test]
fn the_contract_holds() {
    let report = report("bert-sequence", &[TEXT]);
    let (provenance, item) = (&report["provenance"], &report["items"][0]);
    for key in ["version", "seed", "threads", "seconds", "forward_rows", "backward_rows"] {
        assert!(!provenance[key].is_null(), "{key}");
    }
    assert_eq!(provenance["model"]["name"], "bert-sequence");
    assert_eq!((&item["kind"], &item["method"]), (&"attribution".into(), &"integrated_gradients".into()));
    assert_eq!((&item["site"], &item["input"][0]["text"]), (&"embed.word".into(), &TEXT.into()));
    let tokens = item["tokens"].as_array().unwrap();
    let (values, token_values) = (numbers(&item["values"]), numbers(&item["token_values"]));
    assert_eq!(tokens.len(), token_values.len());
    assert!(tokens[0]["special"].as_bool().unwrap() && tokens[0]["start"].is_null());
    for (unit, value) in item["units"].as_array().unwrap().iter().zip(&values) {
        let at = |part: &Value, key: &str| part[key].as_u64().unwrap() as usize;
        assert_eq!(&TEXT[at(unit, "start")..at(unit, "end")], unit["text"].as_str().unwrap());
        let own = tokens.iter().zip(&token_values).filter(|(token, _)| !token["special"].as_bool().unwrap());
        let inside =
            own.filter(|(token, _)| (at(unit, "start")..at(unit, "end")).contains(&at(token, "start")));
        assert!((inside.map(|(_, v)| v).sum::<f64>() - value).abs() < 1e-6, "{unit}");
    }
    let checks = &item["checks"];
    let sum = checks["completeness"]["sum"].as_f64().unwrap();
    assert!((sum - token_values.iter().sum::<f64>()).abs() < 1e-6);
    assert!(checks["completeness"]["gap"].as_f64().unwrap() <= 0.01);
    for key in ["comprehensiveness", "sufficiency", "leave_one_out", "verdict", "flip"] {
        assert!(!checks[key].is_null(), "no {key}");
    }
    assert!(provenance["forward_rows"].as_u64().unwrap() <= 150 + 256);
}

#[test]
fn every_method_every_target_every_format() {
    let list = exegete(&["methods"]);
    let names: Vec<&str> = list.stdout.lines().skip(1).filter_map(|line| line.split(' ').next()).collect();
    assert!(names.len() >= 16, "{names:?}");
    let (_folder, words) = file("words.tsv", b"film\t3\ngood\t1\n");
    for name in &names {
        let mut args = vec![TEXT, "--method", name];
        match *name {
            "feature_permutation" => args.extend(["--masker", "sampled", "--words", &words]),
            // A method over many texts says so; `many_texts_together` runs them.
            "sp_lime" | "triggers" | "artifacts" => {
                assert_error(&explain("bert-sequence", &args), &[name, "--input"]);
                continue;
            }
            _ => {}
        }
        let found = report("bert-sequence", &args);
        let item = &found["items"][0];
        assert_eq!(item["method"], *name);
        let verdict =
            if item["kind"] == "attribution" { &item["checks"]["verdict"] } else { &item["verdict"] };
        assert!(!verdict["sentence"].as_str().unwrap().is_empty(), "{name}");
        let page = exegete(&["methods", name]);
        assert!(page.stdout.starts_with(&format!("# {name}\n")), "{name}");
    }
    for (model, target, pair) in [
        ("bert-sequence", "margin:negative,positive", None),
        ("bert-sequence", "class:neutral:prob", None),
        ("bert-sequence", "loss", None),
        ("bert-sequence", "unit:layer.1.out[2,3]", None),
        ("bert-sequence", "unit:layer.1.ffn.inner[*,3]", None),
        ("bert-pair", "predicted", Some("Boring.")),
        ("bert-multilabel", "class:sad:logprob", None),
        ("bert-regression", "predicted", None),
        ("bert-token", "tag:2=B-PER", None),
        ("bert-qa", "start", Some(TEXT)),
        ("bert-qa", "answer", Some(TEXT)),
        ("bert-mlm", "token:2=film", None),
    ] {
        for method in ["integrated_gradients", "deep_lift", "attention"] {
            let text = if model == "bert-mlm" { "A [MASK] film." } else { TEXT };
            let mut args = vec![text, "--target", target, "--method", method];
            args.extend(pair.iter().flat_map(|pair| ["--pair", pair]));
            let item = report(model, &args)["items"][0].clone();
            assert!(numbers(&item["values"]).iter().all(|v| v.is_finite()), "{model} {target} {method}");
        }
    }
    for (format, mark) in
        [("text", "evidence"), ("html", "<!DOCTYPE html>"), ("csv", "integrated_gradients"), ("svg", "<svg")]
    {
        let run = explain("bert-sequence", &[TEXT, "--format", format]);
        assert!(
            run.code == 0 && run.stdout.to_lowercase().contains(&mark.to_lowercase()),
            "{format}: {}",
            run.stdout
        );
    }
}

#[test]
fn many_texts_together() {
    let rows = "text\tlabel\nA warm film.\tpositive\nA bad film.\tnegative\nGood and honest.\tpositive\nSo boring.\tnegative\n";
    let (_folder, path) = file("rows.tsv", rows.as_bytes());
    let held_out = "text\tlabel\nA kind film.\tpositive\nA dull film.\tnegative\nWarm and good.\tpositive\nSo bad.\tnegative\n";
    let (_other, held_out) = file("held.tsv", held_out.as_bytes());
    let args = ["--input", &path, "--label-column", "label"];
    let quick = ["--set", "restarts=1", "--set", "rounds=1", "--set", "candidates=2", "--set", "random=1"];
    for (method, more) in [
        ("triggers", &[&quick[..], &["--held-out", &held_out]].concat()[..]),
        ("artifacts", &[]),
        ("sp_lime", &["--set", "budget=50"]),
    ] {
        // What is picked by the model's answers has no use for labels.
        let args = if method == "sp_lime" { &args[..2] } else { &args[..] };
        let found = report("bert-sequence", &[args, &["--method", method], more].concat());
        let items = found["items"].as_array().unwrap();
        assert!(items.iter().any(|item| item["kind"] == "table"), "{method}: {items:?}");
    }
    let run =
        explain("bert-sequence", &[&args[..], &["--method", "anchors", "--method", "artifacts"]].concat());
    assert_error(&run, &["anchors", "one text at a time"]);
    let run = explain("bert-sequence", &[TEXT, "--method", "saliency", "--masker", "sampled"]);
    assert_error(&run, &["--words FILE"]);
}

/// A black box that likes texts with "warm" in them.
const WARM: &str = r#"cmd: while IFS= read -r line; do n=$(printf '%s' "$line" | grep -o '","' | wc -l); out=""; rest=${line#*[}; i=0; while [ $i -le $n ]; do text=${rest%%\",\"*}; rest=${rest#*\",\"}; case "$text" in *warm*) row='[0.1,0.9]';; *) row='[0.8,0.2]';; esac; out="$out${out:+,}$row"; i=$((i+1)); done; echo "{\"scores\":[$out],\"labels\":[\"no\",\"yes\"]}"; done"#;

#[test]
fn a_black_box_is_explained_by_what_it_answers() {
    let run = exegete(&["explain", TEXT, "--model", WARM, "--format", "json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let item = &report["items"][0];
    assert_eq!((&item["method"], &item["target"]), (&"partition_shap".into(), &"class:yes:prob".into()));
    assert_eq!(item["site"], "input");
    for (unit, value) in item["units"].as_array().unwrap().iter().zip(numbers(&item["values"])) {
        let expected = if unit["text"] == "warm" { 0.7 } else { 0.0 };
        assert!((value - expected).abs() < 1e-9, "{unit} {value}");
    }
    assert!(report["provenance"]["asked_rows"].as_u64() > report["provenance"]["forward_rows"].as_u64());
    let anchors = exegete(&["explain", TEXT, "--model", WARM, "--method", "anchors", "--format", "json"]);
    let report: Value = serde_json::from_str(&anchors.stdout).unwrap();
    assert_eq!(report["items"][0]["conditions"], serde_json::json!([1]));
    let gradients = exegete(&["explain", TEXT, "--model", WARM, "--method", "saliency"]);
    assert_error(&gradients, &["saliency needs a model's inside", "partition_shap", "lime", "anchors"]);
    let logits = exegete(&["explain", TEXT, "--model", WARM, "--target", "class:yes:logit"]);
    assert_error(&logits, &["no logits"]);
}

#[test]
fn answers_are_kept_between_runs() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("answers").to_string_lossy().into_owned();
    let rows = || {
        let run = exegete(&["explain", TEXT, "--model", WARM, "--cache", &cache, "--format", "json"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        report["provenance"]["forward_rows"].as_u64().unwrap()
    };
    assert!(rows() > 10);
    assert_eq!(rows(), 0, "everything is known");
}

#[test]
fn layers_units_and_comparisons() {
    let map = report(
        "bert-qa",
        &["Who?", "--pair", TEXT, "--site", "all-layers", "--target", "start", "--target", "end"],
    );
    let items = map["items"].as_array().unwrap();
    assert_eq!(items.len(), 2);
    for item in items {
        assert_eq!((&item["kind"], item["layers"].as_array().unwrap().len()), (&"map".into(), 4));
        let layer = &item["layers"][2];
        assert_eq!(layer["spread"].as_array().unwrap().len(), item["tokens"].as_array().unwrap().len());
        assert!(layer["entropy"].as_f64().unwrap() > 0.0);
    }
    let both = report(
        "bert-sequence",
        &[TEXT, "--method", "saliency", "--method", "lrp", "--set", "lrp.rule=gamma"],
    );
    assert_eq!(both["items"].as_array().unwrap().len(), 2);
    let labels = report("bert-sequence", &[TEXT, "--top-labels", "2", "--no-check"]);
    assert_ne!(labels["items"][0]["target"], labels["items"][1]["target"]);
    for (units, count) in [("token", 6), ("word", 6), ("phrase", 2), ("sentence", 1)] {
        let item = report("bert-sequence", &[TEXT, "--units", units, "--no-check"])["items"][0].clone();
        let found = item["units"].as_array().unwrap().len();
        assert!(if units == "token" { found >= count } else { found == count }, "{units}: {found}");
    }
    let pooled = report("bert-sequence", &[TEXT, "--site", "pooled"]);
    assert_eq!(pooled["items"][0]["kind"], "table");
    // One method compares with nothing, the other with a baseline of its own.
    let methods = ["--method", "gradient_x_input", "--method", "integrated_gradients", "--set", "steps=8"];
    let deep = report("bert-sequence", &[&[TEXT, "--check", "deep"], &methods[..]].concat());
    for key in ["deletion", "insertion", "sensitivity", "infidelity", "stability", "randomisation"] {
        for item in deep["items"].as_array().unwrap() {
            assert!(!item["checks"][key].is_null(), "no {key} of {}", item["method"]);
        }
    }
    let noisy = report("bert-sequence", &[TEXT, "--set", "noise=smooth", "--set", "steps=4", "--no-check"]);
    assert_eq!(noisy["items"][0]["params"]["noise"], "smooth");
    assert!(!numbers(&noisy["items"][0]["errors"]).is_empty());
}

#[test]
fn odd_texts() {
    let long = "word ".repeat(5000);
    for (name, text) in [
        ("one word", "Good"),
        ("emoji", "👍🏽 great 🎬🇫🇷 film"),
        ("right to left", "הסרט היה טוב مأجمل هذا"),
        ("html", "<script>alert(1)</script> & <b>bold</b>"),
        ("long", &long),
        ("punctuation", "... !!! ???"),
    ] {
        let run = explain("bert-sequence", &[text, "--format", "html"]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{name}");
        assert!(!run.stdout.contains("<script>alert"), "{name}");
        assert_eq!(explain("bert-sequence", &[text]).code, 0, "{name}");
    }
    let truncated = report("bert-sequence", &[&long, "--no-check"]);
    assert!(truncated["items"][0]["notes"][0].as_str().unwrap().contains("cut to the"));
    let run = exegete_reading(
        &["explain", "-", "--model", &golden("bert-sequence"), "--format", "text"],
        b"nul \0 byte and \x1b[31m escape\n",
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(!run.stdout.contains('\0') && !run.stdout.contains('\x1b'), "{:?}", run.stdout);
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (args, told) in [
        (&["x", "--method", "integrated_gradient"][..], &["integrated_gradients", "exegete methods"][..]),
        (&["x", "--set", "stepps=5"], &["stepps", "steps"]),
        (&["x", "--set", "steps=0"], &["steps=0"]),
        (&["x", "--set", "steps"], &["key=value"]),
        (&["x", "--set", "steps=5", "--set", "tolerance=0.1"], &["steps", "tolerance"]),
        (&["x", "--baseline", "nothing"], &["nothing", "zero, zero-content, pad, mask, mean"]),
        (&["x", "--site", "layer.9.out"], &["layer.9.out"]),
        (&["x", "--site", "layer.x"], &["layer.x", "exegete model sites"]),
        (&["x", "--target", "class:great"], &["great"]),
        (&["x", "--target", "unit:layer.0.out[0,0]", "--site", "layer.1.out"], &["layer.1.out", "target"]),
        (&["x", "--target", "start"], &["start"]),
        (&["x", "--method", "attention", "--site", "layer.1.out"], &["attention", "site"]),
        (&["x", "--method", "lrp", "--target", "class:0:prob"], &["lrp", "logit"]),
        (&["x", "--units", "letters"], &["letters"]),
        (&["x", "--top-labels", "0"], &["top-labels"]),
        (&["x", "--target", "loss", "--label", "great"], &["great", "negative"]),
        (&["--input", "none.txt"], &["none.txt"]),
    ] {
        assert_error(&explain("bert-sequence", args), told);
    }
    let (_folder, path) = file("r.json", b"{\"schema\":\"other/1\"}");
    assert_error(&exegete(&["show", &path]), &["r.json", "other/1"]);
    assert_error(&exegete(&["show", "nowhere.json"]), &["nowhere.json"]);
}

#[test]
fn a_saved_report_is_shown_again() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    assert_eq!(explain("bert-sequence", &[TEXT, "--format", "json", "-o", &at("r.json")]).code, 0);
    let shown = exegete(&["show", &at("r.json"), "--format", "json"]);
    assert_eq!(shown.stdout, fs::read_to_string(at("r.json")).unwrap());
    let svg = exegete(&["show", &at("r.json"), "--format", "svg", "-o", &at("r.svg")]);
    assert_eq!(svg.code, 0);
    assert!(fs::read_to_string(at("r.svg")).unwrap().contains("honest"));
    if cfg!(feature = "png") {
        let png = exegete(&["show", &at("r.json"), "--format", "png", "-o", &at("r.png")]);
        assert_eq!(png.code, 0, "{}", png.stderr);
        assert!(fs::read(at("r.png")).unwrap().starts_with(b"\x89PNG"));
    }
}

fn without_seconds(lines: &str) -> Vec<Value> {
    let strip = |line: &str| {
        let mut report: Value = serde_json::from_str(line).unwrap();
        report["provenance"]["seconds"] = Value::Null;
        report
    };
    lines.lines().map(strip).collect()
}

/// A run over a file that is killed goes on where it was and gives what an uninterrupted one gives.
#[test]
fn a_killed_run_loses_nothing() {
    let texts: Vec<String> = (0..150).map(|i| format!("film number {i} was good")).collect();
    let (folder, path) = file("many.txt", texts.join("\n").as_bytes());
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let command = |output: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_exegete"));
        let model = golden("bert-sequence");
        command.args(["explain", "--input", &path, "--model", &model, "--threads", "1", "-o", output]);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    };
    assert!(command(&at("whole.jsonl")).status().unwrap().success());
    let mut child = command(&at("killed.jsonl")).spawn().unwrap();
    let unfinished = || {
        let names = fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.path());
        names.into_iter().find(|path| path.to_string_lossy().contains("killed.jsonl.unfinished"))
    };
    let started = Instant::now();
    let written =
        |bytes: u64| unfinished().is_some_and(|path| fs::metadata(path).is_ok_and(|m| m.len() > bytes));
    while !written(20_000)
        && child.try_wait().unwrap().is_none()
        && started.elapsed() < Duration::from_secs(60)
    {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(unfinished().is_some(), "the run was over before it could be killed");
    let again = command(&at("killed.jsonl")).output().unwrap();
    let told = String::from_utf8(again.stderr).unwrap();
    assert!(again.status.success() && told.contains("going on after"), "{told}");
    assert!(unfinished().is_none());
    let read = |name: &str| without_seconds(&fs::read_to_string(at(name)).unwrap());
    assert_eq!(read("killed.jsonl"), read("whole.jsonl"));
    assert_eq!(read("whole.jsonl").len(), 150);
    let shown = exegete(&["show", &at("whole.jsonl"), "--row", "3", "--format", "text"]);
    assert!(shown.stdout.contains("number"), "{}", shown.stdout);
}

/// What a reader sees; figures are left out, since their last digit depends on the machine.
#[test]
fn the_list_of_methods() {
    assert_snapshot("methods", &exegete(&["methods"]), None);
}
