//! `exegete explain --again`: reports that are repeated.

use crate::harness::{assert_error, exegete, exegete_reading, file, golden};
use exegete_testkit::{Of, check, close};
use serde_json::{Value, json};
use std::fs;

/// Every report of a document gives itself when it is repeated, to the last bit and but for the seconds. A black box among
/// the arguments is named again.
pub(crate) fn assert_repeats(document: &str, format: &str, args: &[&str]) {
    let (_folder, path) = file(&format!("report.{format}"), document.as_bytes());
    let reports = serde_json::Deserializer::from_str(document).into_iter::<Value>();
    let black_box = args.iter().filter(|arg| exegete::is_address(arg)).flat_map(|model| ["--model", model]);
    let black_box: Vec<&str> = black_box.collect();
    for (index, report) in reports.map(Result::unwrap).enumerate() {
        let row = (index + 1).to_string();
        let row = if format == "jsonl" { &["--row", row.as_str()][..] } else { &[] };
        let run = exegete(&[&["explain", "--again", &path, "--format", "json"], row, &black_box].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(without_seconds(&parsed(&run.stdout)), without_seconds(&report), "{args:?}, {row:?}");
    }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn without_seconds(report: &Value) -> Value {
    let mut report = report.clone();
    assert!(report["provenance"]["seconds"].take().is_number());
    report
}

/// A report of one text, and a file with it.
fn report(args: &[&str]) -> (Value, tempfile::TempDir, String) {
    let run = exegete(&[&["explain", "A warm film.", "--no-check", "--format", "json"], args].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let (folder, path) = file("report.json", run.stdout.as_bytes());
    (parsed(&run.stdout), folder, path)
}

fn again(path: &str, args: &[&str]) -> crate::harness::Run {
    exegete(&[&["explain", "--again", path], args].concat())
}

#[test]
fn what_a_report_remembers() {
    let (_folder, words) = file("words.txt", b"abc");
    let model = golden("bert-sequence");
    let (report, ..) = report(&["--model", &model, "--words", &words, "--method", "leave_one_out"]);
    let request = &report["request"];
    assert_eq!(request["command"], "explain");
    assert_eq!(request["text"], "A warm film.");
    assert_eq!(request["model"], model);
    assert_eq!(
        (&request["seed"], &request["check"], &request["target"]),
        (&json!(0), &json!("none"), &json!(["predicted"]))
    );
    // The standard's own example (FIPS 180-4).
    let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(request["files"], json!([{"path": words, "sha256": sha256}]));
}

#[test]
fn another_model_or_file_is_refused() {
    let (_words_folder, words) = file("words.tsv", b"film\ngood\n");
    let (report, _folder, path) =
        report(&["--model", &golden("bert-sequence"), "--words", &words, "--method", "leave_one_out"]);
    let here = report["provenance"]["model"]["fingerprint"].as_str().unwrap();
    assert_eq!(again(&path, &["--threads", "1"]).code, 0);
    let other = golden("bert-multilabel");
    let info = exegete(&["model", "info", &other, "--format", "json"]);
    let there = parsed(&info.stdout)["fingerprint"].as_str().unwrap().to_owned();
    assert_error(&again(&path, &["--model", &other]), &[here, &there, "--model"]);
    fs::write(&words, "film\nbad\n").unwrap();
    assert_error(&again(&path, &[]), &[&words, "SHA-256"]);
    fs::remove_file(&words).unwrap();
    assert_error(&again(&path, &[]), &[&format!("{words}: cannot be read: ")]);
}

/// The numbers of a report's only attribution: F, the scores of units and of tokens.
fn numbers(report: &Value) -> Vec<f64> {
    let item = &report["items"][0];
    let lists = ["values", "token_values"].map(|list| item[list].as_array().unwrap());
    let scores = lists.into_iter().flatten();
    std::iter::once(&item["value"]).chain(scores).map(|number| number.as_f64().unwrap()).collect()
}

/// A report on one thread, and the same on two.
fn on_other_threads(args: &[&str]) -> (Value, Value) {
    let (report, _folder, path) = report(&[args, &["--threads", "1"]].concat());
    let run = again(&path, &["--threads", "2", "--format", "json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let repeated = parsed(&run.stdout);
    let threads = [&report, &repeated].map(|report| report["provenance"]["threads"].as_u64());
    assert_eq!(threads, [Some(1), Some(2)]);
    (report, repeated)
}

#[test]
fn on_other_threads_values_agree_to_1e_5() {
    let model = golden("bert-sequence");
    for method in ["gradient_x_input", "lrp", "kernel_shap", "leave_one_out"] {
        let (report, repeated) = on_other_threads(&["--model", &model, "--method", method]);
        let expected = numbers(&report);
        close(method, &numbers(&repeated), &expected, Of::Each(1.0), 1e-5);
        let mut wrong = expected.clone();
        wrong[1] += 2e-5;
        assert!(check(method, &wrong, &expected, Of::Each(1.0), 1e-5).is_err(), "{method}: a planted fault");
    }
}

/// A method that stops when its error is small may stop elsewhere: its values agree within the tolerance that it was given.
#[test]
fn on_other_threads_adaptive_methods_agree_within_their_tolerance() {
    let model = golden("bert-sequence");
    for method in ["integrated_gradients", "gradient_shap", "lime"] {
        let set = format!("{method}.tolerance=0.01");
        let (report, repeated) = on_other_threads(&["--model", &model, "--method", method, "--set", &set]);
        let tolerance = report["items"][0]["params"]["tolerance"].as_f64().unwrap();
        assert_eq!(tolerance, 0.01, "{method}");
        let expected = numbers(&report);
        close(method, &numbers(&repeated), &expected, Of::Largest(0.0), tolerance);
        let mut wrong = expected.clone();
        wrong[1] += 0.02 * expected.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        assert!(
            check(method, &wrong, &expected, Of::Largest(0.0), tolerance).is_err(),
            "{method}: a planted fault"
        );
    }
}

/// What the library was asked is repeated by the program, which is told where the model is.
#[test]
fn reports_of_the_library_are_repeated() {
    let model = golden("bert-sequence");
    let open = exegete::load(model.as_ref(), &exegete::LoadOptions::default()).unwrap();
    let asked = exegete::methods::Request {
        methods: exegete::methods::ConfiguredMethod::all(&["lime", "saliency"], &["lime.budget=40"]).unwrap(),
        masker: Some(exegete::methods::Masker::Mask),
        seed: 3,
        ..Default::default()
    };
    let example = exegete::Example::text("A warm film.");
    let report = exegete::explain_with(&*open, &exegete::Driver::default(), &example, &asked).unwrap();
    let written = serde_json::to_string(&report).unwrap();
    let (_folder, path) = file("report.json", written.as_bytes());
    let run = again(&path, &["--model", &model, "--format", "json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(parsed(&run.stdout)["items"], parsed(&written)["items"]);
    assert_error(&again(&path, &[]), &["give that model with --model"]);
}

#[test]
fn nothing_else_is_given_beside_it() {
    let (_, _folder, path) = report(&["--model", &golden("bert-sequence")]);
    for (args, said) in [
        (&["--seed", "1"][..], "--seed"),
        (&["--no-check"], "--check"),
        (&["Another text."], "a text"),
        (&["--set", "steps=3"], "--set"),
        (&["--timeout", "3"], "--timeout"),
        (&["--row", "0"], "--row"),
    ] {
        assert_error(&again(&path, args), &[said]);
    }
    let run = exegete(&["explain", "x", "--row", "1"]);
    assert_error(&run, &["--again"]);
}

/// A report could come from anybody; its command would be theirs.
#[cfg(unix)]
#[test]
fn a_command_is_never_started_from_a_report() {
    let (folder, trace) = file("trace", b"");
    fs::remove_file(&trace).unwrap();
    let (mut report, _folder, path) = report(&["--model", &golden("bert-sequence")]);
    for model in [format!("cmd: touch {trace}"), "http://127.0.0.1:9".to_owned()] {
        report["request"]["model"] = model.clone().into();
        fs::write(&path, report.to_string()).unwrap();
        assert_error(&again(&path, &[]), &[&model, "--model"]);
    }
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none());
    // Nor does a report name a file to be written.
    report["request"]["model"] = golden("bert-sequence").into();
    report["request"]["cache"] = trace.clone().into();
    fs::write(&path, report.to_string()).unwrap();
    assert_eq!(again(&path, &[]).code, 0);
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none());
}

#[test]
fn texts_from_stdin_are_compared() {
    let args =
        ["explain", "-", "--method", "sp_lime", "--set", "budget=50", "--model", &golden("bert-sequence")];
    let run = exegete_reading(&[&args[..], &["--format", "json"]].concat(), b"A warm film.\nBad.\n");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let report = parsed(&run.stdout);
    assert_eq!(report["request"]["files"][0]["path"], "-");
    let (_folder, path) = file("report.json", run.stdout.as_bytes());
    let repeat = |stdin: &[u8]| exegete_reading(&["explain", "--again", &path, "--format", "json"], stdin);
    let same = repeat(b"A warm film.\nBad.\n");
    assert_eq!(without_seconds(&parsed(&same.stdout)), without_seconds(&report), "{}", same.stderr);
    assert_error(&repeat(b"A warm film.\nGood.\n"), &["-: is not what it was", "SHA-256"]);
}

#[test]
fn hostile_requests_are_one_line() {
    let (report, _folder, path) = report(&["--model", &golden("bert-sequence")]);
    let hostile = |place: &str, value: Value, said: &str| {
        let mut report = report.clone();
        match place.rsplit_once('/') {
            Some((parent, name)) => report.pointer_mut(parent).unwrap()[name] = value,
            None => report[place] = value,
        }
        fs::write(&path, report.to_string()).unwrap();
        assert_error(&again(&path, &[]), &[said]);
    };
    for (place, value, said) in [
        ("request", json!([]), "request"),
        ("request", json!({"command": "explain"}), "files"),
        ("request", json!({"command": "explain", "files": [{"path": 3}]}), "request"),
        ("request", json!({"command": "explain", "files": []}), "there is no text"),
        ("/request/command", json!("format c:"), "format c:"),
        ("/request/command", json!("eval"), "eval"),
        ("/request/command", json!(3), "request"),
        ("/request/seed", json!(-1), "request.seed"),
        ("/request/seed", json!("many"), "request.seed"),
        ("/request/check", json!("all\nof it"), "request"),
        ("/request/target", json!("predicted"), "request.target"),
        ("/request/target", json!(["class:nobody"]), "nobody"),
        ("/request/method", json!(["magic"]), "magic"),
        ("/request/set", json!(["steps=999999999999999999999"]), "steps"),
        ("/request/set", json!(["steps=@/no/such/file"]), "/no/such/file"),
        ("/request/top_labels", json!(0), "top-labels"),
        ("/request/threads", json!(u64::MAX), "--threads"),
        ("/request/memory", json!(0), "--memory"),
        ("/request/site", json!("layer.99.out"), "layer.99.out"),
        ("/request/units", json!("chapter"), "chapter"),
        ("/request/model", json!("/no/such/folder"), "/no/such/folder"),
        ("/request/model", json!(""), "model"),
        ("/request/text", json!("-"), "many texts"),
        ("/request/text", json!(""), "text"),
        ("/request/text", json!(null), "there is no text"),
        ("/request/input", json!("/no/such/file.txt"), "/no/such/file.txt"),
        ("/request/colour", json!("red"), "colour"),
        ("/request/timeout", json!(-1), "--timeout"),
        ("/request/batch", json!(0), "request.batch"),
    ] {
        hostile(place, value, said);
    }
}

#[test]
fn reports_that_cannot_be_repeated() {
    let old = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/fixtures/report-1.json");
    assert_error(&again(old, &[]), &["does not say what was asked"]);
    assert_error(&again("no-such-report.json", &[]), &["no-such-report.json"]);
    let (_rows_folder, rows) = file("rows.txt", b"A warm film.\n");
    let run = exegete(&[
        "eval",
        "--methods",
        "leave_one_out",
        "--input",
        &rows,
        "--model",
        &golden("bert-sequence"),
        "--format",
        "json",
    ]);
    assert_eq!(parsed(&run.stdout)["request"]["command"], "eval", "{}", run.stderr);
    let (_folder, path) = file("report.json", run.stdout.as_bytes());
    assert_error(&again(&path, &[]), &["eval"]);
}
