//! What `explain` writes, whole: every kind of model and target, every method, every format.
//!
//! The counts of rows stand in each snapshot's provenance as they are: an optimisation changes these lines and no other.

use super::TEXT;
#[cfg(unix)]
use super::WARM;
use crate::again::assert_repeats;
use crate::harness::{exegete, file, golden};
use crate::snapshot::assert_snapshot;
use exegete::methods::METHODS;

const FORMATS: [&str; 4] = ["text", "json", "html", "csv"];
const SHORT: &str = "A warm film.";
const ROWS: &str = "text\tlabel\nA warm film.\tpositive\nA bad film.\tnegative\nGood and honest.\tpositive\n";
const WORDS: &str = "film\t3\ngood\t1\nbad\t1\n";

/// One run a format, each with its snapshot.
fn snapshots(name: &str, args: &[&str], formats: &[&str]) {
    for format in formats {
        let run = exegete(&[&["explain"], args, &["--format", format]].concat());
        assert_eq!(run.code, 0, "{name}: {}", run.stderr);
        assert_snapshot(&format!("explain/{name}.{format}"), &run, None);
        if format.starts_with("json") {
            assert_repeats(&run.stdout, format, args);
        }
    }
}

/// The same with a golden model.
fn of_model(name: &str, model: &str, args: &[&str], formats: &[&str]) {
    let folder = golden(model);
    snapshots(name, &[&["--model", &folder, "--threads", "1"], args].concat(), formats);
}

#[test]
fn every_kind_of_model_in_every_format() {
    for (name, model, args) in [
        ("one-text", "bert-sequence", &[TEXT][..]),
        ("pair", "bert-pair", &[SHORT, "--pair", "Boring."]),
        ("tagger", "bert-token", &["Anna knew Berlin.", "--target", "tag:1=B-PER"]),
        ("answer", "bert-qa", &["Who?", "--pair", SHORT, "--target", "answer"]),
        ("masked-word", "bert-mlm", &["A [MASK] film.", "--target", "token:film"]),
        ("multi-label", "bert-multilabel", &[SHORT, "--target", "class:sad:logprob"]),
        ("regression", "bert-regression", &[SHORT]),
    ] {
        of_model(name, model, args, &FORMATS);
    }
    of_model("one-text", "bert-sequence", &[TEXT], &["svg", "jsonl"]);
}

#[test]
fn the_model_of_the_program() {
    snapshots("default-model", &[SHORT, "--threads", "1"], &["text", "json"]);
}

#[test]
fn every_family() {
    for family in ["albert", "distilbert", "electra", "roberta", "xlm-roberta"] {
        of_model(family, &format!("{family}-sequence"), &[SHORT, "--no-check"], &["json"]);
    }
}

/// Every method of the registry: one without a snapshot fails here.
#[test]
fn every_method() {
    let (_folder, words) = file("words.tsv", WORDS.as_bytes());
    let (_rows_folder, rows) = file("rows.tsv", ROWS.as_bytes());
    for method in METHODS {
        let mut args = vec!["--method", method.name];
        match method.name {
            "sp_lime" | "triggers" | "artifacts" => {
                args.extend(["--input", &rows]);
                if method.name != "sp_lime" {
                    args.extend(["--label-column", "label"]);
                }
                let quick: &[&str] = match method.name {
                    "triggers" => &["restarts=1", "rounds=1", "candidates=2", "random=1"],
                    "sp_lime" => &["budget=50"],
                    _ => &[],
                };
                args.extend(quick.iter().flat_map(|setting| ["--set", setting]));
            }
            "feature_permutation" => args.extend([SHORT, "--masker", "sampled", "--words", &words]),
            _ => args.push(SHORT),
        }
        let name = format!("method-{}", method.name);
        of_model(&name, "bert-sequence", &args, &["json"]);
        // What is no attribution has a look of its own.
        if ["sp_lime", "triggers", "artifacts", "anchors", "input_reduction", "flipping_set", "hotflip"]
            .contains(&method.name)
        {
            of_model(&name, "bert-sequence", &args, &["text", "html", "csv"]);
        }
    }
}

