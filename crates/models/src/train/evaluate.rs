use super::{Epoch, Sample, places};
use exegete_core::{Driver, Error, Label, Logits, Model, Outputs, Quantity, Result, Row, Target};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How well a model does on labelled rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Rows it was measured on.
    pub rows: usize,
    /// The mean loss over rows, in nats for classes; of a model that writes over all places, beside its target.
    pub loss: f64,
    /// The share of rows answered rightly, with several labels the share of rows where all are right; of a model that writes,
    /// the share of places at which it writes by itself what it should, ends included; none for numbers.
    pub accuracy: Option<f64>,
    /// The unweighted mean over classes of F1, a class that is neither there nor predicted counting as 0; none for numbers.
    pub macro_f1: Option<f64>,
    /// F1 of the positive class; none for numbers.
    #[serde(default)]
    pub f1: Option<f64>,
    /// The chance that a row of the positive class scores above one of the others, ties counting ½; none where either is missing.
    #[serde(default)]
    pub auc: Option<f64>,
    /// Pearson's correlation; for numbers only.
    pub pearson: Option<f64>,
    /// The mean of what training makes small, where the best epoch is chosen by that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<f64>,
}

/// What decides which epoch's model is the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// The epoch of the highest accuracy is best.
    Accuracy,
    /// The epoch of the highest macro-F1 is best.
    MacroF1,
    /// The epoch of the lowest loss is best.
    Loss,
    /// The highest F1 of the positive class.
    F1,
    /// The highest area under the curve of the positive class.
    Auc,
    /// The lowest mean, over the rows held out, of what training makes small, whatever that is.
    Goal,
    /// The lowest mean of that over the epoch's own steps: no rows need to be held out.
    TrainLoss,
}

impl Metric {
    /// The figure of an epoch, the larger the better; none where nothing was measured that it could be read from.
    pub fn read(self, epoch: &Epoch) -> Option<f64> {
        if self == Self::TrainLoss {
            return Some(-epoch.train_loss);
        }
        let dev = epoch.dev.as_ref()?;
        let figure = match self {
            Self::Accuracy => dev.accuracy,
            Self::MacroF1 => dev.macro_f1,
            Self::F1 => dev.f1,
            Self::Auc => dev.auc,
            Self::Goal => dev.goal.map(|goal| -goal),
            Self::Loss | Self::TrainLoss => None,
        };
        Some(figure.unwrap_or(-dev.loss))
    }

    /// Whether it is read from rows that are held out.
    pub(super) fn needs_dev(self) -> bool {
        self != Self::TrainLoss
    }
}

/// Runs a model over labelled rows; F1 and AUC are those of the last class.
pub fn evaluate(model: &dyn Model, samples: &[Sample], memory_bytes: usize) -> Result<Metrics> {
    measure(model, samples, None, memory_bytes, &Arc::default())
}

/// The same, until it is told to stop.
pub(super) fn measure(
    model: &dyn Model,
    samples: &[Sample],
    positive: Option<usize>,
    memory_bytes: usize,
    stop: &Arc<AtomicBool>,
) -> Result<Metrics> {
    let rows: Vec<Row> = samples.iter().map(|sample| sample.row.clone()).collect();
    let written = model.open().map_or(Ok(None), |open| open.writes(&rows))?;
    // Before anything runs: the outputs of all tokens are large.
    if written.is_none() {
        samples.iter().try_for_each(|sample| of_whole_text(&sample.label))?;
    }
    let mut driver = Driver::new(memory_bytes);
    driver.stop = stop.clone();
    let classes = model.card().labels.len();
    let mut tally = Tally::new(classes, positive.unwrap_or(classes.saturating_sub(1)));
    let (mut loss, mut next) = (0.0, samples.iter());
    // Outputs are counted as they come, and not kept.
    let rows = samples.iter().map(|sample| Ok(sample.row.clone()));
    driver.read(model, rows, &Outputs, &mut |logits| {
        let Some(Sample { label, .. }) = next.next() else { return Ok(()) };
        let target = Target { quantity: Quantity::Loss(Some(label.clone())), scale: None };
        loss -= target.value_of(model.card(), &logits)? * places(label) as f64;
        if written.is_some() { Ok(()) } else { tally.add(label, &logits) }
    })?;
    if let Some(written) = written {
        let all = samples.iter().map(|sample| places(&sample.label)).sum::<usize>().max(1);
        return Ok(Metrics {
            rows: samples.len(),
            loss: loss / all as f64,
            accuracy: Some(share_written(samples, &written)),
            macro_f1: None,
            f1: None,
            auc: None,
            pearson: None,
            goal: None,
        });
    }
    let numbers = !tally.pairs.is_empty();
    let count = samples.len().max(1) as f64;
    Ok(Metrics {
        rows: samples.len(),
        loss: loss / count,
        accuracy: (!numbers).then(|| tally.right as f64 / count),
        macro_f1: (!numbers).then(|| tally.macro_f1()),
        f1: (!numbers).then(|| tally.hits.get(tally.positive).map_or(0.0, f1)),
        auc: auc(&tally.scores),
        pearson: numbers.then(|| pearson(&tally.pairs)),
        goal: None,
    })
}

