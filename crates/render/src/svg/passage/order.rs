//! The order in which the words of a line stand, where some read from right to left.

use super::Word;

/// Words from left to right. Runs that read against the line are turned round, with what stands within them; a
/// simple form of Unicode's rules (UAX 9) that looks at whole words.
pub(super) fn ordered(mut line: Vec<Word>, from_right: bool) -> Vec<Word> {
    let against = |word: &Word| word.right_to_left == Some(!from_right);
    let mut start = 0;
    while let Some(first) = line[start..].iter().position(against).map(|at| start + at) {
        let other = |word: &Word| word.right_to_left == Some(from_right);
        let end = line[first..].iter().position(other).map_or(line.len(), |at| first + at);
        let last = line[first..end].iter().rposition(against).map_or(first, |at| first + at);
        line[first..=last].reverse();
        start = end;
    }
    if from_right {
        line.reverse();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_against_the_line_are_turned() {
        for (text, from_right, expected) in [
            ("a b , c", false, "a b , c"),
            ("a א ב c", false, "a ב א c"),
            ("a א , ב .", false, "a ב , א ."),
            ("א ב c d ה", true, "ה c d ב א"),
            ("א .", true, ". א"),
            ("", true, ""),
        ] {
            let words = text.split(' ').map(|word| Word::new(word, super::super::PLAIN)).collect();
            let found: Vec<String> = ordered(words, from_right).into_iter().map(|word| word.text).collect();
            assert_eq!(found.join(" "), expected);
        }
    }
}
