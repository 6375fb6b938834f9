//! Options that a model, a method or a file has no use for: refused in one line, never passed over in silence.

use crate::harness::{assert_error, exegete, file, golden, root};
use std::fs;

const TEXT: &str = "A warm and honest film.";
const ROWS: &[u8] = b"text\tlabel\nA film.\tpositive\nSo bad.\tnegative\n";
const CONSTANT: &str = r#"cmd: while IFS= read -r line; do echo '{"scores":[[0.3,0.7]]}'; done"#;

/// Each row: what is asked, and what the one line must say.
fn refused(command: &str, table: &[(&[&str], &[&str])]) {
    for (args, told) in table {
        assert_error(&exegete(&[&[command], *args].concat()), told);
    }
}

#[test]
fn explain_passes_over_nothing() {
    let (folder, rows) = file("a.tsv", ROWS);
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    fs::write(at("a.txt"), "A film.\n").unwrap();
    fs::write(at("held.tsv"), "text\tlabel\nOh.\tpositive\nNo.\tnegative\n").unwrap();
    fs::write(at("w.jsonl"), "[0.2,0.2,0.2,0.2,0.2]\n").unwrap();
    fs::write(at("words.txt"), "film\nplot\n").unwrap();
    let (lines, held, weights, words) = (at("a.txt"), at("held.tsv"), at("w.jsonl"), at("words.txt"));
    let many = ["--input", &rows, "--label-column", "label"];
    let of = |method: &'static str, more: &[&'static str]| -> Vec<String> {
        [&many[..], &["--method", method], more].concat().iter().map(|word| (*word).to_owned()).collect()
    };
    refused(
        "explain",
        &[
            (&[TEXT, "--pair", "Boring.", "--label", "positive"], &["--label is for --target loss"]),
            (&[TEXT, "--pair", "Boring."], &["--pair needs a model for pairs"]),
            (&[TEXT, "--weights", &weights], &["has its own attention", "leave the weights out"]),
            (
                &["A warm and honest film", "--weights", &weights, "--model", CONSTANT],
                &["has its own attention"],
            ),
            (&[TEXT, "--held-out", &held], &["--held-out"]),
            (&["--input", &rows, "--held-out", &held], &["--held-out says nothing to integrated_gradients"]),
            (&["--input", &lines, "--no-header"], &["--no-header is for tables"]),
            (&["--input", &lines, "--delimiter", ";"], &["--delimiter is for tables"]),
            (&["--input", &lines, "--text-column", "text"], &["no columns"]),
            (&[TEXT, "--site", "layer.1.out", "--method", "lime"], &["lime", "site"]),
            (&[TEXT, "--site", "embed.word", "--method", "lime"], &["--site says nothing to lime"]),
            (
                &[TEXT, "--site", "embed.word", "--model", CONSTANT],
                &["--site says nothing to partition_shap"],
            ),
            (&[TEXT, "--site", "all-layers", "--units", "token"], &["--units", "--site all-layers"]),
            (&[TEXT, "--site", "pooled", "--units", "sentence"], &["--units", "--site pooled"]),
            (&[TEXT, "--site", "all-layers", "--units", "word"], &["--units"]),
            (&[TEXT, "--method", "attention", "--set", "reduce=l2"], &["attention knows no 'reduce'"]),
            (&[TEXT, "--method", "attention_rollout", "--set", "reduce=l2"], &["knows no 'reduce'"]),
            (&[TEXT, "--method", "attention_norm", "--set", "reduce=l1"], &["knows no 'reduce'"]),
            (&[TEXT, "--method", "grad_cam", "--set", "reduce=l1"], &["grad_cam knows no 'reduce'"]),
            (&[TEXT, "--site", "layer.1.out", "--method", "anchors"], &["anchors changes the text"]),
            (&[TEXT, "--site", "layer.1.out", "--method", "hotflip"], &["hotflip changes the text"]),
            (&[TEXT, "--site", "all-layers", "--check", "deep"], &["--check deep", "all-layers"]),
            (&[TEXT, "--check", "deep", "--method", "anchors"], &["--check deep says nothing to anchors"]),
            (&[TEXT, "--check", "deep", "--method", "hotflip"], &["--check deep says nothing to hotflip"]),
            (&[TEXT, "--units", "sentence", "--method", "hotflip"], &["--units says nothing to hotflip"]),
            (&[TEXT, "--masker", "mask", "--method", "hotflip"], &["--masker says nothing to hotflip"]),
            (&[TEXT, "--words", &words, "--method", "hotflip"], &["--words says nothing to hotflip"]),
            (&[TEXT, "--words", &words, "--masker", "mask"], &["--words are for --masker sampled"]),
            (&[TEXT, "--masker", "sampled"], &["sampled", "--words"]),
            (
                &[TEXT, "--baseline", "pad", "--method", "anchors"],
                &["--baseline", "anchors compares with none"],
            ),
            (&[TEXT, "--set", "steps=5", "--method", "lime"], &["steps", "lime"]),
            (&[TEXT, "--timeout", "3"], &["--timeout is for models at an address"]),
            (&[TEXT, "--batch", "3"], &["--batch is for models at an address"]),
            (&[TEXT, "--threads", "1", "--model", CONSTANT], &["--threads", "models that run here"]),
            (&[TEXT, "--memory", "1GiB", "--model", CONSTANT], &["--memory", "models that run here"]),
            (&[TEXT, "--concurrency", "2", "--model", CONSTANT], &["--concurrency is for http"]),
            (&[TEXT, "--row", "2"], &["--again"]),
        ],
    );
    for (args, told) in [
        (of("artifacts", &["--target", "class:positive"]), "--target says nothing to artifacts"),
        (of("artifacts", &["--units", "token"]), "--units says nothing to artifacts"),
        (of("artifacts", &["--masker", "mask"]), "--masker says nothing to artifacts"),
        (of("artifacts", &["--check", "deep"]), "--check deep says nothing to artifacts"),
        (of("artifacts", &["--check", "none"]), "--check none says nothing to artifacts"),
        (of("artifacts", &["--check", "default"]), "--check says nothing to artifacts"),
        (of("artifacts", &["--no-check"]), "--check none says nothing to artifacts"),
        (of("artifacts", &["--cache", "no-such-file"]), "--cache says nothing to artifacts"),
        (of("triggers", &["--no-check"]), "--check none says nothing to triggers"),
        (of("sp_lime", &[]), "--label-column is for --target loss"),
        (of("triggers", &["--target", "class:positive"]), "--target says nothing to triggers"),
        (of("triggers", &["--units", "token"]), "--units says nothing to triggers"),
        (of("triggers", &["--masker", "mask"]), "--masker says nothing to triggers"),
    ] {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        assert_error(&exegete(&[&["explain"], &args[..]].concat()), &[told]);
    }
    for method in ["artifacts", "sp_lime"] {
        let column = if method == "sp_lime" { &many[..2] } else { &many[..] };
        let args = [&["explain"], column, &["--method", method, "--held-out", &held]].concat();
        assert_error(&exegete(&args), &["--held-out says nothing to", method]);
    }
    // Where one of several methods reads it, it is read.
    let both = [
        "explain",
        TEXT,
        "--no-check",
        "--method",
        "attention",
        "--method",
        "saliency",
        "--set",
        "reduce=l1",
    ];
    assert_eq!(exegete(&both).code, 0);
    let both = ["explain", TEXT, "--check", "deep", "--method", "anchors", "--method", "saliency"];
    assert_eq!(exegete(&both).code, 0);
}

