//! Documents show what the program does: every block that begins with `$ exegete` is run again, and the README's picture is
//! drawn again. `EXEGETE_UPDATE_SNAPSHOTS=1` writes anew what differs; read the difference before you keep it.

mod fields;
mod links;

use crate::harness::{exegete_in, root};
use crate::snapshot::{agree, masked};
use std::fs;
use std::path::{Path, PathBuf};

const OPENS: &str = "```text\n$ exegete ";
const CLOSES: &str = "\n```";
const PICTURE: [&str; 4] = [
    "explain",
    "The acting is wonderful, but the plot is a terrible mess and I nearly fell asleep.",
    "--format",
    "svg",
];
/// The program draws on white paper. A page may be dark: there the paper is, and the letters are light.
const DARK: &str = "<style>@media (prefers-color-scheme: dark) { rect[fill=\"#fff\"] { fill: #14171b } \
                    text { fill: #e9ecef } rect[fill=\"#0072bc\"] { fill: #268bde } }</style>\n";

#[test]
fn documents_show_what_the_program_writes() {
    let mut runs = 0;
    for path in shown_documents() {
        let text = fs::read_to_string(&path).unwrap();
        let fresh = renewed(&text, |command| {
            runs += 1;
            let arguments = words(command);
            let run = exegete_in(&root(), &arguments.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(run.code, 0, "{}: exegete {command}: {}", path.display(), run.stderr);
            run.stdout
        });
        keep(&path, &text, &fresh);
    }
    assert!(runs >= 5, "only {runs} blocks were found");
}

#[test]
fn the_picture_shows_what_the_program_draws() {
    let run = exegete_in(&root(), &PICTURE);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let (head, body) = run.stdout.split_once('\n').unwrap();
    let path = root().join("docs/explain.svg");
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let fresh = format!("{head}\n{DARK}{body}");
    keep(&path, &kept, if agree(&fresh, &kept, false) { &kept } else { &fresh });
}

#[test]
fn a_block_that_shows_something_else_is_renewed_and_no_other() {
    let document = |shown: &str| format!("# A\n\n{OPENS}predict \"a b\"\n{shown}{CLOSES}\n\nB\n");
    let output =
        "yes 0.51\n\none\n\ntwo\n\n7 forward rows asked, 4 run, 2 backward rows, 0.5 s on 2 threads\n";
    for (shown, expected) in [
        (output.trim_end(), output.trim_end()),
        ("yes 0.52\n\n…\n\n7 forward rows asked, 4 run, 2 backward rows, 9.0 s on 1 thread", ""),
        (
            "no 0.51\n\n…\n\ntwo\n\nx",
            "yes 0.51\n\n…\n\ntwo\n\n7 forward rows asked, 4 run, 2 backward rows, 0.5 s on 2 threads",
        ),
        ("yes 0.51\n\none\n\ntwo", output.trim_end()),
    ] {
        let expected = if expected.is_empty() { shown } else { expected };
        let fresh = renewed(&document(shown), |command| {
            assert_eq!(words(command), ["predict", "a b"]);
            output.to_owned()
        });
        assert_eq!(fresh, document(expected));
    }
}

/// The README and every page below `docs`.
fn shown_documents() -> Vec<PathBuf> {
    let folder = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = folder.filter(|path| path.extension().is_some_and(|end| end == "md"));
    pages.chain([root().join("README.md")]).collect()
}

/// The document with every block anew that shows something else than its command writes.
fn renewed(document: &str, mut run: impl FnMut(&str) -> String) -> String {
    let (mut fresh, mut rest) = (String::new(), document);
    while let Some(start) = rest.find(OPENS) {
        let (before, block) = rest.split_at(start + OPENS.len());
        let (block, after) = block.split_at(block.find(CLOSES).expect("a block that is closed"));
        let (command, shown) = block.split_once('\n').unwrap_or((block, ""));
        let output = excerpt(&run(command), shown);
        let same = agree(&masked(&output), &masked(shown), false);
        fresh.extend([before, command, "\n", if same { shown } else { &output }]);
        rest = after;
    }
    fresh + rest
}

/// An output with the paragraphs left out for which `…` stands in what is shown.
fn excerpt(output: &str, shown: &str) -> String {
    let paragraphs: Vec<&str> = output.trim_end().split("\n\n").collect();
    let count = |text: &str| text.split("\n\n").count();
    match shown.split_once("\n\n…\n\n").map(|(before, after)| (count(before), count(after))) {
        Some((first, last)) if first + last < paragraphs.len() => {
            let (begin, end) = (&paragraphs[..first], &paragraphs[paragraphs.len() - last..]);
            [begin, &["…"], end].concat().join("\n\n")
        }
        _ => paragraphs.join("\n\n"),
    }
}

/// The words of a command; quotation marks hold several together.
fn words(command: &str) -> Vec<String> {
    let quoted = command.split('"').enumerate();
    let part = |(index, part): (usize, &str)| match index % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    };
    quoted.flat_map(part).collect()
}

/// Fails where a document is not what it should be, or writes it where that is asked for.
fn keep(path: &Path, kept: &str, fresh: &str) {
    if kept == fresh {
        return;
    }
    if std::env::var_os("EXEGETE_UPDATE_SNAPSHOTS").is_some() {
        return fs::write(path, fresh).unwrap();
    }
    let line = fresh.lines().zip(kept.lines()).find(|(ours, theirs)| ours != theirs);
    let (is, was) = line.unwrap_or(("its end", "its end"));
    panic!("{}: is\n{is}\nand was\n{was}", path.display());
}
