//! Whether the word of the largest weight matters more than another: S. Serrano and N. A. Smith, *Is attention
//! interpretable?*, 2019.
//!
//! Erasing words sets their weights to 0 and divides the rest by its sum; with all erased the context is zero.

use super::distance::{jensen_shannon, largest};
use super::head::Reweighed;
use super::spread::Imposed;
use super::{Erased, ErasedPair};
use exegete_core::Result;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// What erasing the top word does to the answer, beside erasing another at random.
pub fn pair(head: &dyn Reweighed, alpha: &[f64], own: &[f64], random: &mut ChaCha8Rng) -> Result<ErasedPair> {
    let top = largest(alpha);
    let other = random.random_range(0..alpha.len() as u32 - 1) as usize;
    pair_of(head, alpha, own, [top, other + usize::from(other >= top)])
}

/// The same for two words that are known.
pub fn pair_of(head: &dyn Reweighed, alpha: &[f64], own: &[f64], words: [usize; 2]) -> Result<ErasedPair> {
    let outputs = head.outputs(&words.map(|word| Imposed::Erased(vec![word])))?;
    let erased = |(&index, p): (&usize, &Vec<f64>)| Erased {
        index,
        alpha: alpha[index],
        js: jensen_shannon(own, p),
        flip: largest(p) != largest(own),
    };
    let mut found = words.iter().zip(&outputs).map(erased);
    match (found.next(), found.next()) {
        (Some(top), Some(random)) => Ok(ErasedPair { top, random }),
        _ => Err(exegete_core::Error::Model("the model left a row out".into())),
    }
}
