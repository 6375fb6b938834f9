//! How wide text will be, without a font at hand.

use unicode_width::UnicodeWidthChar;

/// A guess from above, in pixels: better a gap too wide than words that overlap.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(|c| share(c) * size).sum()
}

/// The widest that common sans-serif fonts draw a character, as a share of the size.
fn share(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '|' | '\'' | '.' | ',' | ':' | ';' | ' ' | '!' => 0.36,
        'f' | 't' | 'r' | 'I' | '(' | ')' | '[' | ']' | '-' | '/' => 0.46,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '—' => 1.02,
        'A'..='Z' => 0.78,
        c if c.is_ascii() => 0.66,
        c => match c.width() {
            Some(0) | None => 0.0,
            Some(1) => 0.72,
            Some(_) => 1.05,
        },
    }
}
