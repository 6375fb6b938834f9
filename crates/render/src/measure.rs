//! How wide text will be, without a font at hand.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// DejaVu Sans from space to tilde, in hundredths of the size. Verdana is as wide, other fonts are narrower.
#[rustfmt::skip]
const ASCII: [u8; 95] = [
    32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 53,
    100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79, 60, 79, 69, 63, 61, 73, 68, 99, 69, 61, 69, 39, 34, 39, 84, 50,
    50, 61, 63, 55, 63, 62, 35, 63, 63, 28, 28, 58, 28, 97, 63, 61, 63, 63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84,
];

/// A guess in pixels.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    text.graphemes(true).map(|grapheme| share(grapheme) * size).sum()
}

/// The text cut to some pixels, with an ellipsis where something is missing.
pub(crate) fn clipped(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let mut used = width("…", size);
    let fits = |grapheme: &&str| {
        used += width(grapheme, size);
        used <= room
    };
    let kept: String = text.graphemes(true).take_while(fits).collect();
    format!("{kept}…")
}

/// The text on lines of some pixels, broken at spaces; a word that no line can hold has one of its own.
pub(crate) fn broken(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(&format!("{line} {word}"), size) <= room => *line += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn share(grapheme: &str) -> f64 {
    let Some(first) = grapheme.chars().next() else { return 0.0 };
    let ascii = (first as usize).checked_sub(32).and_then(|at| ASCII.get(at));
    match (ascii, grapheme.width()) {
        (Some(hundredths), _) => f64::from(*hundredths) / 100.0,
        (None, 0) => 0.0,
        (None, 1) if first.is_uppercase() => 0.76,
        (None, 1) if first.is_lowercase() => 0.64,
        (None, 1) if first.is_alphabetic() => 0.58,
        (None, 1) => 1.0,
        // Ideographs fill a square; emoji are a little wider.
        (None, _) if first.is_alphabetic() => 1.0,
        (None, _) => 1.3,
    }
}
