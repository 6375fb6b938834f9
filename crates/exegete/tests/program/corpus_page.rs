//! One page about many texts: from `explain` and from what it saved, the same page.

use crate::harness::{assert_error, exegete, golden};
use std::fs;
use tempfile::TempDir;

const TEXTS: &str =
    "A warm and honest film.\n</script><script>alert(1)</script> & \"so\" on\nBoring\u{202e} stuff!\n";

fn at(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).to_string_lossy().into_owned()
}

/// A page without the lines that hold what a clock said.
fn timeless(path: &str) -> String {
    let page = fs::read_to_string(path).unwrap();
    page.lines().filter(|line| !line.contains(" s on 1 thread")).collect::<Vec<_>>().join("\n")
}

fn explained(folder: &TempDir, output: &str, options: &[&str]) -> String {
    fs::write(at(folder, "t.txt"), TEXTS).unwrap();
    let (input, model, output) = (at(folder, "t.txt"), golden("bert-sequence"), at(folder, output));
    let args = [
        "explain",
        "--input",
        &input,
        "--model",
        &model,
        "--threads",
        "1",
        "--method",
        "saliency",
        "-o",
        &output,
    ];
    let run = exegete(&[&args[..], options].concat());
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    output
}

#[test]
fn the_page_is_the_same_now_and_later() {
    let folder = tempfile::tempdir().unwrap();
    let page = explained(&folder, "page.html", &["--format", "html"]);
    let saved = explained(&folder, "saved.jsonl", &[]);
    let shown = at(&folder, "shown.html");
    assert_eq!(exegete(&["show", &saved, "--format", "html", "-o", &shown]).code, 0);
    assert_eq!(timeless(&shown), timeless(&page));
    let page = fs::read_to_string(page).unwrap();
    assert_eq!(page.matches("<li id=\"text-").count(), 3);
    // The script, and for each text what it reads.
    assert_eq!((page.matches("<script>").count(), page.matches("<script ").count()), (1, 3));
    assert!(page.contains("alert") && !page.contains("<script>alert") && !page.contains('\u{202e}'));
    assert!(page.contains("<p>3 texts</p>"));
}

#[test]
fn one_row_is_a_page_without_script() {
    let folder = tempfile::tempdir().unwrap();
    let saved = explained(&folder, "saved.jsonl", &["--no-check"]);
    let run = exegete(&["show", &saved, "--row", "2", "--format", "html"]);
    assert!(
        run.code == 0 && !run.stdout.contains("<script") && run.stdout.contains("alert"),
        "{}",
        run.stdout
    );
    let first = exegete(&["show", &saved]);
    assert!(first.stdout.contains("honest") && !first.stdout.contains("alert"), "{}", first.stdout);
}

#[test]
fn a_damaged_line_is_named_and_no_page_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let saved = explained(&folder, "saved.jsonl", &["--no-check"]);
    let damaged = fs::read_to_string(&saved).unwrap().replacen("\"items\"", "\"itmes\"", 1);
    fs::write(&saved, format!("\n{damaged}")).unwrap();
    let page = at(&folder, "page.html");
    assert_error(
        &exegete(&["show", &saved, "--format", "html", "-o", &page]),
        &["saved.jsonl: line 2", "items"],
    );
    assert!(!fs::exists(&page).unwrap());
    assert_error(
        &exegete(&["show", &at(&folder, "none.jsonl"), "--format", "html"]),
        &["none.jsonl", "cannot be read"],
    );
    fs::write(&saved, "").unwrap();
    let run = exegete(&["show", &saved, "--format", "html"]);
    assert!(run.code == 0 && run.stdout.contains("<p>0 texts</p>"), "{}", run.stdout);
}
