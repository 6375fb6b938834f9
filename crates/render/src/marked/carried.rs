//! Where the words of one text stand in another that was made from it.

use super::{Mark, Stretch};
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// Beyond so many pairs of words, only what both texts begin and end with is compared.
const PAIRS: usize = 4_000_000;

/// A word and where it begins.
type Word<'a> = (usize, &'a str);

/// The new text; what it keeps of these bytes of the old one is marked as held. Words are matched by the longest
/// common subsequence, since the texts under a rule say nothing of where their words came from.
pub(super) fn carried<'a>(old: &str, spans: &[Range<usize>], new: &'a str) -> Vec<Stretch<'a>> {
    let (old_words, new_words) = (words(old), words(new));
    let mut found: Vec<(usize, Range<usize>)> = Vec::new();
    for (from, to) in matches(&old_words, &new_words) {
        let (start, word) = old_words[from];
        let within = |span: &Range<usize>| span.start <= start && start + word.len() <= span.end;
        let Some(span) = spans.iter().position(within) else { continue };
        let (start, word) = new_words[to];
        let range = start..start + word.len();
        match found.last_mut().filter(|(last, before)| *last == span && blank(new, before.end, start)) {
            Some((_, before)) => before.end = range.end,
            None => found.push((span, range)),
        }
    }
    stretches(new, found.into_iter().map(|(_, range)| range))
}

fn words(text: &str) -> Vec<Word<'_>> {
    text.split_word_bound_indices().filter(|(_, word)| !word.trim().is_empty()).collect()
}

/// Whether nothing but space lies there.
fn blank(text: &str, start: usize, end: usize) -> bool {
    text.get(start..end).is_some_and(|between| between.trim().is_empty())
}

fn stretches(text: &str, held: impl Iterator<Item = Range<usize>>) -> Vec<Stretch<'_>> {
    let mut stretches = Vec::new();
    let mut done = 0;
    for Range { start, end } in held {
        stretches.push(Stretch::new(&text[done..start], Mark::Plain));
        stretches.push(Stretch::new(&text[start..end], Mark::Held));
        done = end;
    }
    stretches.push(Stretch::new(&text[done..], Mark::Plain));
    stretches.retain(|stretch| !stretch.text.is_empty());
    stretches
}

/// Pairs of equal words in the order of both texts.
fn matches(old: &[Word<'_>], new: &[Word<'_>]) -> Vec<(usize, usize)> {
    let same = |a: &Word<'_>, b: &Word<'_>| a.1 == b.1;
    let before = old.iter().zip(new).take_while(|(a, b)| same(a, b)).count();
    let rest = (&old[before..], &new[before..]);
    let after = rest.0.iter().rev().zip(rest.1.iter().rev()).take_while(|(a, b)| same(a, b)).count();
    let (ends, middle) = (
        (old.len() - after, new.len() - after),
        common(&old[before..old.len() - after], &new[before..new.len() - after]),
    );
    let first = (0..before).map(|at| (at, at));
    let middle = middle.into_iter().map(|(from, to)| (before + from, before + to));
    first.chain(middle).chain((0..after).map(|at| (ends.0 + at, ends.1 + at))).collect()
}

/// A longest common subsequence.
fn common(old: &[Word<'_>], new: &[Word<'_>]) -> Vec<(usize, usize)> {
    let across = new.len() + 1;
    if old.len().saturating_mul(new.len()) > PAIRS {
        return Vec::new();
    }
    // The length of what is common from here to the end, for each pair of places.
    let mut lengths = vec![0u32; (old.len() + 1) * across];
    for from in (0..old.len()).rev() {
        for to in (0..new.len()).rev() {
            let at = from * across + to;
            lengths[at] = if old[from].1 == new[to].1 {
                lengths[at + across + 1] + 1
            } else {
                lengths[at + across].max(lengths[at + 1])
            };
        }
    }
    let (mut from, mut to, mut pairs) = (0, 0, Vec::new());
    while from < old.len() && to < new.len() {
        let at = from * across + to;
        if old[from].1 == new[to].1 {
            pairs.push((from, to));
            (from, to) = (from + 1, to + 1);
        } else if lengths[at + across] >= lengths[at + 1] {
            from += 1;
        } else {
            to += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::super::tests::signed;
    use super::*;

    #[test]
    fn conditions_are_found_again() {
        for (old, held, new, expected) in [
            ("the film is great fun", &["great"][..], "the film is great fun", "the film is [great] fun"),
            ("the film is great fun", &["great"], "UNK UNK UNK great fun", "UNK UNK UNK [great] fun"),
            ("the film is great fun", &["great"], "great", "[great]"),
            // The second "the" is held, not the one that was put in before it.
            ("a film and the cast", &["the"], "the film or the cast", "the film or [the] cast"),
            ("very good, very long", &["very good"], "so very good , not long", "so [very good] , not long"),
            ("very good day", &["good"], "very nice day", "very nice day"),
            ("这部电影很好", &["好"], "那部电影很好", "那部电影很[好]"),
            ("", &[], "new", "new"),
            ("old", &["old"], "", ""),
        ] {
            let span = |word: &&str| old.find(word).map(|at| at..at + word.len()).unwrap_or(0..0);
            let spans: Vec<_> = held.iter().map(span).collect();
            assert_eq!(signed(&carried(old, &spans, new)), expected);
        }
    }

    #[test]
    fn very_long_texts_are_only_compared_at_their_ends() {
        let long = |middle: &str| format!("first {} last", format!("{middle} ").repeat(3000));
        let (old, new) = (long("a b"), long("b a"));
        let found = carried(&old, std::slice::from_ref(&(0..5)), &new);
        assert_eq!((found[0].text, found[0].mark), ("first", Mark::Held));
    }
}
