//! Compares what the program did with what it did when the snapshot was kept.
//!
//! `EXEGETE_UPDATE_SNAPSHOTS=1 cargo test -p exegete` writes anew the snapshots that differ; read the difference before you
//! keep it. Words, counts and the order of things are compared exactly, decimals as far as another machine's vector width
//! may not change them. What a clock, the release or the number of cores says is masked.

use crate::harness::{Run, golden_root};
use std::fs;
use std::path::Path;

/// Decimals differ where they differ by more than this share of the larger.
const RELATIVE: f64 = 2e-3;
/// Decimals below half of this are written as zero, and differences below it are none.
const ABSOLUTE: f64 = 2e-5;
/// Decimals are kept with this many digits.
const DIGITS: usize = 4;

/// Compares a run with its snapshot. `place` is a folder whose path is written as `TEMP`. Numbers of a name that ends in
/// `.json`, `.jsonl` or `.csv` are data; others were rounded for reading, and may differ by one in the last place.
pub(crate) fn assert_snapshot(name: &str, run: &Run, place: Option<&Path>) {
    let mut actual = format!("exit {}\n--- stdout\n{}--- stderr\n{}", run.code, run.stdout, run.stderr);
    actual = actual.replace(&*golden_root().to_string_lossy(), "GOLDEN");
    if let Some(place) = place {
        actual = actual.replace(&*place.to_string_lossy(), "TEMP");
    }
    let actual = rounded(&masked(&without_folders(&actual)));
    let path = stored(name);
    let expected = fs::read_to_string(&path).unwrap_or_else(|_| "no snapshot yet".to_owned());
    let is_data = [".json", ".jsonl", ".csv"].iter().any(|end| name.ends_with(end));
    if agree(&actual, &expected, is_data) {
        return;
    }
    if std::env::var_os("EXEGETE_UPDATE_SNAPSHOTS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        return fs::write(&path, &actual).unwrap();
    }
    let at = actual.lines().zip(expected.lines()).position(|(ours, theirs)| !agree(ours, theirs, is_data));
    let at = at.unwrap_or(actual.lines().count().min(expected.lines().count()));
    let line = |text: &str| text.lines().nth(at).unwrap_or("its end").to_owned();
    panic!("{name}, line {}: is\n{}\nand was\n{}", at + 1, line(&actual), line(&expected));
}

/// Where a snapshot is.
fn stored(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/snapshots").join(format!("{name}.txt"))
}

/// The text with `TEMP` for every folder that a test made.
fn without_folders(text: &str) -> String {
    let start = format!("{}/.tmp", std::env::temp_dir().display());
    let mut parts = text.split(&start);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str("TEMP");
        out.push_str(part.trim_start_matches(|c: char| c.is_ascii_alphanumeric()));
    }
    out
}

/// The text without what a clock, the release and the number of cores say.
pub(crate) fn masked(text: &str) -> String {
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let mut line = line.to_owned();
        // Where the paragraph of costs breaks depends on how many digits the seconds have.
        if line.contains(" forward rows asked,") && !line.contains('<') {
            while let Some(next) = lines.next_if(|next| !next.is_empty() && !next.starts_with("--- ")) {
                line = format!("{line} {}", next.trim_start());
            }
        }
        out.push_str(&without_clock(&line));
        out.push('\n');
    }
    let out = out.replace("THREADS threads", "THREADS thread");
    let out = out.replace(concat!("exegete ", env!("CARGO_PKG_VERSION")), "exegete VERSION");
    out.replace(concat!('"', env!("CARGO_PKG_VERSION"), '"'), "\"VERSION\"")
}

/// A line whose seconds and threads are masked, in a report for reading and in one for programs.
fn without_clock(line: &str) -> String {
    let mut line = line.to_owned();
    for (before, after, mask) in [
        (" backward rows, ", " s on ", "SECONDS"),
        (" backward row, ", " s on ", "SECONDS"),
        (" s on ", " thread", "THREADS"),
        ("\"seconds\":", ",", "SECONDS"),
        ("\"threads\":", ",", "THREADS"),
    ] {
        let Some(start) = line.find(before).map(|at| at + before.len()) else { continue };
        let start = start + usize::from(line[start..].starts_with(' '));
        let Some(end) = line[start..].find(after) else { continue };
        line.replace_range(start..start + end, mask);
    }
    line
}

/// The text with long decimals cut to a few digits, and zero for those that are nothing but rounding.
fn rounded(text: &str) -> String {
    let mut out = String::new();
    for part in parts(text) {
        match part.decimal {
            Some(value) if value.abs() < ABSOLUTE / 2.0 && value != 0.0 => out.push_str("0.0"),
            Some(value) if digits(part.text) > DIGITS => out.push_str(&short(value)),
            _ => out.push_str(part.text),
        }
    }
    out
}

/// A number with few digits, and at least one of them after the point.
fn short(value: f64) -> String {
    let before = value.abs().log10().floor() as i32 + 1;
    let after = (DIGITS as i32 - before).max(1) as usize;
    let text = format!("{value:.after$}");
    let text = text.trim_end_matches('0');
    if text.ends_with('.') { format!("{text}0") } else { text.to_owned() }
}

/// Digits that say something of a number as it is written.
fn digits(number: &str) -> usize {
    let number = number.split('e').next().unwrap_or(number);
    let number = number.trim_start_matches(['-', '0', '.']);
    number.chars().filter(char::is_ascii_digit).count()
}

