//! What programs do at their edges: files as people have them, options that say nothing, and words that must be true.

use crate::harness::{Run, assert_error, exegete, exegete_reading, file, golden};
use serde_json::Value;
use std::fs;
use std::process::Command;
use tempfile::tempdir;

const TEXT: &str = "A warm and honest film.";

fn on(model: &str, args: &[&str]) -> Run {
    exegete(&[&["explain", "--model", &golden(model)], args].concat())
}

fn report(run: &Run) -> Value {
    assert_eq!(run.code, 0, "{}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

fn units(report: &Value) -> Vec<&str> {
    report["items"][0]["units"]
        .as_array()
        .unwrap()
        .iter()
        .map(|unit| unit["text"].as_str().unwrap())
        .collect()
}

#[test]
fn rows_of_many_texts_say_which_text() {
    let folder = tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    fs::write(at("t.txt"), "A film.\nBoring stuff!\n").unwrap();
    let quick = ["--method", "saliency", "--no-check", "--format", "csv"];
    let many = exegete(&[&["explain", "--input", &at("t.txt")], &quick[..]].concat());
    let rows: Vec<&str> = many.stdout.lines().collect();
    assert!(rows[0].starts_with("row,item,method,target,unit,text,field,start,end,value"), "{}", rows[0]);
    let places: Vec<&str> = rows[1..].iter().map(|row| &row[..4]).collect();
    assert_eq!(places, ["1,0,", "1,0,", "1,0,", "2,0,", "2,0,", "2,0,"], "{}", many.stdout);
    let (input, kept) = (at("t.txt"), at("t.csv"));
    let args = [&["explain", "--input", &input, "-o", &kept], &quick[..]].concat();
    assert_eq!(exegete(&args).code, 0);
    assert_eq!(fs::read_to_string(&kept).unwrap(), many.stdout);
    let one = exegete(&[&["explain", "A film."], &quick[..]].concat());
    assert!(one.stdout.starts_with("item,method,"), "{}", one.stdout);
}

#[test]
fn a_special_token_in_the_text_is_one_unit() {
    let quick = ["--method", "saliency", "--no-check", "--format", "json"];
    let ask = |model: &str, text: &str, target: &str| {
        on(model, &[&[text, "--target", target], &quick[..]].concat())
    };
    let found = report(&ask("bert-mlm", "a [MASK] film [SEP] so", "token:2=the"));
    assert_eq!(units(&found), ["a", "[MASK]", "film", "[SEP]", "so"]);
    let found = report(&ask("roberta-mlm", "a <mask> film", "token:film"));
    assert_eq!(units(&found), ["a", "<mask>", "film"]);
}

#[test]
fn a_word_is_asked_for_where_the_mask_is() {
    let ask = |text: &str, target: &str| {
        on("bert-mlm", &[text, "--target", target, "--method", "saliency", "--no-check", "--format", "json"])
    };
    for target in ["token:2=film", "token:film", "token:[MASK]=film"] {
        assert_eq!(
            report(&ask("a [MASK] film", target))["items"][0]["target"],
            "token:2=film:logit",
            "{target}"
        );
    }
    let best = report(&ask("a [MASK] film", "predicted"));
    let top = best["items"][0]["prediction"]["masks"][0]["top"][0]["piece"].as_str().unwrap();
    assert_eq!(best["items"][0]["target"], format!("token:2={top}:logit"));
    assert_error(
        &ask("a [MASK] film", "token:3=the"),
        &["token 3 is 'film' and no mask", "[MASK] is token 2"],
    );
    assert_error(&ask("a the film", "token:2=the"), &["the text has none", "write [MASK]"]);
    assert_error(&ask("[MASK] [MASK]", "token:the"), &["one mask", "[MASK] is at tokens 1, 2"]);
}

/// Where no place is clear, the error lists what there is.
#[test]
fn a_default_target_that_is_not_clear_lists_the_tokens() {
    let ask = |model: &str, text: &str| on(model, &[text, "--method", "saliency", "--no-check"]);
    assert_error(
        &ask("bert-mlm", "a film"),
        &["as token:POS=WORD", "write [MASK] in the place of a word", "the tokens are: 0 [CLS], 1 a, 2 film"],
    );
    assert_error(
        &ask("bert-mlm", "a [MASK] [MASK]"),
        &["as token:POS=WORD", "[MASK] is at tokens 2, 3", "the tokens are: 0 [CLS], 1 a, 2 [MASK]"],
    );
    assert_error(&ask("bert-token", "Anna knew."), &["as tag:POS=LABEL", "the tokens are: 0 [CLS], 1 "]);
}

#[test]
fn positions_are_named_by_words() {
    let ask = |text: &str, target: &str| {
        on(
            "bert-token",
            &[text, "--target", target, "--method", "saliency", "--no-check", "--format", "json"],
        )
    };
    let found = report(&ask("Anna knew Berlin.", "tag:Anna=B-PER"));
    assert_eq!(found["items"][0]["target"], "tag:1=B-PER:logit");
    assert_error(&ask("Anna knew Anna.", "tag:Anna=B-PER"), &["'Anna' occurs more than once, at tokens 1, "]);
    assert_error(&ask("Anna knew.", "tag:Rome=B-PER"), &["no word 'Rome'", "1 Anna"]);
    assert_error(&ask("Anna knew.", "tag:99=B-PER"), &["no token 99", "0 [CLS]"]);
    // A number is a position, whatever the text says.
    assert_error(&ask("Anna knew 99.", "tag:99=B-PER"), &["no token 99"]);
}

#[test]
fn a_loss_is_shown_as_what_it_is() {
    let args = [TEXT, "--target", "loss", "--label", "negative", "--no-check"];
    let run = on("bert-sequence", &args);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("minus the loss = -"), "{}", run.stdout);
    assert!(run.stdout.contains("against minus the loss"), "{}", run.stdout);
}

#[test]
fn options_that_say_nothing_are_refused() {
    let (_folder, rows) = file("a.tsv", b"text\tlabel\nA film.\tpositive\nSo bad.\tnegative\n");
    for (args, told) in [
        (&[TEXT, "--label", "positive"][..], &["--label is for --target loss", "predicted"][..]),
        (&[TEXT, "--label", "positive", "--top-labels", "2"], &["--label is for --target loss"]),
        (&["--input", &rows, "--label-column", "label"], &["--label-column is for --target loss"]),
        (&[TEXT, "--baseline", "pad", "--method", "lime"], &["--baseline", "lime compares with none"]),
        (&[TEXT, "--baseline", "pad", "--method", "saliency"], &["saliency compares with none"]),
        (&[TEXT, "--pair", "Boring."], &["--pair needs a model for pairs", "--model"]),
        (
            &[TEXT, "--masker", "mask", "--no-check", "--method", "saliency"],
            &["--masker", "saliency hides none"],
        ),
        (&[TEXT, "--masker", "mask", "--site", "all-layers"], &["--masker", "hides none"]),
        (&["--input", &rows, "--method", "artifacts", "--top-labels", "2"], &["--top-labels", "artifacts"]),
        (&["--input", &rows, "--method", "artifacts", "--site", "layer.1.out"], &["--site", "artifacts"]),
        (&["--input", &rows, "--method", "artifacts", "--baseline", "pad"], &["--baseline", "artifacts"]),
    ] {
        assert_error(&exegete(&[&["explain"], args].concat()), told);
    }
    assert_error(&exegete(&["predict", "x", "--pair", "y"]), &["--pair needs a model for pairs"]);
    let eval = ["eval", "--input", &rows, "--methods", "saliency"];
    assert_error(&exegete(&[&eval[..], &["--label-column", "label"]].concat()), &["--label-column is for"]);
    assert_error(&exegete(&[&eval[..], &["--baseline", "pad"]].concat()), &["saliency compares with none"]);
    // Where one of several uses it, it is used.
    let args = [TEXT, "--baseline", "pad", "--method", "saliency", "--method", "deep_lift", "--no-check"];
    assert_eq!(exegete(&[&["explain"], &args[..]].concat()).code, 0);
}

/// Answers otherwise every other time.
#[cfg(unix)]
const WAVERING: &str = r#"cmd: n=0; while IFS= read -r line; do n=$((1-n)); echo "{\"scores\":[[0.$((n+4)),0.$((6-n))]]}"; done"#;
/// Ends after two answers.
#[cfg(unix)]
const ENDING: &str =
    r#"cmd: read -r line; echo '{"scores":[[0.75,0.25]]}'; read -r line; echo '{"scores":[[0.75,0.25]]}'"#;

#[cfg(unix)]
#[test]
fn what_a_black_box_did_stands_in_the_report() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("r.json").to_string_lossy().into_owned();
    for (model, told) in [(WAVERING, "answered twice"), (ENDING, "was asked again")] {
        let args = [
            "explain",
            "so bad",
            "--method",
            "leave_one_out",
            "--no-check",
            "--batch",
            "1",
            "--model",
            model,
        ];
        let run = exegete(&[&args[..], &["--format", "json", "-o", &path]].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        let shown = exegete(&["show", &path]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains(told), "{shown}");
    }
}

#[test]
fn what_a_method_costs_does_not_depend_on_the_others() {
    let (_folder, rows) = file("a.txt", b"A warm film.\nSo very bad.\n");
    let costs = |methods: &str| {
        let run = exegete(&["eval", "--input", &rows, "--methods", methods, "--format", "json"]);
        let table = report(&run)["items"][0].clone();
        let at = |name: &str| {
            table["columns"].as_array().unwrap().iter().position(|column| column == name).unwrap()
        };
        let (asked, ran) = (at("rows asked"), at("rows run"));
        let row = |method: &str| {
            let rows = table["rows"].as_array().unwrap();
            rows.iter()
                .find(|row| row[0] == method)
                .map(|row| (row[asked].clone(), row[ran].clone()))
                .unwrap()
        };
        [row("leave_one_out"), row("feature_ablation")]
    };
    let [[first, second], [other_first, other_second]] =
        [costs("leave_one_out,feature_ablation"), costs("feature_ablation,leave_one_out")];
    assert_eq!((&first.0, &second.0), (&other_first.0, &other_second.0), "asked");
    assert_ne!(first.1, other_first.1, "the second one's rows are remembered");
    assert_ne!(second.1, other_second.1);
}

#[test]
fn legends_say_what_scores_say() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("r.json").to_string_lossy().into_owned();
    for (method, sense, told) in [
        (
            "attention",
            Value::from("same_for_every_class"),
            "how much, not which way; the same for every class",
        ),
        ("saliency", Value::from("how_much"), "how much, not which way"),
        ("gradient_x_input", Value::Null, "against"),
    ] {
        let args = ["explain", TEXT, "--method", method, "--no-check", "--format", "json", "-o", &path];
        assert_eq!(exegete(&args).code, 0);
        let saved: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(saved["items"][0]["sense"], sense, "{method}");
        for format in ["text", "html", "svg"] {
            let shown = exegete(&["show", &path, "--format", format]).stdout;
            let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains(told), "{method} {format}: {words}");
            let legend = words.replace("class=\"against\"", "").contains("against (");
            assert_eq!(legend, method == "gradient_x_input" && format == "html", "{method} {format}");
        }
    }
    let both =
        exegete(&["explain", TEXT, "--method", "saliency", "--method", "gradient_x_input", "--no-check"]);
    assert!(both.stdout.contains("; saliency: how much, not which way"), "{}", both.stdout);
    let map = exegete(&["explain", TEXT, "--method", "saliency", "--site", "all-layers"]).stdout;
    let words = map.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("how much, not which way") && !words.contains("against"), "{map}");
}

