//! How a defect of a model's files is told: the place first, then what is wrong and what to do, in one line.

use exegete_core::{Error, Result};
use std::fmt::Display;
use std::fs;
use std::path::Path;

/// Texts beyond this are no config or vocabulary; the cap keeps a wrong file from filling the memory.
const MAX_TEXT_BYTES: u64 = 256 << 20;
const MAX_MESSAGE_CHARS: usize = 600;

/// A defect of the model's files at `place`.
///
/// Names and messages come from the files themselves, so control characters are escaped and the length is capped:
/// a hostile file must not forge a second line.
pub(crate) fn fault(place: impl Display, what: impl Display) -> Error {
    Error::Model(one_line(&format!("{place}: {what}")))
}

/// A sound folder that asks for something exegete does not do.
pub(crate) fn unsupported(place: impl Display, what: impl Display) -> Error {
    Error::Unsupported(one_line(&format!("{place}: {what}")))
}

/// The text of a UTF-8 file.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    let place = path.display();
    // A pipe or a device would block or never end.
    let info = fs::metadata(path).map_err(|e| fault(&place, format!("cannot be read: {e}")))?;
    if !info.is_file() {
        return Err(fault(place, "is not a file"));
    }
    if info.len() > MAX_TEXT_BYTES {
        return Err(fault(
            place,
            format!("has {} bytes, which is too many for a file of this kind", info.len()),
        ));
    }
    let bytes = fs::read(path).map_err(|e| fault(&place, format!("cannot be read: {e}")))?;
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        fault(&place, format!("is not UTF-8 text (byte {at}); download it again"))
    })
}

fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(MAX_MESSAGE_CHARS));
    for (count, c) in text.chars().enumerate() {
        if count == MAX_MESSAGE_CHARS {
            line.push('…');
            break;
        }
        // The separators U+2028 and U+2029 are no control characters but break lines all the same.
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_stay_on_one_line() {
        let error = fault("a\nb", "tensor 'x\r\u{1b}[31m\u{2028}' is bad").to_string();
        assert_eq!(error, "a\\nb: tensor 'x\\r\\u{1b}[31m\\u{2028}' is bad");
        assert!(fault("x", "y".repeat(10_000)).to_string().chars().count() <= MAX_MESSAGE_CHARS + 1);
    }
}
