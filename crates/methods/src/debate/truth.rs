//! Which ranking of a text's words finds those that decide its label, where the data say which they are.

use super::TextRecord;
use super::permutation::order;
use super::share::falling;
use crate::Stream;

/// The rankings that are held against the truth.
pub const TRUTH_RANKINGS: [&str; 6] =
    ["attention", "gradient", "leave_one_out", "weight_gradient", "product", "random"];

/// How well one ranking finds the truth: over texts, the means of these.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FoundTruth {
    /// The share of texts whose first word is one of those that decide.
    pub top1: f64,
    /// The mean over texts of the mean over deciding words of the precision down to each.
    pub average_precision: f64,
}

/// How each of [`TRUTH_RANKINGS`] does on one text; none where something was not measured, or nothing decides.
pub fn found(record: &TextRecord, truth: &[bool], random: (u64, u64)) -> Option<[FoundTruth; 6]> {
    let TextRecord { alpha, gradient, leave_one_out, weight_gradient, .. } = record;
    let slopes = weight_gradient.as_deref()?;
    let product: Vec<f64> = alpha.iter().zip(slopes).map(|(alpha, slope)| alpha * slope).collect();
    let (seed, number) = random;
    let drawn = order(alpha.len(), &mut Stream::ErasureOrders.random(seed, number));
    let by = [falling(alpha), falling(gradient.as_deref()?), falling(leave_one_out.as_deref()?)];
    let [attention, gradient, without] = by;
    let orders = [attention, gradient, without, falling(slopes), falling(&product), drawn];
    truth.contains(&true).then(|| orders.map(|order| of_order(&order, truth)))
}

/// The means of what was found about texts; none without any.
pub fn mean_of(texts: &[[FoundTruth; 6]]) -> Option<[FoundTruth; 6]> {
    let count = texts.len() as f64;
    let of = |ranking: usize| {
        let sum = |part: fn(&FoundTruth) -> f64| texts.iter().map(|text| part(&text[ranking])).sum::<f64>();
        FoundTruth {
            top1: sum(|found| found.top1) / count,
            average_precision: sum(|found| found.average_precision) / count,
        }
    };
    (!texts.is_empty()).then(|| [0, 1, 2, 3, 4, 5].map(of))
}

/// Words in their order, best first, against those that decide.
fn of_order(order: &[usize], truth: &[bool]) -> FoundTruth {
    let (mut hits, mut precisions) = (0.0, 0.0);
    for (rank, &word) in order.iter().enumerate() {
        if truth[word] {
            hits += 1.0;
            precisions += hits / (rank + 1) as f64;
        }
    }
    let top1 = f64::from(order.first().is_some_and(|&word| truth[word]));
    FoundTruth { top1, average_precision: precisions / hits }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exegete_testkit::{Of, close};

    #[test]
    fn rankings_are_held_against_the_truth_by_hand() {
        let record = TextRecord {
            alpha: vec![0.1, 0.6, 0.3],
            gradient: Some(vec![3.0, 2.0, 1.0]),
            leave_one_out: Some(vec![0.2, 0.2, 0.9]),
            weight_gradient: Some(vec![1.0, -1.0, 0.5]),
            ..TextRecord::default()
        };
        let truth = [true, false, true];
        let texts = found(&record, &truth, (0, 0)).unwrap();
        let found = mean_of(&[texts, texts]).unwrap();
        let top: Vec<f64> = found[..5].iter().map(|found| found.top1).collect();
        close("top word", &top, &[0.0, 1.0, 1.0, 1.0, 1.0], Of::Size(1.0), 1e-12);
        // Words 1 2 0; 0 1 2; 2 0 1; 0 2 1; 2 0 1 (.15 before .1).
        let precision: Vec<f64> = found[..5].iter().map(|found| found.average_precision).collect();
        let expected = [0.5 * (0.5 + 2.0 / 3.0), 0.5 * (1.0 + 2.0 / 3.0), 1.0, 1.0, 1.0];
        close("average precision", &precision, &expected, Of::Size(1.0), 1e-12);
        assert_eq!(super::found(&record, &[false; 3], (0, 0)), None);
        assert_eq!(mean_of(&[]), None);
    }
}
