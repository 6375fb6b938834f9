use crate::{Encoded, Error, Span, Token};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use unicode_segmentation::UnicodeSegmentation;

/// What scores are given to: the pieces a text is cut into for the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Units {
    /// The model's own tokens.
    Token,
    /// UAX-29 words with their apostrophes; every other run without a space is a unit of its own. A special token that is
    /// written in the text, such as `[MASK]`, is one unit: the one exception to UAX 29.
    #[default]
    Word,
    /// The words between punctuation; the punctuation stays apart.
    Phrase,
    /// Sentences by the rules of UAX 29.
    Sentence,
    /// A field as a whole is one unit.
    Field,
}

/// One piece of the text and the tokens that make it up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unit {
    /// Its bytes, without surrounding space.
    pub span: Span,
    /// Indices into the tokens of the [`Encoded`].
    pub tokens: Vec<usize>,
}

impl Units {
    const ALL: [Self; 5] = [Self::Token, Self::Word, Self::Phrase, Self::Sentence, Self::Field];

    /// The units of an encoded example, field by field.
    ///
    /// Every token that came from the text belongs to exactly one unit: the one that holds its first byte that is no
    /// space, or, where it has none, the next. Units that lost all their tokens to truncation are left out; special
    /// tokens and tokens that point at no text are in no unit.
    pub fn of(self, encoded: &Encoded) -> Vec<Unit> {
        let fields = 0..encoded.fields.len();
        fields.flat_map(|field| self.of_field(encoded, field)).collect()
    }

    fn of_field(self, encoded: &Encoded, field: usize) -> Vec<Unit> {
        let tokens = encoded.tokens.iter().enumerate().filter(|(_, token)| !token.special);
        let in_field = tokens.filter_map(|(i, token)| Some((i, token.span.filter(|s| s.field == field)?)));
        if self == Self::Token {
            return in_field.map(|(i, span)| Unit { span, tokens: vec![i] }).collect();
        }
        let text = encoded.fields[field].text.as_str();
        let span = |range: Range<usize>| Span { field, start: range.start, end: range.end };
        let unit = |range| Unit { span: span(range), tokens: Vec::new() };
        let mut units: Vec<Unit> =
            self.ranges(text, &written(encoded, field)).into_iter().map(unit).collect();
        for (i, span) in in_field {
            let start =
                text.get(span.range()).map_or(span.start, |slice| span.end - slice.trim_start().len());
            let home = units.partition_point(|unit| unit.span.end <= start);
            // A token after the last unit can only hold space: it goes with the last.
            if let Some(unit) = units.len().checked_sub(1).map(|last| &mut units[home.min(last)]) {
                unit.tokens.push(i);
            }
        }
        units.retain(|unit| !unit.tokens.is_empty());
        units
    }

    /// Byte ranges in order, without overlap, that cover everything but space.
    fn ranges(self, text: &str, written: &[Range<usize>]) -> Vec<Range<usize>> {
        match self {
            Self::Token | Self::Field => vec![trimmed(0, text)],
            Self::Word => pieces(text, written).into_iter().map(|piece| piece.range).collect(),
            Self::Phrase => phrases(text, written),
            Self::Sentence => text.split_sentence_bound_indices().map(|(at, s)| trimmed(at, s)).collect(),
        }
        .into_iter()
        .filter(|range| !range.is_empty())
        .collect()
    }
}

/// A word, or a run of anything else but space.
struct TextPiece {
    range: Range<usize>,
    is_word: bool,
}

/// The byte ranges of a text's words, and of every other run without a space.
pub(crate) fn words(text: &str) -> Vec<Range<usize>> {
    pieces(text, &[]).into_iter().map(|piece| piece.range).collect()
}

/// The special tokens that a field's text spells out, in order: tokens in brackets whose text is the vocabulary's own string.
fn written(encoded: &Encoded, field: usize) -> Vec<Range<usize>> {
    let text = encoded.fields[field].text.as_str();
    let spelled = |token: &Token| {
        let span = token.span.filter(|span| span.field == field && !token.special)?;
        let range = trimmed(span.start, text.get(span.range())?);
        let inner =
            bracketed(&text[range.clone()]).is_some_and(|inner| inner.chars().any(char::is_alphanumeric));
        (inner && text[range.clone()] == *token.piece).then_some(range)
    };
    let mut ranges: Vec<Range<usize>> = encoded.tokens.iter().filter_map(spelled).collect();
    ranges.sort_by_key(|range| range.start);
    ranges.dedup_by(|next, last| next.start < last.end);
    ranges
}

/// What stands in the brackets of a special token's name.
fn bracketed(text: &str) -> Option<&str> {
    let inner = |open, close| text.strip_prefix(open)?.strip_suffix(close);
    inner('[', ']').or_else(|| inner('<', '>'))
}

