//! Runs the program and says what it did.

use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What one run of the program did.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs the program with nothing on its stdin.
pub(crate) fn exegete(args: &[&str]) -> Run {
    exegete_reading(args, b"")
}

/// Runs the program with these bytes on its stdin.
pub(crate) fn exegete_reading(args: &[&str], stdin: &[u8]) -> Run {
    run(Path::new("."), args, stdin)
}

/// Runs the program in a folder, with nothing on its stdin.
pub(crate) fn exegete_in(folder: &Path, args: &[&str]) -> Run {
    run(folder, args, b"")
}

fn run(folder: &Path, args: &[&str], stdin: &[u8]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_exegete"));
    command
        .args(args)
        .current_dir(folder)
        .env_remove("NO_COLOR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that fails before it reads closes the pipe; that is not the test's business.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    let output = child.wait_with_output().unwrap();
    let run = Run {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    };
    requests_fit(&run.stdout);
    run
}

/// Starts the program and kills it as soon as it has kept so many finished lines beside its output; how many it had then.
pub(crate) fn killed_after(args: &[&str], output: &str, lines: usize) -> usize {
    let mut program = Command::new(env!("CARGO_BIN_EXE_exegete"));
    let quiet = program.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let (mut child, begun) = (quiet.spawn().unwrap(), Instant::now());
    // The first line says which run it is; the last may be half written.
    let journal = format!("{output}.unfinished");
    let kept = || {
        let bytes = fs::read(&journal).unwrap_or_default();
        bytes.iter().filter(|&&byte| byte == b'\n').count().saturating_sub(1)
    };
    while kept() < lines {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before it could be killed");
        assert!(begun.elapsed() < Duration::from_secs(120), "nothing is kept");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!Path::new(output).exists(), "the run ended before it could be killed");
    kept()
}

/// Every request in every report that a test sees fits the schema of its command.
fn requests_fit(stdout: &str) {
    for report in serde_json::Deserializer::from_str(stdout).into_iter::<Value>().map_while(Result::ok) {
        let Some(Value::Object(mut request)) = report.get("request").cloned() else { continue };
        let (command, files) = (request.remove("command").unwrap(), request.remove("files").unwrap());
        let schema = exegete::request::json_schema(command.as_str().unwrap()).unwrap();
        assert_eq!(exegete_testkit::misfits(&schema, &Value::Object(request)), [""; 0]);
        assert!(files.as_array().unwrap().iter().all(|file| file["path"].is_string()), "{files}");
    }
}

/// The folder of a golden model.
pub(crate) fn golden(name: &str) -> String {
    golden_root().join(name).to_string_lossy().into_owned()
}

/// The folder of all golden models.
pub(crate) fn golden_root() -> PathBuf {
    root().join("golden/models")
}

/// The folder of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder with one file in it, and the file's path.
pub(crate) fn file(name: &str, content: &[u8]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    let path = path.to_string_lossy().into_owned();
    (folder, path)
}

/// How lines begin that a run of training says about itself.
const ABOUT_TRAINING: [&str; 3] = ["epochs ", "vocabulary ", "training model "];

/// An error as users must see it: exit 2, nothing on stdout, one line that holds all of `told`. What a run of training says
/// about itself may stand before it.
pub(crate) fn assert_error(run: &Run, told: &[&str]) {
    assert_eq!(run.code, 2, "{}{}", run.stdout, run.stderr);
    assert_eq!(run.stdout, "", "{}", run.stderr);
    let lines: Vec<&str> = run.stderr.lines().collect();
    let (error, before) = lines.split_last().unwrap();
    assert!(
        before.iter().all(|line| ABOUT_TRAINING.iter().any(|begins| line.starts_with(begins))),
        "{}",
        run.stderr
    );
    assert!(error.starts_with("error: ") && !error.contains("defect"), "{}", run.stderr);
    for part in told {
        assert!(error.contains(part), "'{part}' is not in: {error}");
    }
}
