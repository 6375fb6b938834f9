//! How many words must go, in which order, before the answer changes: S. Serrano and N. A. Smith, *Is attention
//! interpretable?*, 2019.

use super::distance::largest;
use super::head::Reweighed;
use super::permutation::order;
use super::spread::Imposed;
use exegete_core::Result;
use rand_chacha::ChaCha8Rng;

/// The orders in which words are erased.
pub const RANKINGS: [&str; 4] = ["random", "attention", "gradient", "product"];

/// The share of words that are gone at the first flip, for each of [`RANKINGS`]; none for one that never flips.
pub fn removed(
    head: &dyn Reweighed,
    alpha: &[f64],
    own: &[f64],
    slopes: &[Vec<f64>],
    random: &mut ChaCha8Rng,
) -> Result<[Option<f64>; 4]> {
    let gradient = predicted_slopes(own, slopes);
    let product: Vec<f64> = alpha.iter().zip(&gradient).map(|(alpha, slope)| alpha * slope).collect();
    let orders = [order(alpha.len(), random), falling(alpha), falling(&gradient), falling(&product)];
    let mut shares = [None; 4];
    for (share, order) in shares.iter_mut().zip(&orders) {
        *share = first_flip(head, own, order)?;
    }
    Ok(shares)
}

/// ∂p_ŷ/∂α of the predicted class, weights as free variables, from the slopes of all logits.
pub fn predicted_slopes(own: &[f64], slopes: &[Vec<f64>]) -> Vec<f64> {
    let predicted = largest(own);
    let slope = |of: &Vec<f64>| {
        let mean: f64 = own.iter().zip(of).map(|(p, slope)| p * slope).sum();
        own[predicted] * (of[predicted] - mean)
    };
    slopes.iter().map(slope).collect()
}

/// The largest first; of equal ones the first.
pub(super) fn falling(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
    order
}

/// How far one looks ahead at once: most answers change early, and each look costs a run.
const AHEAD: usize = 16;

fn first_flip(head: &dyn Reweighed, own: &[f64], order: &[usize]) -> Result<Option<f64>> {
    let (count, predicted) = (order.len(), largest(own));
    for first in (1..=count).step_by(AHEAD) {
        let gone = first..=count.min(first + AHEAD - 1);
        let imposed: Vec<Imposed> = gone.map(|k| Imposed::Erased(order[..k].to_vec())).collect();
        let outputs = head.outputs(&imposed)?;
        if let Some(at) = outputs.iter().position(|p| largest(p) != predicted) {
            return Ok(Some((first + at) as f64 / count as f64));
        }
    }
    Ok(None)
}
