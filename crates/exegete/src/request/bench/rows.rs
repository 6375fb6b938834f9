//! Rows of given lengths: speed depends on the number of tokens, not on what they say.

use crate::{Encoded, Example, Model, Row};
use anyhow::Result;
use exegete_engine::random_bits;

/// Rows of these lengths, cut to what the model can take.
pub(crate) fn of_lengths(model: &dyn Model, lengths: &[usize]) -> Result<Vec<Row>> {
    let ids = vocabulary_sample(model)?;
    let row = |(row, &length): (usize, &usize)| {
        let length = length.min(model.card().max_tokens);
        let ids: Vec<u32> = (0..length).map(|token| ids[(7 * row + token) % ids.len()]).collect();
        Row::new(Encoded::from_ids(&ids))
    };
    Ok(lengths.iter().enumerate().map(row).collect())
}

/// Seeded lengths between 5 and 60, so that every machine measures the same batch.
pub(crate) fn mixed_lengths(count: u64) -> Vec<usize> {
    let length = |index| 5 + (random_bits(0, index) % 56) as usize;
    (0..count).map(length).collect()
}

/// Some ids that are surely in the vocabulary: those of a sentence where there is a tokenizer, else the first ones.
fn vocabulary_sample(model: &dyn Model) -> Result<Vec<u32>> {
    let sentence = Example::text("The quick brown fox jumps over the lazy dog, and then what?");
    let ids = match model.require_open()?.encode(&sentence) {
        Ok(encoded) => encoded.tokens.iter().map(|token| token.id).collect(),
        Err(_) => Vec::new(),
    };
    Ok(if ids.is_empty() { (0..100).collect() } else { ids })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixed_lengths_cover_their_range() {
        let lengths = mixed_lengths(256);
        assert_eq!(lengths[..6], [28, 41, 28, 9, 56, 7]);
        assert_eq!((lengths.iter().min(), lengths.iter().max()), (Some(&5), Some(&60)));
        let mean = lengths.iter().sum::<usize>() as f64 / 256.0;
        assert!((30.0..35.0).contains(&mean), "{mean}");
    }
}