/// The words and other runs of a text, where those ranges are words as they are.
fn pieces(text: &str, written: &[Range<usize>]) -> Vec<TextPiece> {
    let (mut pieces, mut done) = (Vec::new(), 0);
    for range in written {
        pieces.extend(plain(text, done..range.start));
        pieces.push(TextPiece { range: range.clone(), is_word: true });
        done = range.end;
    }
    pieces.extend(plain(text, done..text.len()));
    pieces
}

fn plain(text: &str, part: Range<usize>) -> Vec<TextPiece> {
    let mut pieces: Vec<TextPiece> = Vec::new();
    for (at, segment) in text[part.clone()].split_word_bound_indices() {
        let range = trimmed(part.start + at, segment);
        let is_word = segment.chars().any(char::is_alphanumeric);
        match pieces.last_mut() {
            _ if range.is_empty() => {}
            Some(last) if !is_word && !last.is_word && last.range.end == range.start => {
                last.range.end = range.end
            }
            _ => pieces.push(TextPiece { range, is_word }),
        }
    }
    pieces
}

fn phrases(text: &str, written: &[Range<usize>]) -> Vec<Range<usize>> {
    let pieces = pieces(text, written);
    let mut phrases: Vec<Range<usize>> = Vec::new();
    let mut open = false;
    for (i, piece) in pieces.iter().enumerate() {
        let joins = piece.is_word || is_inner_mark(text, &pieces, i);
        match phrases.last_mut() {
            Some(last) if open && joins => last.end = piece.range.end,
            _ => phrases.push(piece.range.clone()),
        }
        open = joins;
    }
    phrases
}

/// A hyphen, apostrophe or other single mark written tight between two words, as in "well-made" or "and/or", is
/// spelling and not punctuation.
fn is_inner_mark(text: &str, pieces: &[TextPiece], i: usize) -> bool {
    let mark = &pieces[i].range;
    let before = i.checked_sub(1).and_then(|before| pieces.get(before));
    let tight_before = before.is_some_and(|before| before.is_word && before.range.end == mark.start);
    let tight_after = pieces.get(i + 1).is_some_and(|after| after.is_word && after.range.start == mark.end);
    let spells = ["-", "\u{2010}", "\u{2011}", "'", "\u{2019}", "/", "&", "@", "+", "*"]
        .contains(&&text[mark.clone()]);
    spells && tight_before && tight_after
}

fn trimmed(at: usize, piece: &str) -> Range<usize> {
    let start = at + piece.len() - piece.trim_start().len();
    start..start + piece.trim().len()
}

impl fmt::Display for Units {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Token => "token",
            Self::Word => "word",
            Self::Phrase => "phrase",
            Self::Sentence => "sentence",
            Self::Field => "field",
        })
    }
}