#[test]
fn targets() {
    for (name, target) in [
        ("margin", &["margin:negative,positive"][..]),
        ("prob", &["class:neutral:prob"]),
        ("logprob", &["class:neutral:logprob"]),
        ("loss", &["loss", "--label", "negative"]),
        ("unit", &["unit:layer.1.out[2,3]"]),
        ("unit-any", &["unit:layer.1.ffn.inner[*,3]"]),
        ("two", &["class:negative", "--target", "class:positive"]),
    ] {
        let args = [&[SHORT, "--target"], target].concat();
        of_model(&format!("target-{name}"), "bert-sequence", &args, &["json"]);
    }
    of_model("target-span", "bert-qa", &["Who?", "--pair", SHORT, "--target", "start"], &["json"]);
}

#[test]
fn sites_and_layers() {
    of_model("all-layers", "bert-sequence", &[SHORT, "--site", "all-layers"], &FORMATS);
    for (name, site) in [("pooled", "pooled"), ("layer", "layer.1.out")] {
        of_model(&format!("site-{name}"), "bert-sequence", &[SHORT, "--site", site], &["text", "json"]);
    }
}

#[test]
fn all_the_evidence() {
    let methods = ["--method", "gradient_x_input", "--method", "integrated_gradients", "--set", "steps=8"];
    let args = [&[SHORT, "--check", "deep"], &methods[..]].concat();
    of_model("deep", "bert-sequence", &args, &FORMATS);
    of_model("deep-hiding", "bert-sequence", &[SHORT, "--check", "deep", "--method", "lime"], &["json"]);
    let tag = ["Anna knew.", "--target", "tag:1=B-PER", "--check", "deep"];
    of_model("deep-tagger", "bert-token", &tag, &["json"]);
}

#[test]
fn settings() {
    let (_folder, words) = file("words.tsv", WORDS.as_bytes());
    for (name, args) in [
        ("units-token", &["--units", "token", "--no-check"][..]),
        ("units-phrase", &["--units", "phrase"]),
        ("units-sentence", &["--units", "sentence", "--no-check"]),
        ("top-labels", &["--top-labels", "2", "--no-check"]),
        ("baseline-two", &["--baseline", "mask", "--baseline", "text:A bad film.", "--no-check"]),
        ("baseline-mean", &["--baseline", "mean", "--no-check"]),
        ("baseline-pad", &["--baseline", "pad", "--method", "deep_lift", "--no-check"]),
        ("masker-mask", &["--masker", "mask", "--method", "leave_one_out"]),
        ("masker-unk", &["--masker", "unk", "--method", "partition_shap"]),
        ("masker-pad", &["--masker", "pad", "--method", "exact_shap"]),
        ("masker-zero", &["--masker", "zero", "--method", "kernel_shap"]),
        ("masker-sampled", &["--masker", "sampled", "--words", &words, "--method", "anchors"]),
        ("noise", &["--set", "noise=smooth", "--set", "steps=4", "--no-check"]),
        ("lrp-gamma", &["--method", "lrp", "--set", "lrp.rule=gamma", "--no-check"]),
        ("seed", &["--method", "permutation_shap", "--seed", "7", "--no-check"]),
        ("occlusion-window", &["--method", "occlusion", "--set", "window=2", "--no-check"]),
    ] {
        of_model(name, "bert-sequence", &[&[TEXT], args].concat(), &["json"]);
    }
}

#[test]
fn a_file_of_texts() {
    let (_folder, rows) = file("rows.tsv", ROWS.as_bytes());
    of_model("corpus", "bert-sequence", &["--input", &rows], &["jsonl", "csv", "text", "html"]);
    let args = ["--input", &rows, "--label-column", "label"];
    let args = [&args[..], &["--target", "loss", "--method", "leave_one_out", "--no-check"]].concat();
    of_model("corpus-loss", "bert-sequence", &args, &["jsonl"]);
}

#[cfg(unix)]
#[test]
fn a_black_box() {
    snapshots("black-box", &[SHORT, "--model", WARM], &FORMATS);
    for method in ["lime", "anchors"] {
        let name = format!("black-box-{method}");
        snapshots(&name, &[SHORT, "--model", WARM, "--method", method], &["json"]);
    }
}
