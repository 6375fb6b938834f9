//! Black boxes from the command line; `crates/models/tests/remote` has every fault.

use crate::harness::{assert_error, exegete, file};
use crate::snapshot::assert_snapshot;
use serde_json::Value;

/// A model that says no to every text, two texts a request: what is asked for must be what is sent.
const TWO: &str = r#"cmd: while IFS= read -r line; do case "$line" in *This\ is*) echo '{"scores":[[0.75,0.25]],"labels":["no","yes"]}';; *) echo '{"scores":[[0.75,0.25],[0.625,0.375]]}';; esac; done"#;

#[test]
fn a_command_predicts() {
    let (_folder, path) = file("a.tsv", b"text\tlabel\na\tno\nb\tyes\n");
    for format in ["text", "json", "csv"] {
        let args = ["predict", "--input", &path, "--label-column", "label", "--model", TWO, "--batch", "2"];
        let run = exegete(&[&args[..], &["--format", format, "--timeout", "60"]].concat());
        assert_snapshot(&format!("remote.{format}"), &run, None);
    }
}

#[test]
fn a_pair_is_sent_as_a_pair() {
    let model = r#"cmd: while IFS= read -r line; do case "$line" in *'[["'*'","'*'"]]'*) echo '{"scores":[[1,0]]}';; *) echo "not a pair: $line" >&2; exit 1;; esac; done"#;
    let run = exegete(&["predict", "p", "--pair", "h", "--model", model]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{}", run.stdout);
    let alone = exegete(&["predict", "p", "--model", model, "--retries", "0"]);
    assert_error(&alone, &["saying 'not a pair: {\"texts\":[\"This is a sentence.\"]}'"]);
}

#[test]
fn what_is_known_of_a_black_box() {
    let run = exegete(&["model", "info", TWO]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let said = |word: &str| run.stdout.lines().any(|line| line.starts_with(word));
    assert!(
        said("labels") && said("fingerprint") && !said("layers") && !said("max tokens"),
        "{}",
        run.stdout
    );
    let run = exegete(&["model", "info", TWO, "--format", "json"]);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&document["family"], &document["task"]), (&"command".into(), &"classification".into()));
    assert!(document["labels"].is_array() && document.get("layers").is_none(), "{document}");
}

#[test]
fn answers_that_waver_are_warned_of() {
    let wavering =
        r#"cmd: n=1; while IFS= read -r line; do n=$((n+1)); echo "{\"scores\":[[0.$n,0.$((10-n))]]}"; done"#;
    let run = exegete(&["predict", "x", "--model", wavering]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.starts_with("warning: the same text was answered twice"), "{}", run.stderr);
}

#[test]
fn faults_are_one_line() {
    let at = |model, more: &[&str]| exegete(&[&["predict", "x", "--model", model], more].concat());
    assert_error(&at("http://127.0.0.1:1/x", &["--retries", "0"]), &["http://127.0.0.1:1/x", "refused"]);
    assert_error(&at("https://example.org", &[]), &["https is not built in"]);
    assert_error(&at("cmd: no-such-program", &[]), &["cmd: no-such-program", "cannot be run"]);
    assert_error(&at("cmd: sleep 100", &["--timeout", "0.2", "--retries", "0"]), &["within 0.2 s"]);
    assert_error(&at("cmd: echo hello\nworld", &["--retries", "0"]), &["hello"]);
    assert_error(&at("cmd: cat", &["--concurrency", "2"]), &["--concurrency is for http"]);
    assert_error(&at("default", &["--timeout", "2"]), &["--timeout is for models at an address"]);
    assert_error(&at("cmd: cat", &["--timeout", "soon"]), &["'soon' is not a time"]);
    assert_error(&at("cmd: cat", &["--batch", "0"]), &["--batch"]);
    assert_error(&at("cmd: cat", &["--threads", "1"]), &["--threads", "models that run here"]);
    assert_error(&at("http://localhost:1", &["--memory", "1GiB"]), &["--memory", "models that run here"]);
}

/// What would go on for ever without a word, or ask for more than any machine has.
#[test]
fn absurd_options_are_refused() {
    for (option, given, told) in [
        ("--retries", "999999999999", "must be a whole number from 0 to 100"),
        ("--batch", "999999999999", "must be a whole number from 1 to 65,536"),
        ("--timeout", "999999999999", "must be above 0 and at most 86,400 seconds"),
        ("--timeout", "0", "must be above 0"),
    ] {
        let run = exegete(&["predict", "x", "--model", "cmd: false", option, given]);
        assert_error(&run, &[&format!("{option} {given}: {told}")]);
    }
    let at = ["predict", "x", "--model", "http://127.0.0.1:1", "--concurrency", "999999999999"];
    assert_error(&exegete(&at), &["--concurrency 999999999999: must be a whole number from 1 to 256"]);
    let schema: Value = serde_json::from_str(&exegete(&["schema", "predict"]).stdout).unwrap();
    assert_eq!(schema["properties"]["retries"]["maximum"], 100);
}

#[test]
fn commands_that_need_an_inside_say_so() {
    let (folder, path) = file("a.tsv", b"text\tlabel\na\tno\nb\tyes\n");
    let out = folder.path().join("out").to_string_lossy().into_owned();
    // Nobody is there to be asked, so these are refused by the address alone.
    let there = "http://127.0.0.1:1";
    for (args, need) in [
        (&["model", "sites", there][..], "sites"),
        (&["model", "check", there], "gradients"),
        (&["model", "export", there, "-o", &out], "weights"),
        (&["train", "--train", &path, "-o", &out, "--model", there], "weights"),
        (&["bench", "--model", there, "--quick"], "engine"),
    ] {
        assert_error(&exegete(args), &[there, "only answers for texts", need, "Hugging Face folder"]);
    }
}
