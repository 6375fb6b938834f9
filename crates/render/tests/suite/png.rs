//! Bitmaps: what is drawn is there, and what the letters lack is seen.

use super::samples::{self, attribution, report};
use exegete_core::report::Item;
use exegete_render::{RenderOptions, png};

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

fn of_text(text: &str) -> Vec<u8> {
    let item = attribution(&[("text", text)], &[(0, text, 1.0)], Default::default());
    png(&report([Item::Attribution(Box::new(item))]), &RenderOptions::default()).unwrap()
}

#[test]
fn every_sample_becomes_a_bitmap() {
    for (name, report) in samples::named() {
        let bytes = png(&report, &RenderOptions { colour: false, width: 90, row: None }).unwrap();
        assert!(bytes.starts_with(SIGNATURE) && bytes.len() > 1000, "{name}: {} bytes", bytes.len());
        if let Some(folder) = std::env::var_os("EXEGETE_KEEP_PICTURES") {
            std::fs::write(std::path::Path::new(&folder).join(format!("{name}.png")), bytes).unwrap();
        }
    }
}

/// No word leaves the place where it stands empty, whatever its script.
#[test]
fn what_the_letters_lack_is_seen() {
    let empty = of_text("\u{2003}");
    for text in ["word", "λόγος", "слово", "电影", "נהדר", "शब्द", "🎬"] {
        assert!(of_text(text) != empty, "{text} is not seen");
    }
}
