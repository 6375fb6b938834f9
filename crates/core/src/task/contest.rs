use super::best_span;
use crate::{Encoded, Logits, Result};

/// Which outputs compete for a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contest {
    /// The largest of all outputs wins, or of those at one token.
    Largest(Option<usize>),
    /// One output says yes or no.
    Alone(usize),
    /// The best start and end of a span win.
    Span,
}

/// Which decision it is, whatever it is called: an index and nothing, yes as 1, or the first and last token of a span.
pub type Decided = (usize, usize);

impl Contest {
    /// What wins for one row.
    pub fn winner(&self, encoded: &Encoded, logits: &Logits) -> Result<Decided> {
        Ok(match self {
            Self::Largest(_) => (largest(self.rivals(logits)), 0),
            Self::Alone(index) => (usize::from(sigmoid(logits.data[*index]) >= 0.5), 0),
            Self::Span => best_span(encoded, logits)?,
        })
    }

    /// The probability of a decision, whether it is the one that is made or not.
    pub fn prob(&self, logits: &Logits, decided: Decided) -> f64 {
        match self {
            Self::Largest(_) => softmax_at(self.rivals(logits), decided.0),
            Self::Alone(index) => {
                let on = sigmoid(logits.data[*index]);
                if decided.0 == 1 { on } else { 1.0 - on }
            }
            Self::Span => {
                let column = |which: usize| -> Vec<f64> {
                    logits.data.iter().skip(which).step_by(2).copied().collect()
                };
                softmax_at(&column(0), decided.0) * softmax_at(&column(1), decided.1)
            }
        }
    }

    /// The outputs that compete with each other.
    fn rivals<'l>(&self, logits: &'l Logits) -> &'l [f64] {
        match self {
            Self::Largest(Some(position)) => logits.at(*position).map_or(&[], |at| &logits.data[at]),
            _ => &logits.data,
        }
    }
}

/// The place of the largest; the first where several are equal.
fn largest(values: &[f64]) -> usize {
    (0..values.len()).reduce(|best, i| if values[i] > values[best] { i } else { best }).unwrap_or(0)
}

fn softmax_at(logits: &[f64], index: usize) -> f64 {
    let Some(own) = logits.get(index) else { return 0.0 };
    1.0 / logits.iter().map(|z| (z - own).exp()).sum::<f64>()
}

pub(super) fn softmax(logits: &[f64]) -> Vec<f64> {
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = logits.iter().map(|x| (x - top).exp()).collect();
    let total: f64 = powers.iter().sum();
    powers.into_iter().map(|p| p / total).collect()
}

pub(super) fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}
