//! How numbers and pieces of text stand in a sentence.

use exegete_core::{Encoded, Unit, Units};

/// Letters of a quoted unit that are shown, and how many units are listed.
const LONGEST: usize = 30;
pub(super) const MOST: usize = 5;

/// What a unit is called.
pub(crate) fn noun(kind: Units, count: usize) -> String {
    format!("{kind}{}", if count == 1 { "" } else { "s" })
}

/// Some units in quotation marks, the first few of many.
pub(crate) fn quoted(encoded: &Encoded, all: &[Unit], units: &[usize]) -> String {
    let text = |&unit: &usize| quote(encoded.slice(all[unit].span));
    let mut shown: Vec<String> = units.iter().take(MOST).map(text).collect();
    if units.len() > MOST {
        shown.push("…".into());
    }
    shown.join(", ")
}

/// In quotation marks, on one line, and not too long.
pub(crate) fn quote(text: &str) -> String {
    let text: Vec<&str> = text.split_whitespace().collect();
    let text = text.join(" ");
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("\"{}…\"", text[..end].trim_end()),
        None => format!("\"{text}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_and_shortened() {
        assert_eq!(quote("so\n good"), "\"so good\"");
        assert_eq!(quote(&"long ".repeat(9)), "\"long long long long long long…\"");
        assert_eq!(quote(&"é".repeat(31)).chars().count(), 33);
    }

    #[test]
    fn grammar() {
        assert_eq!((noun(Units::Word, 1), noun(Units::Sentence, 3)), ("word".into(), "sentences".into()));
    }
}
