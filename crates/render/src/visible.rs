//! What of a user's text may be shown as it is, and how wide it is.

use unicode_width::UnicodeWidthStr;

/// First strong isolate and its end.
const FENCES: [char; 2] = ['\u{2068}', '\u{2069}'];

/// The text with characters that steer terminals or reorder lines replaced by visible ones; spaces of all kinds
/// become plain ones.
pub(crate) fn visible(text: &str) -> String {
    text.chars().map(shown).collect()
}

fn shown(c: char) -> char {
    match c {
        '\t' | '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => ' ',
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        // Noncharacters are not allowed in XML.
        '\u{fdd0}'..='\u{fdef}' | '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        c => pictured(c),
    }
}

/// A control as its picture, for tables that keep everything else as it is.
pub(crate) fn pictured(c: char) -> char {
    match c {
        '\t' | '\n' | '\r' => c,
        '\u{7f}' => '␡',
        // The control pictures stand in the order of the controls.
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
        '\u{80}'..='\u{9f}' => '\u{fffd}',
        c => c,
    }
}

/// Columns that a terminal needs for the text.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The text cut to some columns, with an ellipsis where something is missing.
pub(crate) fn clipped(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    for grapheme in unicode_segmentation::UnicodeSegmentation::graphemes(text, true) {
        if width(&out) + width(grapheme) + 1 > columns {
            break;
        }
        out.push_str(grapheme);
    }
    out.push('…');
    if text.ends_with(FENCES[1]) {
        out.push(FENCES[1]);
    }
    out
}

/// The text on lines of some columns, broken at spaces where there are any; what `limit` lines do not hold is left out.
pub(crate) fn broken(text: &str, columns: usize, limit: usize) -> Vec<String> {
    let text = text.trim_matches(FENCES);
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let space = usize::from(lines.last().is_some_and(|line| !line.is_empty()));
        match lines.last_mut() {
            Some(line) if width(line) + space + width(word) <= columns => {
                line.push_str(&" ".repeat(space));
                line.push_str(word);
            }
            _ => hard(&mut lines, word, columns),
        }
    }
    if lines.len() > limit {
        let rest = lines.split_off(limit.saturating_sub(1)).join(" ");
        lines.push(clipped(&rest, columns));
    }
    lines.into_iter().map(isolated).collect()
}

/// A word on lines of its own.
fn hard(lines: &mut Vec<String>, word: &str, columns: usize) {
    lines.push(String::new());
    for grapheme in unicode_segmentation::UnicodeSegmentation::graphemes(word, true) {
        match lines.last_mut() {
            Some(line) if line.is_empty() || width(line) + width(grapheme) <= columns => {
                line.push_str(grapheme)
            }
            _ => lines.push(grapheme.to_owned()),
        }
    }
    if lines.first().is_some_and(String::is_empty) {
        lines.remove(0);
    }
}

/// Whether some of the text runs from right to left.
pub(crate) fn runs_left(text: &str) -> bool {
    text.chars().any(right_to_left)
}

fn right_to_left(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

/// Text between marks that make it run in the direction of its own first letter and leave its neighbours alone.
pub(crate) fn fenced(text: &str) -> String {
    format!("{}{text}{}", FENCES[0], FENCES[1])
}

/// Right-to-left text fenced off, so that it does not reorder what stands beside it.
pub(crate) fn isolated(text: String) -> String {
    if runs_left(&text) { fenced(&text) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_left() {
        for (text, expected) in [
            ("plain", "plain"),
            ("\u{1b}[31mred\u{7}", "␛[31mred␇"),
            ("a\0b\u{7f}", "a␀b␡"),
            ("\u{9b}31m", "\u{fffd}31m"),
            ("a\u{202e}b", "a\u{fffd}b"),
            ("a\tb\nc", "a b c"),
        ] {
            assert_eq!(visible(text), expected);
        }
    }

    #[test]
    fn text_is_broken_at_spaces() {
        for (text, columns, limit, expected) in [
            ("one two three", 7, 9, "one two|three"),
            ("one two three four", 7, 2, "one two|three …"),
            ("onetwothree four", 5, 9, "onetw|othre|e|four"),
            ("电影很好看", 4, 9, "电影|很好|看"),
            ("\u{2068}נהדר ממש\u{2069}", 4, 9, "\u{2068}נהדר\u{2069}|\u{2068}ממש\u{2069}"),
            ("x", 0, 9, "x"),
            ("", 5, 9, ""),
        ] {
            assert_eq!(broken(text, columns, limit).join("|"), expected);
        }
    }

    #[test]
    fn text_is_cut_by_columns() {
        for (text, columns, expected) in [
            ("short", 5, "short"),
            ("longer", 5, "long…"),
            ("电影很好", 5, "电影…"),
            ("👩‍👩‍👧 x", 2, "…"),
            ("ab", 0, "…"),
            ("\u{2068}נהדר\u{2069}", 3, "\u{2068}נה…\u{2069}"),
        ] {
            assert_eq!(clipped(text, columns), expected);
        }
    }
}
