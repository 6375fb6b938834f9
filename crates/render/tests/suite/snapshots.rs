//! What each renderer writes, compared with what it wrote when somebody last looked at it.
//!
//! `EXEGETE_UPDATE_SNAPSHOTS=1 cargo test -p exegete-render` writes the snapshots anew; read the difference, and open the
//! pages and pictures, before you keep it.

use super::samples;
use exegete_render::{Format, RenderOptions, read, render};
use std::fs;
use std::path::Path;

/// The page's style is the same in every snapshot; it is left out of them.
const STYLE: &str = include_str!("../../src/html/style.css");

fn assert_snapshot(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/snapshots").join(name);
    if std::env::var_os("EXEGETE_UPDATE_SNAPSHOTS").is_some() {
        fs::write(&path, actual).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_else(|_| "no snapshot yet".to_owned());
    assert_eq!(actual, expected, "{name} differs from its snapshot");
}

fn assert_snapshots(format: Format, colour: bool, extension: &str) {
    for (name, report) in samples::named() {
        let rendered = render(&report, format, &RenderOptions { colour, width: 90, row: None });
        assert_snapshot(&format!("{name}.{extension}"), &rendered.replace(STYLE, "/* style.css */\n"));
    }
}

#[test]
fn plain_text() {
    assert_snapshots(Format::Text, false, "txt");
}

#[test]
fn coloured_text() {
    assert_snapshots(Format::Text, true, "ansi");
}

#[test]
fn html() {
    assert_snapshots(Format::Html, false, "html");
}

#[test]
fn svg() {
    assert_snapshots(Format::Svg, false, "svg");
}

#[test]
fn csv() {
    assert_snapshots(Format::Csv, false, "csv");
}

#[test]
fn json() {
    assert_snapshots(Format::Json, false, "json");
}

#[test]
fn what_is_written_reads_back_equal() {
    for (name, report) in samples::named() {
        for format in [Format::Json, Format::Jsonl] {
            let written = render(&report, format, &RenderOptions::default());
            let back = read(written.as_bytes()).unwrap();
            // The last cell of the table is an f32, written with the digits of one: it reads back as another f64.
            if name != "table" {
                assert_eq!(back, report, "{name}");
            }
            assert_eq!(render(&back, format, &RenderOptions::default()), written, "{name}");
        }
        assert_eq!(render(&report, Format::Jsonl, &RenderOptions::default()).lines().count(), 1);
    }
}
