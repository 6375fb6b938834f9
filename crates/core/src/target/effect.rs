//! F on a scale without bounds, on which effects of equal strength are equally large wherever F is: a class at 0.99 can still
//! be moved.

use super::score::{Norm, Term, log_sum_exp};
use super::{Quantity, Scale, Target};
use crate::{Card, Logits, Result};

/// Black boxes round their probabilities; nothing nearer to 0 or 1 is told apart.
const LEAST: f64 = 1e-6;

impl Target {
    /// F as effects are measured: log-odds of one label, the sum of log-probabilities where F is made of several (a margin,
    /// an answer), numbers as they are. A black box's probabilities are `clipped` to \[1e-6, 1 − 1e-6\]. Every target but a
    /// neuron, whose value is its effect.
    pub fn effect(&self, card: &Card, logits: &Logits, clipped: bool) -> Result<f64> {
        if self.is_loss() || !card.task.gives_probabilities() {
            return self.value_of(card, logits);
        }
        let terms = self.terms(card, logits)?;
        Ok(match &terms[..] {
            [term] => term.weight() * odds(term, &logits.data, clipped),
            _ => terms.iter().map(|term| term.weight() * log_prob(term, &logits.data, clipped)).sum(),
        })
    }

    /// What that scale is called.
    pub fn effect_scale(&self, card: &Card) -> &'static str {
        match self.quantity {
            Quantity::Loss(_) => "minus the loss",
            Quantity::Neuron(..) => "value",
            _ if !card.task.gives_probabilities() => "value",
            Quantity::Margin(..) => "log-ratio",
            Quantity::Answer(_) => "log-probability",
            _ => "log-odds",
        }
    }

    /// The same quantity by its probability, where it has one.
    #[must_use]
    pub fn by_probability(&self, card: &Card) -> Self {
        let plain = self.is_loss() || self.is_neuron() || !card.task.gives_probabilities();
        let scale = if plain { self.scale } else { Some(Scale::Prob) };
        Self { scale, quantity: self.quantity.clone() }
    }
}

/// log p, of a probability that is bounded where it is `clipped`.
fn log_prob(term: &Term, z: &[f64], clipped: bool) -> f64 {
    let exact = term.log_prob(z);
    if clipped { exact.exp().clamp(LEAST, 1.0 - LEAST).ln() } else { exact }
}

/// log p − log(1 − p). What competes with nothing is certain, and as likely whatever is hidden.
fn odds(term: &Term, z: &[f64], clipped: bool) -> f64 {
    if clipped {
        let p = term.log_prob(z).exp().clamp(LEAST, 1.0 - LEAST);
        return (p / (1.0 - p)).ln();
    }
    let own = z[term.index()];
    match term.norm() {
        Norm::Over { first, stride, count } => {
            let others = (0..count).map(|i| first + i * stride).filter(|&i| i != term.index());
            let others: Vec<f64> = others.map(|i| z[i]).collect();
            if others.is_empty() { 0.0 } else { own - log_sum_exp(others.iter()) }
        }
        Norm::On => own,
        Norm::Off => -own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    }

    #[test]
    fn log_odds_have_no_bounds() {
        let over = Term::new(1, 1.0, Norm::Over { first: 0, stride: 1, count: 3 });
        let z = [1.0, 40.0, 2.0];
        near(odds(&over, &z, false), 40.0 - (1f64.exp() + 2f64.exp()).ln());
        near(odds(&over, &z, true), ((1.0 - 1e-6) / 1e-6f64).ln());
        near(odds(&Term::new(0, 1.0, Norm::On), &z, false), 1.0);
        near(odds(&Term::new(0, 1.0, Norm::Off), &z, false), -1.0);
        let alone = Term::new(0, 1.0, Norm::Over { first: 0, stride: 1, count: 1 });
        near(odds(&alone, &z, false), 0.0);
        // p = 0.2 of logarithms of probabilities.
        let p = [0.2f64.ln(), 0.8f64.ln()];
        let first = Term::new(0, 1.0, Norm::Over { first: 0, stride: 1, count: 2 });
        near(odds(&first, &p, true), 0.25f64.ln());
        near(odds(&first, &p, false), 0.25f64.ln());
        near(log_prob(&first, &p, true), 0.2f64.ln());
    }
}
