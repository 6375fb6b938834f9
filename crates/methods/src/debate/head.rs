//! What a model answers when other weights stand in the place of a text's own: by arithmetic where its logits are linear in
//! the weights, else by running it from the last cut before them.

use super::distance::softmax;
use super::place::{Parts, Place};
use super::spread::{Imposed, WordSpread};
use exegete_core::{Array, Driver, Encoded, Model, Pass, Plan, Readout, Result, Row, Rules, Seed};
use std::sync::Arc;

/// ∂L/∂p of probabilities p, written into the second list; false where it is zero.
pub type Push<'a> = &'a (dyn Fn(&[f64], &mut [f64]) -> bool + Sync);

/// A text whose attention weights can be replaced.
pub trait Reweighed {
    /// Its probabilities under each of these weights.
    fn outputs(&self, imposed: &[Imposed]) -> Result<Vec<Vec<f64>>>;

    /// For weights α′ side by side in one list: their probabilities side by side into `outputs`, and ∂L/∂α′ into `slopes`.
    fn pull(&self, alphas: &[f64], outputs: &mut [f64], slopes: &mut [f64], push: Push<'_>) -> Result<()>;
}

/// A text whose logits are linear in its weights: z = b + Σ αᵢ sᵢ.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearHead {
    /// α, one a word.
    pub alpha: Vec<f64>,
    /// sᵢ = ∂z/∂αᵢ, of each word.
    pub slopes: Vec<Vec<f64>>,
    /// b, the logits of no weight at all.
    pub bias: Vec<f64>,
}

impl LinearHead {
    /// The logits under some weights.
    pub fn logits(&self, alpha: &[f64]) -> Vec<f64> {
        let mut logits = self.bias.clone();
        for (alpha, slopes) in alpha.iter().zip(&self.slopes) {
            logits.iter_mut().zip(slopes).for_each(|(z, slope)| *z += alpha * slope);
        }
        logits
    }
}

impl Reweighed for LinearHead {
    fn outputs(&self, imposed: &[Imposed]) -> Result<Vec<Vec<f64>>> {
        let words = (0..self.alpha.len()).map(|w| vec![w]).collect();
        let own = WordSpread { rows: vec![self.alpha.clone()], words };
        Ok(imposed.iter().map(|imposed| softmax(&self.logits(&own.with(imposed).concat()))).collect())
    }

    fn pull(&self, alphas: &[f64], outputs: &mut [f64], slopes: &mut [f64], push: Push<'_>) -> Result<()> {
        let (words, classes) = (self.alpha.len(), self.bias.len());
        let mut pushed = vec![0.0; classes];
        let each = alphas.chunks(words).zip(outputs.chunks_mut(classes)).zip(slopes.chunks_mut(words));
        for ((alpha, p), slopes) in each {
            probabilities(self, alpha, p);
            if push(p, &mut pushed) {
                through_softmax(p, &mut pushed);
                for (slope, own) in slopes.iter_mut().zip(&self.slopes) {
                    *slope += own.iter().zip(&pushed).map(|(s, g)| s * g).sum::<f64>();
                }
            }
        }
        Ok(())
    }
}

/// The probabilities under some weights, without a list of their own.
fn probabilities(head: &LinearHead, alpha: &[f64], p: &mut [f64]) {
    p.copy_from_slice(&head.bias);
    for (alpha, slopes) in alpha.iter().zip(&head.slopes) {
        p.iter_mut().zip(slopes).for_each(|(z, slope)| *z += alpha * slope);
    }
    let top = p.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    p.iter_mut().for_each(|z| *z = (*z - top).exp());
    let sum: f64 = p.iter().sum();
    p.iter_mut().for_each(|share| *share /= sum);
}

/// ∂L/∂z from ∂L/∂p, in place.
fn through_softmax(p: &[f64], slopes: &mut [f64]) {
    let mean: f64 = p.iter().zip(slopes.iter()).map(|(p, g)| p * g).sum();
    slopes.iter_mut().zip(p).for_each(|(g, p)| *g = p * (*g - mean));
}