/// The share of places, over all rows, at which a model that writes by itself writes what it should.
fn share_written(samples: &[Sample], written: &[Vec<usize>]) -> f64 {
    let (mut right, mut all) = (0, 0);
    for (sample, written) in samples.iter().zip(written) {
        let Label::Tokens(words) = &sample.label else { continue };
        all += words.len();
        right += words.iter().zip(written).filter(|(word, written)| **word == Some(**written)).count();
    }
    right as f64 / all.max(1) as f64
}

/// An error for labels that are about more than the text as a whole.
fn of_whole_text(label: &Label) -> Result<()> {
    match label {
        Label::Tokens(_) | Label::Span(..) => {
            Err(Error::Unsupported("only labels of whole texts are evaluated".into()))
        }
        Label::Class(_) | Label::Soft(_) | Label::Labels(_) | Label::Value(_) => Ok(()),
    }
}

/// Running counts of right and wrong answers by class.
struct Tally {
    /// For each class: true positives, false positives, false negatives.
    hits: Vec<[usize; 3]>,
    right: usize,
    /// Right and predicted numbers.
    pairs: Vec<(f64, f64)>,
    /// The class of F1 and AUC.
    positive: usize,
    /// How much speaks for that class in each row, and whether it is right.
    scores: Vec<(f64, bool)>,
}

impl Tally {
    fn new(classes: usize, positive: usize) -> Self {
        let (hits, pairs, scores) = (vec![[0; 3]; classes], Vec::new(), Vec::new());
        Self { hits, right: 0, pairs, positive, scores }
    }

    fn add(&mut self, label: &Label, logits: &Logits) -> Result<()> {
        let gold = right_classes(label);
        let said = match label {
            Label::Class(_) | Label::Soft(_) => vec![largest(logits.data.iter().copied())],
            Label::Labels(_) => above(logits.data.iter().copied(), 0.0),
            Label::Value(value) => {
                let said = logits.data.first().copied().unwrap_or_default();
                self.pairs.push(((*value).into(), said));
                return Ok(());
            }
            Label::Tokens(_) | Label::Span(..) => return of_whole_text(label),
        };
        let several = matches!(label, Label::Labels(_));
        self.scores.push((odds(&logits.data, self.positive, several), gold.contains(&self.positive)));
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
        self.hits.iter().map(f1).sum::<f64>() / self.hits.len().max(1) as f64
    }
}

/// The classes that a label of a whole text names: one, or with several labels any number; none for numbers.
pub(super) fn right_classes(label: &Label) -> Vec<usize> {
    match label {
        Label::Class(class) => vec![*class],
        Label::Soft(shares) => vec![largest(shares.iter().map(|&share| share.into()))],
        Label::Labels(shares) => above(shares.iter().map(|&share| share.into()), 0.5),
        Label::Value(_) | Label::Tokens(_) | Label::Span(..) => Vec::new(),
    }
}

/// The index of the largest value, the lowest of several.
fn largest(values: impl Iterator<Item = f64>) -> usize {
    values.enumerate().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))).map_or(0, |(i, _)| i)
}

fn above(values: impl Iterator<Item = f64>, least: f64) -> Vec<usize> {
    values.enumerate().filter_map(|(i, value)| (value > least).then_some(i)).collect()
}