impl FromStr for Units {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|units| units.to_string() == text).ok_or_else(|| {
            Error::Request(format!(
                "'{text}' is not a kind of unit; use token, word, phrase, sentence or field"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Field;

    fn encoded(text: &str, spans: &[Range<usize>]) -> Encoded {
        let token = |span: Option<Span>| Token {
            id: 0,
            type_id: 0,
            piece: String::new(),
            span,
            special: span.is_none(),
            weight: None,
        };
        let spans = spans.iter().map(|r| Some(Span { field: 0, start: r.start, end: r.end }));
        let tokens = [None].into_iter().chain(spans).chain([None]).map(token).collect();
        let fields = vec![Field { name: "text".into(), text: text.into() }];
        Encoded { fields, tokens, truncated: false }
    }

    /// One token a character, so that no unit is left out.
    fn by_character(text: &str) -> Encoded {
        let spans: Vec<_> = text.char_indices().map(|(at, c)| at..at + c.len_utf8()).collect();
        encoded(text, &spans)
    }

    fn check(units: Units, text: &str, expected: &[&str]) {
        let encoded = by_character(text);
        let found = units.of(&encoded);
        let texts: Vec<&str> = found.iter().map(|unit| encoded.slice(unit.span)).collect();
        assert_eq!(texts, expected, "{units} units of {text:?}");
        let mut tokens: Vec<usize> = found.into_iter().flat_map(|unit| unit.tokens).collect();
        tokens.sort_unstable();
        let all: Vec<usize> = if expected.is_empty() { vec![] } else { (1..=text.chars().count()).collect() };
        assert_eq!(tokens, all, "every token of {text:?} is in one unit");
    }

    #[test]
    fn words() {
        let check = |text, expected: &[&str]| check(Units::Word, text, expected);
        check("", &[]);
        check("  ", &[]);
        check("I don't know, it's 5 o'clock.", &["I", "don't", "know", ",", "it's", "5", "o'clock", "."]);
        check("it\u{2019}s", &["it\u{2019}s"]);
        check("rock 'n' roll", &["rock", "'", "n", "'", "roll"]);
        check("a well-made film", &["a", "well", "-", "made", "film"]);
        check("3.14 is 1,000 times $5", &["3.14", "is", "1,000", "times", "$", "5"]);
        check("great!!! no…  really?!", &["great", "!!!", "no", "…", "really", "?!"]);
        check("love 👩‍👩‍👧👍🏽 it", &["love", "👩‍👩‍👧👍🏽", "it"]);
        check("צה\"ל שלום", &["צה\"ל", "שלום"]);
        check("我喜欢。", &["我", "喜", "欢", "。"]);
        check("e\u{301}te\u{301}", &["e\u{301}te\u{301}"]);
        check("a\r\n\tb \u{301}c", &["a", "b", "\u{301}", "c"]);
    }

    #[test]
    fn phrases() {
        let check = |text, expected: &[&str]| check(Units::Phrase, text, expected);
        check("", &[]);
        check(
            "Not good, but (mostly) well-made.",
            &["Not good", ",", "but", "(", "mostly", ")", "well-made", "."],
        );
        check("yes - no", &["yes", "-", "no"]);
        check("rock 'n' roll", &["rock", "'", "n", "'", "roll"]);
        check("don't stop!!! go", &["don't stop", "!!!", "go"]);
        check("-a-", &["-", "a", "-"]);
    }

    #[test]
    fn sentences_and_fields() {
        check(Units::Sentence, " One 3.5. Two?  Three", &["One 3.5.", "Two?", "Three"]);
        check(Units::Field, " One. Two. ", &["One. Two."]);
        check(Units::Field, " ", &[]);
    }

    #[test]
    fn tokens_go_where_their_first_letter_is() {
        // As sentencepiece cuts "a b!!": a leading space in the token, a token over two units, one without any text.
        let encoded = encoded(" a b!!", &[0..2, 2..4, 4..4, 2..5, 5..6, 6..6]);
        let tokens =
            |units: Units| units.of(&encoded).into_iter().map(|unit| unit.tokens).collect::<Vec<_>>();
        assert_eq!(tokens(Units::Word), [vec![1], vec![2, 4], vec![3, 5, 6]]);
        assert_eq!(tokens(Units::Token).len(), 6);
        assert_eq!(tokens(Units::Field), [vec![1, 2, 3, 4, 5, 6]]);
    }

    #[test]
    fn a_special_token_in_the_text_is_one_unit() {
        // The mask swallows the space before it, as byte-level vocabularies have it.
        let mut encoded =
            encoded("a [MASK]-x <b>.", &[0..1, 1..8, 8..9, 9..10, 11..12, 12..13, 13..14, 14..15]);
        let units = |units: Units, encoded: &Encoded| -> Vec<String> {
            units.of(encoded).iter().map(|unit| encoded.slice(unit.span).to_string()).collect()
        };
        assert_eq!(
            units(Units::Word, &encoded)[..3],
            ["a", "[", "]-"],
            "only the vocabulary says what is special"
        );
        encoded.tokens[2].piece = "[MASK]".into();
        assert_eq!(units(Units::Word, &encoded), ["a", "[MASK]", "-", "x", "<", "b", ">."]);
        assert_eq!(units(Units::Phrase, &encoded)[0], "a [MASK]-x");
        assert_eq!(units(Units::Sentence, &encoded).len(), 1);
    }

    #[test]
    fn truncated_units_are_dropped_and_fields_stay_apart() {
        let mut encoded = encoded("one two. Three", &[0..3, 4..6]);
        encoded.fields.push(Field { name: "pair".into(), text: "four".into() });
        let mut token = encoded.tokens[1].clone();
        token.span = Some(Span { field: 1, start: 0, end: 4 });
        encoded.tokens.push(token);
        let texts = |units: Units| -> Vec<String> {
            units.of(&encoded).iter().map(|unit| encoded.slice(unit.span).to_string()).collect()
        };
        assert_eq!(texts(Units::Word), ["one", "two", "four"]);
        assert_eq!(texts(Units::Sentence), ["one two.", "four"]);
        assert_eq!(texts(Units::Token), ["one", "tw", "four"]);
    }

    #[test]
    fn spans_that_lie_do_no_harm() {
        let mut encoded = encoded("é", &[1..2, 0..9]);
        encoded.tokens[1].span = Some(Span { field: 7, start: 0, end: 1 });
        assert_eq!(Units::Word.of(&encoded).len(), 1);
        assert_eq!(Units::Word.of(&Encoded::from_ids(&[1, 2])), []);
    }

    #[test]
    fn names() {
        for units in Units::ALL {
            assert_eq!(units.to_string().parse(), Ok(units));
        }
        assert!("letter".parse::<Units>().is_err());
    }
}
