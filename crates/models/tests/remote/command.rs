//! A model behind a command.

use crate::{HASTY, PATIENT, failure, last, open, texts};
use exegete_core::Example;
use exegete_models::RemoteOptions;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// The loop of a sound program.
const ANSWER: &str =
    r#"while IFS= read -r line; do echo '{"scores":[[0.25,0.75]],"labels":["no","yes"]}'; done"#;
/// One answer, as a shell command.
const ONCE: &str = r#"read -r line; echo '{"scores":[[0.25,0.75]],"labels":["no","yes"]}'"#;

fn command(script: &str) -> String {
    format!("cmd: {script}")
}

/// A file in a folder that goes with the test.
fn note(folder: &tempfile::TempDir) -> String {
    folder.path().join("note").to_string_lossy().into_owned()
}

#[test]
fn a_sound_program_answers() {
    let model = open(&command(ANSWER), &PATIENT);
    assert_eq!(
        (model.card().family.as_str(), model.card().labels.join(",")),
        ("command", "no,yes".to_owned())
    );
    let predictions = model.predict(&texts(&["a", "b", "c"])).unwrap();
    assert_eq!(predictions.iter().map(last).collect::<Vec<_>>(), [0.75; 3]);
}

#[test]
fn texts_and_pairs_arrive_unharmed() {
    let folder = tempfile::tempdir().unwrap();
    let path = note(&folder);
    let script = ANSWER.replace("do ", &format!("do printf '%s\\n' \"$line\" >> '{path}'; "));
    let model = open(&command(&script), &RemoteOptions { pairs: true, ..PATIENT });
    let odd = ["a\nb\r\n", "\0", "😀 naïve \u{2028}", "\"\\", "", " $HOME `ls` '", &"long ".repeat(50_000)];
    let mut examples = texts(&odd);
    examples.push(Example::pair("p\n", "h"));
    model.predict(&examples).unwrap();
    let asked = fs::read_to_string(&path).unwrap();
    let asked: Vec<Value> = asked.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut expected: Vec<Value> = odd.iter().map(|text| json!({"texts": [text]})).collect();
    expected.push(json!({"texts": [["p\n", "h"]]}));
    assert_eq!(asked[2..], expected);
}

