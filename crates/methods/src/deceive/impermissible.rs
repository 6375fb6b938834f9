use exegete_core::{Encoded, Example, Field, Span, Units};
use std::collections::HashSet;
use std::collections::hash_map::{Entry, HashMap};

/// Which words of each text attention must not show. Texts are known by what is written in them.
#[derive(Debug, Clone, Default)]
pub struct Impermissible {
    /// The bytes of such words.
    spans: HashMap<Vec<String>, Vec<Span>>,
    /// Of a source and its target: which word of the source each word of the target comes from, from 0.
    aligned: HashMap<Vec<String>, Vec<(usize, usize)>>,
}

impl Impermissible {
    /// Adds a text; an error where the same text had other words.
    pub fn add(&mut self, fields: &[Field], spans: Vec<Span>) -> Result<(), String> {
        add(&mut self.spans, fields, spans)
    }

    /// Adds a source with its target; an error where the same two were aligned otherwise.
    pub fn add_aligned(&mut self, fields: &[Field], pairs: Vec<(usize, usize)>) -> Result<(), String> {
        add(&mut self.aligned, fields, pairs)
    }

    /// For every token whether it is of such a word; special tokens and those of unknown texts are not.
    pub fn tokens(&self, encoded: &Encoded) -> Vec<bool> {
        let spans = self.spans.get(&written(&encoded.fields)).map_or(&[][..], Vec::as_slice);
        let meets = |a: Span, b: &Span| a.field == b.field && a.start < b.end && b.start < a.end;
        let marked = |span: Span| spans.iter().any(|own| meets(span, own));
        encoded.tokens.iter().map(|token| !token.special && token.span.is_some_and(marked)).collect()
    }

    /// The pairs of words of a source and its target.
    pub fn pairs(&self, encoded: &Encoded) -> &[(usize, usize)] {
        self.aligned.get(&written(&encoded.fields)).map_or(&[], Vec::as_slice)
    }
}

fn add<T: PartialEq>(
    known: &mut HashMap<Vec<String>, Vec<T>>,
    fields: &[Field],
    new: Vec<T>,
) -> Result<(), String> {
    match known.entry(written(fields)) {
        Entry::Occupied(earlier) if *earlier.get() != new => {
            Err("the same text stands in another row with other impermissible words".to_owned())
        }
        Entry::Occupied(_) => Ok(()),
        Entry::Vacant(place) => {
            place.insert(new);
            Ok(())
        }
    }
}

fn written(fields: &[Field]) -> Vec<String> {
    fields.iter().map(|field| field.text.clone()).collect()
}

/// The words of a text that are in a list, whose words are lower-cased.
pub fn spelled(example: &Example, words: &HashSet<String>) -> Vec<Span> {
    let encoded = Encoded::of_words(example);
    let units = Units::Word.of(&encoded).into_iter();
    units
        .filter(|unit| words.contains(&encoded.slice(unit.span).to_lowercase()))
        .map(|unit| unit.span)
        .collect()
}

/// The bytes that a cell of generated data names: `a-b`, of pairs `field:a-b`, with blanks between.
pub fn truth(cell: &str, fields: &[Field]) -> Result<Vec<Span>, String> {
    let span = |word: &str| {
        let (field, bytes) = match word.split_once(':') {
            Some((field, bytes)) => (field.parse().ok()?, bytes),
            None => (0, word),
        };
        let (start, end) = range(bytes)?;
        let text = fields.get(field).map(|field: &Field| field.text.as_str())?;
        (start < end && text.get(start..end).is_some()).then_some(Span { field, start, end })
    };
    let wrong =
        |word| format!("'{word}' names no bytes of the text; write a-b, or field:a-b for pairs, from 0");
    cell.split_whitespace().map(|word| span(word).ok_or_else(|| wrong(word))).collect()
}

/// The pairs that a cell of generated data names: `i-j`, a word of the source and one of the target, from 0.
pub fn aligned(cell: &str) -> Result<Vec<(usize, usize)>, String> {
    let wrong = |word| format!("'{word}' is no pair of words; write i-j, source and target, from 0");
    cell.split_whitespace().map(|word| range(word).ok_or_else(|| wrong(word))).collect()
}

fn range(text: &str) -> Option<(usize, usize)> {
    let (first, second) = text.split_once('-')?;
    Some((first.parse().ok()?, second.parse().ok()?))
}