/// Scores that read no class cannot change with the head, and are not held against the method; others must change.
#[test]
fn a_random_head_changes_scores_that_read_it() {
    let deep = |method: &str| {
        let run = on("bert-sequence", &[TEXT, "--method", method, "--check", "deep", "--format", "json"]);
        let verdict = report(&run)["items"][0]["checks"]["verdict"].clone();
        let findings = verdict["findings"].as_array().unwrap();
        let own = findings.iter().find(|finding| finding["check"] == "head_randomisation");
        (own.unwrap()["passed"].clone(), verdict["failures"].to_string())
    };
    let (passed, failures) = deep("attention");
    assert!(passed.is_null() && !failures.contains("random head"), "{failures}");
    assert_eq!(deep("integrated_gradients").0, true);
}

#[test]
fn few_units_are_enumerated() {
    let text = "A warm and honest film about my city";
    let values = |method: &str| {
        let run = exegete(&["explain", text, "--method", method, "--no-check", "--format", "json"]);
        let item = report(&run)["items"][0].clone();
        let numbers = |name: &str| -> Vec<f64> {
            item[name].as_array().into_iter().flatten().map(|v| v.as_f64().unwrap()).collect()
        };
        (numbers("values"), numbers("errors"))
    };
    let ((kernel, errors), (exact, _)) = (values("kernel_shap"), values("exact_shap"));
    assert_eq!(kernel.len(), 8);
    assert!(errors.iter().all(|error| *error == 0.0), "{errors:?}");
    // Reports hold four digits.
    exegete_testkit::close("values", &kernel, &exact, exegete_testkit::Of::Largest(0.0), 2e-3);
}