/// A text that is run with its weights edited.
pub struct RunHead<'a> {
    /// The model that runs.
    pub model: &'a dyn Model,
    /// Runs the rows and counts them.
    pub driver: &'a Driver,
    /// Where its weights are.
    pub place: &'a Place,
    /// The text as the model's tokens.
    pub encoded: Arc<Encoded>,
    /// What the weights are given to.
    pub parts: &'a Parts,
    /// The rows as the model has them.
    pub spread: &'a WordSpread,
}

impl RunHead<'_> {
    fn row(&self, imposed: &Imposed) -> Row {
        let rows = self.spread.with(imposed);
        Row::new(self.encoded.clone()).edit(self.place.edit(&rows, &self.encoded))
    }
}

impl Reweighed for RunHead<'_> {
    fn outputs(&self, imposed: &[Imposed]) -> Result<Vec<Vec<f64>>> {
        let rows: Vec<Row> = imposed.iter().map(|imposed| self.row(imposed)).collect();
        let found = self.driver.read_all(self.model, &rows, &Pushing { place: self.place, push: None })?;
        Ok(found.into_iter().map(|pushed| pushed.probabilities).collect())
    }

    fn pull(&self, alphas: &[f64], outputs: &mut [f64], slopes: &mut [f64], push: Push<'_>) -> Result<()> {
        let words = self.parts.names.len();
        let rows = alphas.chunks(words).map(|alpha| self.row(&Imposed::Replaced(alpha.to_vec())));
        let rows: Vec<Row> = rows.collect();
        let found =
            self.driver.read_all(self.model, &rows, &Pushing { place: self.place, push: Some(push) })?;
        let classes = outputs.len() / rows.len().max(1);
        let each = outputs.chunks_mut(classes).zip(slopes.chunks_mut(words));
        for (pushed, (p, slopes)) in found.into_iter().zip(each) {
            p.copy_from_slice(&pushed.probabilities);
            if let Some(array) = pushed.slopes {
                let rows = self.place.slopes_of_rows(&array, &self.encoded, self.parts);
                slopes.iter_mut().zip(self.spread.pulled(&rows)).for_each(|(slope, own)| *slope += own);
            }
        }
        Ok(())
    }
}

/// Reads probabilities and, where something pushes them, what that comes to at the weights. Nothing of it is remembered:
/// the same weights are hardly ever asked for again.
struct Pushing<'a> {
    place: &'a Place,
    push: Option<Push<'a>>,
}

#[derive(Clone)]
struct Pushed {
    probabilities: Vec<f64>,
    slopes: Option<Array>,
}

impl Readout for Pushing<'_> {
    type Value = Pushed;

    fn plan(&self) -> Plan {
        if self.push.is_some() { Plan::gradient([self.place.site]) } else { Plan::default() }
    }

    fn read(&self, rows: &[Row], pass: &dyn Pass) -> Result<Vec<Pushed>> {
        let (mut found, mut seeds) = (Vec::with_capacity(rows.len()), Vec::new());
        for (row, logits) in pass.logits().iter().enumerate() {
            let p = softmax(&logits.data);
            let mut slopes = vec![0.0; p.len()];
            if self.push.is_some_and(|push| push(&p, &mut slopes)) {
                through_softmax(&p, &mut slopes);
                let data = slopes.iter().map(|&slope| slope as f32).collect();
                seeds.push(Seed {
                    row,
                    site: pass.outputs(),
                    cotangent: Array::new(logits.shape.clone(), data)?,
                });
            }
            found.push(Pushed { probabilities: p, slopes: None });
        }
        if !seeds.is_empty() {
            let by_row = pass.backward(&seeds, &[self.place.site], Rules::Gradient)?.swap_remove(0);
            seeds.iter().for_each(|seed| found[seed.row].slopes = Some(by_row[seed.row].clone()));
        }
        Ok(found)
    }
}