/// Threads cost time to start: no more than any machine has work for.
#[test]
fn too_many_threads_are_refused() {
    for command in [&["predict", TEXT][..], &["explain", TEXT], &["explain", TEXT, "--method", "lime"]] {
        for threads in ["4097", "100000", "18446744073709551615"] {
            let run = exegete(&[command, &["--threads", threads]].concat());
            assert_error(&run, &[&format!("--threads {threads}: at most "), "0 means all its cores"]);
        }
    }
    assert_eq!(exegete(&["predict", TEXT, "--threads", "64"]).code, 0);
}

#[test]
fn predict_and_eval_pass_over_nothing() {
    let (folder, rows) = file("a.tsv", ROWS);
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    fs::write(at("a.txt"), "A film.\n").unwrap();
    fs::write(at("w.jsonl"), "[0.5,0.5]\n[0.5,0.5]\n").unwrap();
    fs::write(at("p.tsv"), "text\tother\nA film.\tBoring.\n").unwrap();
    let (lines, weights, pairs) = (at("a.txt"), at("w.jsonl"), at("p.tsv"));
    let (words, value) = (golden("bert-mlm"), golden("bert-regression"));
    refused(
        "predict",
        &[
            (&["--input", &lines, "--no-header"], &["--no-header is for tables"]),
            (&["--input", &lines, "--delimiter", ";"], &["--delimiter is for tables"]),
            (&["--input", &lines, "--label-column", "label"], &["no columns"]),
            (&["--input", &rows, "--weights", &weights], &["has its own attention"]),
            (&["--input", &rows, "--weights", &weights, "--model", CONSTANT], &["has its own attention"]),
            (
                &["--input", &rows, "--label-column", "label", "--model", &words],
                &["--label-column", "masked"],
            ),
            (
                &["--input", &rows, "--label-column", "label", "--model", &value],
                &["--label-column", "regression"],
            ),
            (&["--input", &pairs, "--pair-column", "other"], &["--pair-column needs a model for pairs"]),
            (&[TEXT, "--retries", "3"], &["--retries is for models at an address"]),
            (&[TEXT, "--memory", "1GiB", "--model", CONSTANT], &["--memory", "models that run here"]),
        ],
    );
    // Beside the answers it is read: `gold`.
    let beside =
        ["predict", "--input", &rows, "--label-column", "label", "--model", &value, "--format", "json"];
    let run = exegete(&beside);
    assert!(run.code == 0 && run.stdout.contains("\"gold\":\"positive\""), "{}{}", run.stdout, run.stderr);
    let eval = |more: &[&'static str]| -> Vec<String> {
        [&["--methods", "saliency"], more].concat().iter().map(|word| (*word).to_owned()).collect()
    };
    for (input, args, told) in [
        (&pairs, eval(&["--pair-column", "other"]), "--pair-column needs a model for pairs"),
        (&rows, eval(&["--label-column", "label"]), "--label-column is for --target loss"),
        (&rows, eval(&["--baseline", "pad"]), "saliency compares with none"),
        (&lines, eval(&["--no-header"]), "--no-header is for tables"),
        (&lines, eval(&["--delimiter", ";"]), "--delimiter is for tables"),
        (&rows, eval(&["--retries", "1"]), "--retries is for models at an address"),
        (&rows, eval(&["--set", "lime.samples=3"]), "lime.samples"),
    ] {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        assert_error(&exegete(&[&["eval", "--input", input], &args[..]].concat()), &[told]);
    }
}