#[test]
fn tables_are_read_as_people_have_them() {
    let read = |name: &str, content: &[u8], args: &[&str]| {
        let (_folder, path) = file(name, content);
        exegete(&[&["predict", "--input", &path, "--format", "csv"], args].concat())
    };
    let texts = |run: Run| -> Vec<String> {
        assert_eq!(run.code, 0, "{}", run.stderr);
        run.stdout.lines().skip(1).map(|line| line.split(',').take(2).collect::<Vec<_>>().join(",")).collect()
    };
    let plain = texts(read("a.tsv", b"text\tlabel\ngood\t1\nbad\t0\n", &[]));
    assert_eq!(plain.len(), 2);
    assert_eq!(texts(read("a.tsv", b"good\t1\nbad\t0\n", &["--no-header"])), plain);
    assert_eq!(
        texts(read("a.csv", b"1;good\n0;bad\n", &["--no-header", "--text-column", "2", "--delimiter", ";"])),
        plain
    );
    assert_eq!(texts(read("a.csv", b"label;text\n1;good\n0;bad\n", &["--delimiter", ";"])), plain);
    assert_eq!(texts(read("a.csv", b"label\ttext\n1\tgood\n0\tbad\n", &["--delimiter", "tab"])), plain);
    assert_error(&read("a.csv", b"label;text\n1;good\n", &[]), &["no column", "--delimiter ';'"]);
    assert_error(&read("a.csv", b"text\ngood\n", &["--delimiter", "ab"]), &["'ab' is not one character"]);
    assert_error(&read("a.txt", b"good\n", &["--delimiter", ";"]), &["--delimiter is for tables"]);
    assert_error(
        &read("a.tsv", b"text\tlabel\n\ngood\t1\n", &[]),
        &["line 2", "the line is empty; remove it"],
    );
}