/// A piece of a text.
struct Part<'a> {
    text: &'a str,
    /// The value of a number with a point.
    decimal: Option<f64>,
}

/// Numbers and what is between them.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(found) = text[at..].find(|c: char| c.is_ascii_digit()) {
        let mut start = at + found;
        let end = number_end(text, start);
        let before = text[..start].chars().rev().nth(1);
        // A hyphen inside a word is none of the number's business.
        if start > from && text[..start].ends_with('-') && !before.is_some_and(char::is_alphanumeric) {
            start -= 1;
        }
        let number = &text[start..end];
        let decimal = number.contains('.').then(|| number.parse().ok()).flatten();
        parts.push(Part { text: &text[from..start], decimal: None });
        parts.push(Part { text: number, decimal });
        (from, at) = (end, end);
    }
    parts.push(Part { text: &text[from..], decimal: None });
    parts
}

/// Where the number that starts here ends: digits, a point and digits, an exponent.
fn number_end(text: &str, start: usize) -> usize {
    let run = |from: usize| from + text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut end = run(start);
    if text[end..].starts_with('.') && run(end + 1) > end + 1 {
        end = run(end + 1);
        let sign = usize::from(text[end..].starts_with("e-"));
        if text[end..].starts_with('e') && run(end + 1 + sign) > end + 1 + sign {
            end = run(end + 1 + sign);
        }
    }
    end
}

/// Whether two texts say the same. A share of a hundred is compared as a decimal is, everything else exactly.
pub(crate) fn agree(actual: &str, expected: &str, is_data: bool) -> bool {
    let (actual, expected) = (parts(actual), parts(expected));
    let mut quoted = false;
    actual.len() == expected.len()
        && actual.iter().zip(&expected).enumerate().all(|(at, (ours, theirs))| {
            quoted ^= (ours.text.matches('"').count() - ours.text.matches("\\\"").count()) % 2 == 1;
            let is_share = actual.get(at + 1).is_some_and(|next| next.text.starts_with(" %"));
            let value =
                |part: &Part<'_>| part.decimal.or_else(|| part.text.parse().ok().filter(|_| is_share));
            match (value(ours), value(theirs)) {
                (Some(a), Some(b)) => {
                    let place = if is_data && !quoted { 0.0 } else { last_place(theirs.text) };
                    (a - b).abs() <= 1.01 * place.max(ABSOLUTE).max(RELATIVE * a.abs().max(b.abs()))
                }
                _ => ours.text == theirs.text,
            }
        })
}

/// What one in the last place of a number is worth.
fn last_place(number: &str) -> f64 {
    0.1f64.powi(number.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32))
}

#[test]
fn only_long_decimals_are_rounded() {
    for (text, expected) in [
        ("a 0.123456, -1.5", "a 0.1235, -1.5"),
        ("[1.23456e-5, -1.5e-9, 0.0000012]", "[0.00001235, 0.0, 0.0]"),
        ("[12345.678, -0.00999996, 99.99996]", "[12345.7, -0.01, 100.0]"),
        ("bert-12 3.0.1 x7. 521ed99c043d 0.0080", "bert-12 3.0.1 x7. 521ed99c043d 0.0080"),
    ] {
        assert_eq!(rounded(text), expected);
    }
}

#[test]
fn what_agrees_and_what_does_not() {
    for (ours, theirs, as_data, as_text) in [
        ("rows 12, 0.5", "rows 12, 0.5", true, true),
        ("rows 12", "rows 13", false, false),
        ("a 0.1", "b 0.1", false, false),
        ("0.5, 0.5", "0.5", false, false),
        ("0.5", "0.6", false, true),
        ("0.1234", "0.1235", true, true),
        ("0.1234", "0.1244", false, false),
        ("0.00001235", "0.0", true, true),
        ("0.1234", "-0.1234", false, false),
        ("\"54 %\"", "\"55 %\"", true, true),
        ("54 %", "56 %", false, false),
        ("\"from 0.63\"", "\"from 0.64\"", true, true),
        ("\"a \\\" b\": 0.63", "\"a \\\" b\": 0.64", false, true),
        ("0.5", "NaN", false, false),
    ] {
        assert_eq!((agree(ours, theirs, true), agree(ours, theirs, false)), (as_data, as_text), "{ours}");
    }
}

#[test]
fn clocks_and_cores_are_masked() {
    let version = env!("CARGO_PKG_VERSION");
    let text = format!(
        "7 forward rows asked, 4 run, 2 backward rows, 0.0097 s on 2 threads; exegete\n{version}, seed 0, bert x (52)\n\n\
         \"version\": \"{version}\",\n  \"threads\": 2,\n \"seconds\": 0.1,\n{{\"threads\":1,\"seconds\":0.2,\"asked_rows\":3}}\n"
    );
    let expected = "7 forward rows asked, 4 run, 2 backward rows, SECONDS s on THREADS thread; exegete VERSION, seed 0, bert x (52)\n\n\
         \"version\": \"VERSION\",\n  \"threads\": THREADS,\n \"seconds\": SECONDS,\n{\"threads\":THREADS,\"seconds\":SECONDS,\"asked_rows\":3}\n";
    assert_eq!(masked(&text), expected);
    assert_eq!(masked(&text.replace("threads; exegete\n", "threads;\nexegete ")), expected);
    let one = |text: &str| text.replace("2 backward rows", "1 backward row");
    assert_eq!(masked(&one(&text)), one(expected));
}