/// Explanations made elsewhere have no parameters.
#[test]
fn eval_without_methods_has_nothing_to_set() {
    let (folder, rows) = file("a.txt", b"A film.\n");
    let given = folder.path().join("given.jsonl").to_string_lossy().into_owned();
    fs::write(&given, "{\"tokens\":[\"a\",\"film\",\".\"],\"scores\":[0.1,0.5,0]}\n").unwrap();
    let from = format!("elsewhere={given}");
    let base = ["eval", "--input", &rows, "--explanations", &from];
    for (more, told) in [
        (["--set", "nosuch.x=3"], "--set is for --methods"),
        (["--set", "steps=3"], "--set is for --methods"),
        (["--baseline", "pad"], "--baseline is for --methods"),
    ] {
        assert_error(&exegete(&[&base[..], &more].concat()), &[told]);
    }
}

/// A model that was trained on single texts has no use for a second one, whoever trained it and whatever it is.
#[test]
fn a_model_for_one_text_refuses_a_pair() {
    let (folder, rows) =
        file("a.csv", b"text;label\na warm film;good\nso bad;poor\nwarm;good\nbad plot;poor\n");
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    fs::write(at("p.csv"), "text;other;label\na film;warm;good\nbad;bad;poor\n").unwrap();
    let (one, two, start, pairs) = (at("one"), at("two"), golden("bert-bare"), at("p.csv"));
    let quick = ["--model", &start, "--epochs", "1", "--delimiter", ";"];
    let run = exegete(&[&["train", "--train", &rows, "-o", &one], &quick[..]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let run =
        exegete(&[&["train", "--train", &pairs, "--pair-column", "other", "-o", &two], &quick[..]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let small = root().join("golden/small/lstm-additive").to_string_lossy().into_owned();
    for model in [&one, &small] {
        for command in ["predict", "explain"] {
            let run = exegete(&[command, TEXT, "--pair", "Boring.", "--model", model]);
            assert_error(&run, &["this model reads one text", "leave the second text out"]);
        }
    }
    for model in [&two, &golden("bert-pair")] {
        let run = exegete(&["predict", TEXT, "--pair", "Boring.", "--model", model]);
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
    // What is trained on is for pairs from then on.
    let again = at("again");
    let next = ["--model", &one, "--epochs", "1", "--delimiter", ";", "--pair-column", "other"];
    assert_eq!(exegete(&[&["train", "--train", &pairs, "-o", &again], &next[..]].concat()).code, 0);
    assert_eq!(exegete(&["predict", TEXT, "--pair", "Boring.", "--model", &again]).code, 0);
}

#[test]
fn training_reads_tables_as_people_have_them() {
    let (folder, rows) = file("a.csv", b"1;a warm film\n0;so bad\n1;warm\n0;bad plot\n");
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    fs::write(at("b.jsonl"), "{\"text\":\"a\",\"label\":\"1\"}\n{\"text\":\"b\",\"label\":\"0\"}\n").unwrap();
    fs::write(at("leave.txt"), "so bad\n").unwrap();
    let (start, out, json, leave) = (golden("bert-bare"), at("out"), at("b.jsonl"), at("leave.txt"));
    let base = ["train", "--model", &start, "--epochs", "1", "-o", &out, "--delimiter", ";"];
    let numbered = ["--no-header", "--text-column", "2", "--label-column", "1", "--exclude", &leave];
    let run = exegete(&[&base[..], &["--train", &rows], &numbered[..]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("left out 1 of 4 training rows"), "{}", run.stderr);
    assert_error(
        &exegete(&[&base[..], &["--train", &json, "--overwrite"]].concat()),
        &["--delimiter is for tables"],
    );
    let wrong = ["train", "--model", &start, "-o", &at("other"), "--train", &rows, "--delimiter", "ab"];
    assert_error(&exegete(&wrong), &["'ab' is not one character"]);
}