#[test]
fn every_bad_row_is_told_at_once() {
    let (_folder, path) = file("a.tsv", b"text\tlabel\ngood\nfine\t1\n\nso bad\t0\t3\n");
    let run = exegete(&["eval", "--input", &path, "--methods", "saliency"]);
    assert_error(
        &run,
        &["3 bad rows: line 2: the row has 1 fields", "line 4: the line is empty", "line 5: the row has 3"],
    );
}

/// Files are read before any work: all bad rows, and all labels that the model does not have, with file and line.
#[test]
fn bad_rows_and_labels_are_told_before_any_work() {
    let (_folder, rows) = file("rows.tsv", b"text\tlabel\ngood\nfine\tpositive\n\nbad\tnegative\n");
    let (_folder, labels) = file("labels.tsv", b"text\tlabel\ngood\tgreat\nfine\tpositive\nbad\tawful\n");
    let (_folder, twice) = file("a.jsonl", b"{\"text\":\"a\"}\n{\"text\":\"a\",\"text\":\"b\"}\n");
    let (_folder, bare) = file("bare.csv", b"good film,1\n");
    let column = ["--label-column", "label"];
    let loss = ["--target", "loss"];
    let commands = [
        [&["predict"], &column[..]].concat(),
        [&["explain"], &column[..], &loss].concat(),
        [&["explain", "--method", "artifacts"], &column[..]].concat(),
        [&["explain", "--method", "sp_lime"], &column[..], &loss].concat(),
        [&["explain", "--method", "triggers"], &column[..]].concat(),
        [&["eval", "--methods", "saliency"], &column[..], &loss].concat(),
    ];
    for command in commands {
        let read = |path: &str| exegete(&[&command[..], &["--input", path]].concat());
        let told = ["rows.tsv: 2 bad rows: line 2: the row has 1 fields", "line 4: the line is empty"];
        assert_error(&read(&rows), &told);
        if !command.contains(&"artifacts") {
            let told = ["labels.tsv: 2 bad rows: line 2: 'great' is no label", "line 4: 'awful' is no label"];
            assert_error(&read(&labels), &told);
        }
        let plain: Vec<&str> = command.iter().copied().filter(|word| !column.contains(word)).collect();
        let plain: Vec<&str> = plain.into_iter().filter(|word| !loss.contains(word)).collect();
        let read = |path: &str| exegete(&[&plain[..], &["--input", path]].concat());
        assert_error(&read(&twice), &["a.jsonl: line 2: two fields are called 'text'"]);
        assert_error(&read(&bare), &["bare.csv: line 1: no column", "--no-header"]);
    }
    let piped = exegete_reading(&["explain", "-", "--method", "saliency"], b"good\n\n");
    assert!(piped.stderr.contains("stdin: line 2: the text is empty"), "{}", piped.stderr);
}

