//! Runs the program and compares what it does with a stored snapshot.
//!
//! `EXEGETE_UPDATE_SNAPSHOTS=1 cargo test -p exegete` writes the snapshots anew; read the difference before you keep it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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
    let mut command = Command::new(env!("CARGO_BIN_EXE_exegete"));
    command
        .args(args)
        .env_remove("NO_COLOR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that fails before it reads closes the pipe; that is not the test's business.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The folder of a golden model.
pub(crate) fn golden(name: &str) -> String {
    golden_root().join(name).to_string_lossy().into_owned()
}

fn golden_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/models")
}

/// A folder with one file in it, and the file's path.
pub(crate) fn file(name: &str, content: &[u8]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    let path = path.to_string_lossy().into_owned();
    (folder, path)
}

/// An error as users must see it: exit 2, nothing on stdout, one line that holds all of `told`.
pub(crate) fn assert_error(run: &Run, told: &[&str]) {
    assert_eq!(run.code, 2, "{}{}", run.stdout, run.stderr);
    assert_eq!(run.stdout, "", "{}", run.stderr);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    assert!(run.stderr.starts_with("error: ") && !run.stderr.contains("defect"), "{}", run.stderr);
    for part in told {
        assert!(run.stderr.contains(part), "'{part}' is not in: {}", run.stderr);
    }
}

/// Compares a run with its snapshot. `place` is a folder whose path is written as `TEMP`.
pub(crate) fn assert_snapshot(name: &str, run: &Run, place: Option<&Path>) {
    let mut actual = format!("exit {}\n--- stdout\n{}--- stderr\n{}", run.code, run.stdout, run.stderr);
    actual = actual.replace(&*golden_root().to_string_lossy(), "GOLDEN");
    if let Some(place) = place {
        actual = actual.replace(&*place.to_string_lossy(), "TEMP");
    }
    let actual = rounded(&actual);
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/snapshots").join(format!("{name}.txt"));
    if std::env::var_os("EXEGETE_UPDATE_SNAPSHOTS").is_some() {
        fs::write(&path, &actual).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_else(|_| "no snapshot yet".to_owned());
    assert_eq!(actual, expected, "{name} differs from its snapshot");
}

/// The text with long decimals cut to three: the last bits of a sum depend on the machine's vector width.
pub(crate) fn rounded(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let number = &rest[start..];
        let end = number.find(|c: char| !c.is_ascii_digit() && !".e-".contains(c)).unwrap_or(number.len());
        let number = &number[..end];
        out.push_str(&rest[..start]);
        let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        match number.parse::<f64>() {
            Ok(value) if decimals > 3 => out.push_str(&format!("{value:.3}")),
            _ => out.push_str(number),
        }
        rest = &rest[start + end..];
    }
    out + rest
}

#[test]
fn only_long_decimals_are_rounded() {
    for (text, expected) in [
        ("a 0.123456, -1.5", "a 0.123, -1.5"),
        ("[1.23456e-5]", "[0.000]"),
        ("bert-12 3.0.1 x7.", "bert-12 3.0.1 x7."),
    ] {
        assert_eq!(rounded(text), expected);
    }
}
