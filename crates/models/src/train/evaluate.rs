use super::Sample;
use exegete_core::{Driver, Error, Label, Logits, Model, Outputs, Quantity, Result, Row, Target};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How well a model does on labelled rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Rows it was measured on.
    pub rows: usize,
    /// The mean loss.
    pub loss: f64,
    /// The share of rows answered rightly, with several labels the share of rows where all are right; none for numbers.
    pub accuracy: Option<f64>,
    /// The unweighted mean over classes of F1, a class that is neither there nor predicted counting as 0; none for numbers.
    pub macro_f1: Option<f64>,
    /// Pearson's correlation; for numbers only.
    pub pearson: Option<f64>,
}

/// What decides which epoch's model is the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// The highest accuracy.
    Accuracy,
    /// The highest macro-F1.
    MacroF1,
    /// The lowest loss.
    Loss,
}

impl Metric {
    /// The figure, the larger the better.
    pub(super) fn read(self, metrics: &Metrics) -> f64 {
        let figure = match self {
            Self::Accuracy => metrics.accuracy,
            Self::MacroF1 => metrics.macro_f1,
            Self::Loss => None,
        };
        figure.unwrap_or(-metrics.loss)
    }
}

/// Runs a model over labelled rows.
pub fn evaluate(model: &dyn Model, samples: &[Sample], memory_bytes: usize) -> Result<Metrics> {
    measure(model, samples, memory_bytes, &Arc::default())
}

/// The same, until it is told to stop.
pub(super) fn measure(
    model: &dyn Model,
    samples: &[Sample],
    memory_bytes: usize,
    stop: &Arc<AtomicBool>,
) -> Result<Metrics> {
    let rows: Vec<Row> = samples.iter().map(|sample| sample.row.clone()).collect();
    let mut driver = Driver::new(memory_bytes);
    driver.stop = stop.clone();
    let logits = driver.read_all(model, &rows, &Outputs)?;
    let mut loss = 0.0;
    for (sample, logits) in samples.iter().zip(&logits) {
        let target = Target { quantity: Quantity::Loss(Some(sample.label.clone())), scale: None };
        loss -= target.value_of(model.card(), logits)?;
    }
    let classes = model.card().labels.len();
    let mut tally = Tally { hits: vec![[0; 3]; classes], right: 0, pairs: Vec::new() };
    for (sample, logits) in samples.iter().zip(&logits) {
        tally.add(&sample.label, logits)?;
    }
    let numbers = !tally.pairs.is_empty();
    let count = samples.len().max(1) as f64;
    Ok(Metrics {
        rows: samples.len(),
        loss: loss / count,
        accuracy: (!numbers).then(|| tally.right as f64 / count),
        macro_f1: (!numbers).then(|| tally.macro_f1()),
        pearson: numbers.then(|| pearson(&tally.pairs)),
    })
}

/// Running counts of right and wrong answers by class.
struct Tally {
    /// For each class: true positives, false positives, false negatives.
    hits: Vec<[usize; 3]>,
    right: usize,
    /// Right and predicted numbers.
    pairs: Vec<(f64, f64)>,
}

impl Tally {
    fn add(&mut self, label: &Label, logits: &Logits) -> Result<()> {
        let best = |values: &mut dyn Iterator<Item = f64>| {
            values.enumerate().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))).map_or(0, |(i, _)| i)
        };
        let predicted = best(&mut logits.data.iter().copied());
        let (gold, said): (Vec<usize>, Vec<usize>) = match label {
            Label::Class(class) => (vec![*class], vec![predicted]),
            Label::Soft(shares) => (vec![best(&mut shares.iter().map(|&s| s.into()))], vec![predicted]),
            Label::Labels(shares) => {
                let on = |values: &mut dyn Iterator<Item = bool>| -> Vec<usize> {
                    values.enumerate().filter_map(|(i, on)| on.then_some(i)).collect()
                };
                (on(&mut shares.iter().map(|&s| s > 0.5)), on(&mut logits.data.iter().map(|&z| z > 0.0)))
            }
            Label::Value(value) => {
                let said = logits.data.first().copied().unwrap_or_default();
                self.pairs.push(((*value).into(), said));
                return Ok(());
            }
            Label::Tokens(_) | Label::Span(..) => {
                return Err(Error::Unsupported("only labels of whole texts are evaluated".into()));
            }
        };
        self.right += usize::from(gold == said);
        for (class, hits) in self.hits.iter_mut().enumerate() {
            match (gold.contains(&class), said.contains(&class)) {
                (true, true) => hits[0] += 1,
                (false, true) => hits[1] += 1,
                (true, false) => hits[2] += 1,
                (false, false) => {}
            }
        }
        match gold.iter().find(|&&class| class >= self.hits.len()) {
            Some(class) => Err(Error::Request(format!("class {class} of a model with {}", self.hits.len()))),
            None => Ok(()),
        }
    }

    fn macro_f1(&self) -> f64 {
        let f1 = |&[hit, over, missed]: &[usize; 3]| match 2 * hit + over + missed {
            0 => 0.0,
            total => 2.0 * hit as f64 / total as f64,
        };
        self.hits.iter().map(f1).sum::<f64>() / self.hits.len().max(1) as f64
    }
}

fn pearson(pairs: &[(f64, f64)]) -> f64 {
    let n = pairs.len() as f64;
    let (mean_x, mean_y) = pairs.iter().fold((0.0, 0.0), |(x, y), pair| (x + pair.0 / n, y + pair.1 / n));
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in pairs {
        let (x, y) = (x - mean_x, y - mean_y);
        (xy, xx, yy) = (xy + x * y, xx + x * x, yy + y * y);
    }
    // Constant numbers correlate with nothing.
    if xx * yy > 0.0 { xy / (xx * yy).sqrt() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logits(data: &[f64]) -> Logits {
        Logits::new(vec![data.len()], data.to_vec())
    }

    /// Worked out by hand: class 0 has F1 2/3, class 1 has 4/5, class 2 is never seen.
    #[test]
    fn f1_by_hand() {
        let mut tally = Tally { hits: vec![[0; 3]; 3], right: 0, pairs: Vec::new() };
        for (gold, said) in [(0, 0), (0, 1), (1, 1), (1, 1)] {
            let z: Vec<f64> = (0..3).map(|class| f64::from(u8::from(class == said))).collect();
            tally.add(&Label::Class(gold), &logits(&z)).unwrap();
        }
        assert_eq!(tally.right, 3);
        assert!((tally.macro_f1() - (2.0 / 3.0 + 0.8) / 3.0).abs() < 1e-12);
        assert!(tally.add(&Label::Class(3), &logits(&[0.0; 3])).is_err());
    }

    #[test]
    fn correlation_by_hand() {
        assert!((pearson(&[(1.0, 2.0), (2.0, 4.0), (3.0, 6.0)]) - 1.0).abs() < 1e-12);
        assert!((pearson(&[(1.0, 1.0), (2.0, -1.0)]) + 1.0).abs() < 1e-12);
        assert_eq!(pearson(&[(1.0, 1.0), (1.0, -1.0)]), 0.0);
    }
}
