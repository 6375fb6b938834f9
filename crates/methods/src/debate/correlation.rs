//! Whether attention ranks words as gradients and as leaving words out do: S. Jain and B. C. Wallace, *Attention is not
//! explanation*, 2019.
//!
//! g_t = |Σ_d x_td ∂p_ŷ/∂x_td| with the weights held fixed; ℓ_t = TVD(p(text without t), p(text)); τ_b(α, g) and τ_b(α, ℓ).

use super::Tau;
use super::distance::{largest, total_variation};
use super::place::Parts;
use crate::statistics::kendall;
use exegete_core::Array;

/// g of each word, from word vectors x and the slopes of the predicted probability there, both \[T, d\].
pub fn gradients(words: &Array, slopes: &Array, parts: &Parts) -> Vec<f64> {
    let width = words.shape[1];
    let token = |&t: &usize| -> f64 {
        let range = t * width..(t + 1) * width;
        words.data[range.clone()]
            .iter()
            .zip(&slopes.data[range])
            .map(|(&x, &g)| f64::from(x) * f64::from(g))
            .sum()
    };
    parts.tokens.iter().map(|tokens| tokens.iter().map(token).sum::<f64>().abs()).collect()
}

/// ℓ of each word, from what the model says of the text and without each of them.
pub fn leave_one_out(own: &[f64], without: &[Vec<f64>]) -> Vec<f64> {
    without.iter().map(|p| total_variation(p, own)).collect()
}

/// τ_b of weights with what is held against them; none where one side is all ties.
pub fn tau(alpha: &[f64], other: &[f64]) -> Option<Tau> {
    kendall(alpha, other).map(|(tau, p)| Tau { tau, p })
}

/// The word that decides: that of the largest leave-one-out effect, where it is at least .1.
pub fn decisive(alpha: &[f64], effects: &[f64]) -> Option<super::Decisive> {
    let index = largest(effects);
    (effects[index] >= LEAST_EFFECT).then(|| super::Decisive {
        index,
        effect: effects[index],
        ratio: alpha.len() as f64 * alpha[index],
    })
}

/// The least effect of leaving a word out that makes it decisive.
const LEAST_EFFECT: f64 = 0.1;
