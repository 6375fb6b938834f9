//! Word vectors from text files, as GloVe and word2vec write them: `word x₁ … x_d` a line, perhaps after `count d`.

use crate::fault::{fault, read_text};
use crate::random::uniforms;
use crate::tokenizer::{MARKERS, WordVocabulary};
use exegete_core::{Result, normal, sha256_hex};
use std::collections::HashMap;
use std::path::Path;

/// Vectors by word, all of one width.
#[derive(Debug, Clone, PartialEq)]
pub struct WordVectors {
    /// d, the length of every vector.
    pub width: usize,
    by_word: HashMap<String, Vec<f32>>,
}

impl WordVectors {
    /// Reads a file of which only the words of a vocabulary are kept.
    pub fn read(path: &Path, vocabulary: &WordVocabulary) -> Result<Self> {
        Self::parse(&path.display().to_string(), &read_text(path)?, vocabulary)
    }

    /// Reads the text of such a file, which messages call `place`. The first of two lines with the same word counts.
    pub fn parse(place: &str, text: &str, vocabulary: &WordVocabulary) -> Result<Self> {
        let mut found = Self { width: 0, by_word: HashMap::new() };
        for (number, line) in (1..).zip(text.lines()) {
            let mut pieces = line.split(' ').filter(|piece| !piece.is_empty());
            let Some(word) = pieces.next() else { continue };
            let values: Vec<&str> = pieces.collect();
            // A first line of two whole numbers says how many lines and numbers follow.
            let is_count = |text: &str| text.parse::<usize>().is_ok();
            if number == 1 && values.len() == 1 && is_count(word) && is_count(values[0]) {
                continue;
            }
            if found.width == 0 {
                found.width = values.len();
            }
            if values.len() != found.width || values.is_empty() {
                let what =
                    format!("line {number} has {} numbers, expected {}", values.len(), found.width.max(1));
                return Err(fault(place, what));
            }
            if vocabulary.id(word).is_none() || found.by_word.contains_key(word) {
                continue;
            }
            let number_of = |text: &&str| text.parse::<f32>().ok().filter(|x| x.is_finite());
            let vector: Option<Vec<f32>> = values.iter().map(number_of).collect();
            let vector = vector
                .ok_or_else(|| fault(place, format!("line {number} holds something that is no number")))?;
            found.by_word.insert(word.to_owned(), vector);
        }
        match found.width {
            0 => Err(fault(place, "holds no vectors; a line is a word and its numbers")),
            _ => Ok(found),
        }
    }

    /// What tells these vectors from others.
    pub(crate) fn digest(&self) -> String {
        let mut words: Vec<_> = self.by_word.iter().collect();
        words.sort_unstable_by_key(|(word, _)| *word);
        let bytes = words.into_iter().flat_map(|(word, vector)| {
            word.bytes().chain(vector.iter().flat_map(|x| x.to_le_bytes())).collect::<Vec<u8>>()
        });
        sha256_hex(&bytes.collect::<Vec<u8>>())
    }

    /// How many words of the vocabulary have a vector.
    pub fn found(&self) -> usize {
        self.by_word.len()
    }
}

/// The word matrix \[V, d\] of this name at the start, row by row: words without a vector and the two markers around texts are drawn
/// from N(0, s²), s the deviation of all numbers found (1 without a file); padding and unknown words are 0.
pub(super) fn matrix(
    name: &str,
    vocabulary: &WordVocabulary,
    width: usize,
    vectors: Option<&WordVectors>,
    seed: u64,
) -> Vec<f32> {
    let deviation = vectors.map_or(1.0, deviation);
    let mut uniform = uniforms(name, seed);
    let mut rows = Vec::with_capacity(vocabulary.len() * width);
    for (id, word) in vocabulary.words().iter().enumerate() {
        let known = vectors.filter(|_| id >= MARKERS.len()).and_then(|vectors| vectors.by_word.get(word));
        match known {
            _ if id < 2 => rows.extend(std::iter::repeat_n(0.0, width)),
            Some(vector) => rows.extend_from_slice(vector),
            None => rows.extend((0..width).map(|_| (deviation * normal([uniform(), uniform()])) as f32)),
        }
    }
    rows
}

/// The standard deviation of all numbers; 1 where none was found.
fn deviation(vectors: &WordVectors) -> f64 {
    let numbers = || vectors.by_word.values().flatten().map(|&x| f64::from(x));
    let count = numbers().count() as f64;
    if count == 0.0 {
        return 1.0;
    }
    let mean = numbers().sum::<f64>() / count;
    (numbers().map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_core::Example;

    fn vocabulary() -> WordVocabulary {
        WordVocabulary::of(&[Example::text("good bad film")], true, 1)
    }

    #[test]
    fn files_with_and_without_a_header() {
        for text in ["good 1 2\nbad -3 4.5\n", "2 2\ngood 1 2\nother 7 7\nbad -3 4.5\ngood 9 9"] {
            let found = WordVectors::parse("v", text, &vocabulary()).unwrap();
            assert_eq!((found.width, found.found()), (2, 2));
            let rows = matrix("embed.weight", &vocabulary(), 2, Some(&found), 0);
            let row = |word: &str| &rows[2 * vocabulary().id(word).unwrap() as usize..][..2];
            assert_eq!(
                (row("good"), row("bad"), row("<pad>"), row("<unk>")),
                (&[1.0, 2.0][..], &[-3.0, 4.5][..], &[0.0; 2][..], &[0.0; 2][..])
            );
            assert!(row("film") != [0.0; 2] && row("<s>") != row("</s>"));
            // Of 1, 2, −3 and 4.5: mean 1.125, variance 7.296875.
            assert!((deviation(&found) - 7.296875f64.sqrt()).abs() < 1e-12);
        }
    }

    #[test]
    fn what_is_drawn_has_the_deviation_and_follows_the_seed() {
        let words: String = (0..2_000).map(|i| format!("w{i} ")).collect();
        let vocabulary = WordVocabulary::of(&[Example::text(words)], true, 1);
        let rows = matrix("embed.weight", &vocabulary, 5, None, 3);
        let square = rows.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / 10_010.0;
        assert!((square - 1.0).abs() < 0.05, "{square}");
        assert_eq!(rows, matrix("embed.weight", &vocabulary, 5, None, 3));
        assert_ne!(rows, matrix("embed.weight", &vocabulary, 5, None, 4));
    }

    #[test]
    fn broken_files_name_the_line() {
        let error = |text: &str| WordVectors::parse("v", text, &vocabulary()).unwrap_err().to_string();
        assert!(error("good 1 2\nother 1\n").contains("line 2 has 1 numbers, expected 2"));
        assert!(error("3 2\ngood 1 x\n").contains("line 2 holds something"));
        assert!(error("").contains("no vectors"));
    }
}