/// F1 from true positives, false positives and false negatives.
fn f1(&[hit, over, missed]: &[usize; 3]) -> f64 {
    match 2 * hit + over + missed {
        0 => 0.0,
        total => 2.0 * hit as f64 / total as f64,
    }
}

/// ln p/(1−p) of a class, which orders rows as p does and does not run into 1.
fn odds(logits: &[f64], class: usize, several: bool) -> f64 {
    let own = logits.get(class).copied().unwrap_or_default();
    if several {
        return own;
    }
    let others = || logits.iter().enumerate().filter(|(i, _)| *i != class).map(|(_, &z)| z);
    let most = others().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        // Every other class is ruled out; the difference of two infinities would be no number.
        return f64::INFINITY;
    }
    own - most - others().map(|z| (z - most).exp()).sum::<f64>().ln()
}

/// The share of pairs, one right and one not, in which the right one scores higher, ties counting ½ (Mann and Whitney 1947).
fn auc(scores: &[(f64, bool)]) -> Option<f64> {
    let positives = scores.iter().filter(|(_, right)| *right).count();
    let pairs = positives as f64 * (scores.len() - positives) as f64;
    let mut sorted = scores.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut below, mut won) = (0.0, 0.0);
    for tied in sorted.chunk_by(|a, b| a.0 == b.0) {
        let right = tied.iter().filter(|(_, right)| *right).count() as f64;
        let wrong = tied.len() as f64 - right;
        won += right * (below + 0.5 * wrong);
        below += wrong;
    }
    (pairs > 0.0).then(|| won / pairs)
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
        let mut tally = Tally::new(3, 2);
        for (gold, said) in [(0, 0), (0, 1), (1, 1), (1, 1)] {
            let z: Vec<f64> = (0..3).map(|class| f64::from(u8::from(class == said))).collect();
            tally.add(&Label::Class(gold), &logits(&z)).unwrap();
        }
        assert_eq!(tally.right, 3);
        assert!((tally.macro_f1() - (2.0 / 3.0 + 0.8) / 3.0).abs() < 1e-12);
        assert!(tally.add(&Label::Class(3), &logits(&[0.0; 3])).is_err());
    }

    /// Two classes with p₁ .1, .4, .8 for three of the first and .4, .9 for two of the second.
    #[test]
    fn auc_counts_ties_half_and_f1_is_of_the_positive_class() {
        let mut tally = Tally::new(2, 1);
        for (gold, p) in [(0, 0.1_f64), (0, 0.4), (0, 0.8), (1, 0.4), (1, 0.9)] {
            tally.add(&Label::Class(gold), &logits(&[(1.0 - p).ln(), p.ln()])).unwrap();
        }
        // Of six pairs four are won and one is tied; ties that count nothing would give .666667.
        assert!((auc(&tally.scores).unwrap() - 0.75).abs() < 1e-7);
        let untied: Vec<(f64, bool)> =
            tally.scores.iter().map(|&(z, right)| (z - 1e-9 * f64::from(u8::from(right)), right)).collect();
        assert!((auc(&untied).unwrap() - 4.0 / 6.0).abs() < 1e-7, "the planted fault does not show");
        assert!((f1(&tally.hits[1]) - 0.5).abs() < 1e-7);
        assert_eq!(auc(&tally.scores[..3]), None);
        // One against the rest; and a class that alone is possible is certain.
        assert_eq!(odds(&[f64::NEG_INFINITY, 1.0], 1, false), f64::INFINITY);
        let z = [1.0, 2.0, 3.0];
        let p = 2.0_f64.exp() / z.iter().map(|z: &f64| z.exp()).sum::<f64>();
        assert!((odds(&z, 1, false) - (p / (1.0 - p)).ln()).abs() < 1e-12);
    }

    #[test]
    fn correlation_by_hand() {
        assert!((pearson(&[(1.0, 2.0), (2.0, 4.0), (3.0, 6.0)]) - 1.0).abs() < 1e-12);
        assert!((pearson(&[(1.0, 1.0), (2.0, -1.0)]) + 1.0).abs() < 1e-12);
        assert_eq!(pearson(&[(1.0, 1.0), (1.0, -1.0)]), 0.0);
    }
}