#[test]
fn every_fault_is_told() {
    let check = |script: &str, options: RemoteOptions, told: &[&str]| {
        let error = failure(&command(script), &options);
        println!("{error}");
        assert!(told.iter().all(|part| error.contains(part)), "{script}: {error}");
    };
    let once = RemoteOptions { retries: 1, ..PATIENT };
    let hasty = RemoteOptions { retries: 1, ..HASTY };
    check("no-such-program --x", once, &["cannot be run", "not found", "path"]);
    check("/etc", once, &["cannot be run"]);
    check("exit 3", once, &["ended without an answer (exit status: 3) (asked 2 times)"]);
    check("echo 'ImportError: torch' >&2; exit 1", PATIENT, &["saying 'ImportError: torch'"]);
    check(
        "for i in 1 2 3 4 5; do echo trace $i >&2; done; exit 1",
        PATIENT,
        &["'trace 3 | trace 4 | trace 5'"],
    );
    check("kill -9 $$", PATIENT, &["ended without an answer", "signal: 9"]);
    check("sleep 100", hasty, &["did not answer within 0.3 s and was stopped (asked 2 times)", "--timeout"]);
    check(
        "echo hm >&2; sleep 100",
        RemoteOptions { timeout: Duration::from_secs(2), ..PATIENT },
        &["saying 'hm'"],
    );
    check("exec >&-; sleep 100", PATIENT, &["closed its output without an answer"]);
    check(&format!("echo Loading; {ANSWER}"), once, &["'Loading", "stderr"]);
    check("read -r line; echo; sleep 100", PATIENT, &["the answer is empty"]);
    check(r"read -r line; printf '\377\376\n'; sleep 100", PATIENT, &["is not JSON"]);
    check(
        r#"read -r line; echo '{"scores":[[0.1,'; sleep 100"#,
        once,
        &["ends in the middle", "asked 2 times"],
    );
    check(r#"read -r line; printf '{"scores":[[0.1,0.9'"#, once, &["ends in the middle", "asked 2 times"]);
    check(
        r#"read -r line; echo '{"scores":[]}'; sleep 100"#,
        once,
        &["sent 0 rows of scores where 1 were asked for"],
    );
    check("head -c 1000000000 /dev/zero | tr '\\0' x", PATIENT, &["longer than 64 MiB"]);
    check("yes", PATIENT, &["more lines than it was asked for: 'y"]);
}

/// Lines that nobody asked for would shift every later answer by one.
#[test]
fn a_line_too_many_is_told() {
    let twice = ANSWER.replace("echo '", r"printf '%s\n{}\n' '");
    let error = failure(&command(&twice), &PATIENT);
    assert!(error.contains("more lines than it was asked for") && error.contains("\\n{}'"), "{error}");
}

#[test]
fn a_flood_on_stderr_blocks_nothing() {
    let flood = format!("head -c 3000000 /dev/zero | tr '\\0' e >&2; {ANSWER}");
    let model = open(&command(&flood), &PATIENT);
    assert_eq!(last(&model.predict(&texts(&["x"])).unwrap()[0]), 0.75);
}

#[test]
fn a_program_that_never_reads_is_given_up() {
    let started = Instant::now();
    // The texts are longer than any pipe holds.
    let model = open(
        &command(&format!("{ONCE}; {ONCE}; sleep 100")),
        &RemoteOptions { timeout: Duration::from_secs(2), ..PATIENT },
    );
    let error = model.predict(&texts(&[&"long ".repeat(1_000_000)])).unwrap_err().to_string();
    assert!(error.contains("did not answer within 2 s"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_program_that_dies_is_started_again() {
    let options = RemoteOptions { retries: 1, ..PATIENT };
    let model = open(&command(ONCE), &options);
    assert_eq!(model.predict(&texts(&["a", "b"])).unwrap().len(), 2);
    // The fault is real: without another try the second question fails.
    assert!(failure(&command(ONCE), &PATIENT).contains("ended without an answer (exit status: 0)"));
}

/// A program that hangs once is killed, and the next one answers.
#[test]
fn a_program_that_hangs_is_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = note(&folder);
    let script = format!("if [ -e '{path}' ]; then {ANSWER}; else touch '{path}'; sleep 100; fi");
    let options = RemoteOptions { timeout: Duration::from_secs(3), retries: 1, ..PATIENT };
    assert_eq!(last(&open(&command(&script), &options).predict(&texts(&["x"])).unwrap()[0]), 0.75);
}

/// After garbage the process is replaced: its next line would be the answer to the question before.
#[test]
fn garbage_does_not_shift_later_answers() {
    let folder = tempfile::tempdir().unwrap();
    let path = note(&folder);
    let script = format!(
        r#"{ONCE}; {ONCE}; if [ ! -e '{path}' ]; then touch '{path}'; read -r l; echo oops; echo '{{"scores":[[1,0]]}}'; fi; {ANSWER}"#
    );
    let model = open(&command(&script), &PATIENT);
    assert!(model.predict(&texts(&["x"])).unwrap_err().to_string().contains("'oops'"));
    assert_eq!(last(&model.predict(&texts(&["x"])).unwrap()[0]), 0.75);
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_stays_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = note(&folder);
    // Whether it ends by itself, ignores the end of its input, or hangs with children of its own.
    let scripts = [
        (ANSWER.to_owned(), true),
        (format!("{ANSWER}; sleep 100"), true),
        (format!("sleep 100 & echo $! >> '{path}'; sleep 100"), false),
        (format!("trap '' TERM HUP; sh -c 'echo $$ >> \"{path}\"; sleep 100' | cat"), false),
    ];
    for (script, answers) in scripts {
        let script = command(&format!("echo $$ > '{path}'; {script}"));
        let options = RemoteOptions { timeout: Duration::from_secs(if answers { 60 } else { 1 }), ..PATIENT };
        let started = Instant::now();
        if answers {
            drop(open(&script, &options));
        } else {
            failure(&script, &options);
        }
        let pids = fs::read_to_string(&path).unwrap();
        assert!(pids.lines().count() > usize::from(!answers), "{script}: {pids}");
        for pid in pids.lines() {
            // A signal takes effect when the killed process is next scheduled.
            let deadline = Instant::now() + Duration::from_secs(10);
            while runs(pid) {
                assert!(Instant::now() < deadline, "{script}: {pid} still runs");
                thread::sleep(Duration::from_millis(5));
            }
        }
        // Our own child is waited for, and no zombie.
        assert!(!Path::new("/proc").join(pids.lines().next().unwrap()).exists(), "{script}");
        assert!(started.elapsed() < Duration::from_secs(40), "{script}");
    }
}

/// Whether a process runs; the zombies of a dead program are its heir's to bury.
#[cfg(target_os = "linux")]
fn runs(pid: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = status.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}