#[test]
fn a_log_says_how_far_the_work_is() {
    let (_folder, path) = file("a.txt", b"A warm film.\nSo very bad.\n");
    for args in [&["predict"][..], &["explain", "--no-check", "--method", "saliency"]] {
        let run = Command::new(env!("CARGO_BIN_EXE_exegete"))
            .args([args, &["--input", &path]].concat())
            .env("EXEGETE_PROGRESS", "0")
            .output()
            .unwrap();
        let said = String::from_utf8(run.stderr).unwrap();
        assert!(said.contains("2 texts done, 100 %, about 0 s left"), "{said}");
    }
    let quiet = exegete(&["predict", "--input", &path]);
    assert_eq!(quiet.stderr, "");
    // A single text has no share that is done, but rows that were run.
    let alone = Command::new(env!("CARGO_BIN_EXE_exegete"))
        .args(["explain", "A warm film.", "--no-check", "--method", "leave_one_out"])
        .env("EXEGETE_PROGRESS", "0")
        .output()
        .unwrap();
    let said = String::from_utf8(alone.stderr).unwrap();
    assert!(said.lines().any(|line| line.contains(" rows run, ")), "{said}");
}

#[test]
fn layers_have_their_own_numbers() {
    let run = on("bert-sequence", &["A film.", "--site", "all-layers", "--no-check"]);
    assert!(run.stdout.contains("word embed.word, N layer.N.out"), "{}", run.stdout);
    let head = run.stdout.lines().find(|line| line.contains("word")).unwrap();
    assert_eq!(head.split_whitespace().collect::<Vec<_>>(), ["word", "0", "1", "2"], "{}", run.stdout);
}
