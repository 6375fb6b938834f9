use super::{Choice, Quantity, Scale, Target};
use crate::{Array, Card, Error, Label, Logits, Pass, Result, Seed};

impl Target {
    /// F for one row of a pass. The target must be resolved.
    pub fn value(&self, card: &Card, pass: &dyn Pass, row: usize) -> Result<f64> {
        let logits = logits_of(pass, row)?;
        match &self.quantity {
            Quantity::Neuron(site, at) if *site == pass.outputs() => {
                self.selected(&logits.shape, at)?.iter().map(|&i| Ok(logits.data[i])).sum()
            }
            Quantity::Neuron(site, at) => {
                let value = pass.value(*site, row)?;
                Ok(self.selected(&value.shape, at)?.iter().map(|&i| f64::from(value.data[i])).sum())
            }
            _ => self.value_of(card, logits),
        }
    }

    /// The cotangents ∂F/∂logits, or ∂F/∂value at the unit's site, for one row of a pass.
    pub fn seeds(&self, card: &Card, pass: &dyn Pass, row: usize) -> Result<Vec<Seed>> {
        let logits = logits_of(pass, row)?;
        let (site, cotangent) = match &self.quantity {
            Quantity::Neuron(site, at) => {
                let inside = *site != pass.outputs();
                let shape = if inside { pass.value(*site, row)?.shape } else { logits.shape.clone() };
                let mut cotangent = Array::zeros(shape);
                for i in self.selected(&cotangent.shape, at)? {
                    cotangent.data[i] = 1.0;
                }
                (*site, cotangent)
            }
            _ => {
                let slopes = self.slopes(card, logits)?.iter().map(|&slope| slope as f32).collect();
                (pass.outputs(), Array::new(logits.shape.clone(), slopes)?)
            }
        };
        Ok(vec![Seed { row, site, cotangent }])
    }

    /// Multipliers m with F(x) − F(x′) = m·(z − z′), for the logits z of one row of a pass and z′ of another: what rules
    /// that compare two runs start from. Where F is no sum of logits, the logarithmic mean of the two takes the slope's
    /// place. A seed for the first row.
    pub fn seeds_between(
        &self,
        card: &Card,
        pass: &dyn Pass,
        row: usize,
        baseline: usize,
    ) -> Result<Vec<Seed>> {
        if matches!(self.quantity, Quantity::Neuron(..)) {
            return self.seeds(card, pass, row);
        }
        let (logits, other) = (logits_of(pass, row)?, logits_of(pass, baseline)?);
        let slopes = self.slopes_between(card, logits, other)?;
        let cotangent = Array::new(logits.shape.clone(), slopes.iter().map(|&m| m as f32).collect())?;
        Ok(vec![Seed { row, site: pass.outputs(), cotangent }])
    }

    fn slopes_between(&self, card: &Card, logits: &Logits, other: &Logits) -> Result<Vec<f64>> {
        let (z, y) = (&logits.data, &other.data);
        let mut slopes = vec![0.0; z.len()];
        if let Quantity::Loss(Some(Label::Value(right))) = self.quantity {
            slopes[0] = f64::from(right) - 0.5 * (first(z)? + first(y)?);
            return Ok(slopes);
        }
        let product =
            || Ok::<_, Error>(logarithmic_mean(self.value_of(card, logits)?, self.value_of(card, other)?));
        for term in self.terms(card, logits)? {
            let factor = match self.measure() {
                Measure::Logit => {
                    slopes[term.index] += term.weight;
                    continue;
                }
                Measure::LogProb => 1.0,
                Measure::Prob => logarithmic_mean(term.log_prob(z).exp(), term.log_prob(y).exp()),
                Measure::Product => product()?,
            };
            term.add_slope_between(z, y, term.weight * factor, &mut slopes);
        }
        Ok(slopes)
    }

    /// F from the logits alone; every target but a unit.
    pub fn value_of(&self, card: &Card, logits: &Logits) -> Result<f64> {
        let z = &logits.data;
        if let Quantity::Loss(Some(Label::Value(right))) = self.quantity {
            return first(z).map(|value| -0.5 * (value - f64::from(right)).powi(2));
        }
        let terms = self.terms(card, logits)?;
        let log_probs = || terms.iter().map(|term| term.weight * term.log_prob(z));
        Ok(match self.measure() {
            Measure::Logit => terms.iter().map(|term| term.weight * z[term.index]).sum(),
            Measure::LogProb => log_probs().sum(),
            Measure::Prob => terms.iter().map(|term| term.weight * term.log_prob(z).exp()).sum(),
            Measure::Product => log_probs().sum::<f64>().exp(),
        })
    }

    /// ∂F/∂logits in full precision; every target but a unit.
    fn slopes(&self, card: &Card, logits: &Logits) -> Result<Vec<f64>> {
        let z = &logits.data;
        let mut slopes = vec![0.0; z.len()];
        if let Quantity::Loss(Some(Label::Value(right))) = self.quantity {
            slopes[0] = f64::from(right) - first(z)?;
            return Ok(slopes);
        }
        let product = match self.measure() {
            Measure::Product => self.value_of(card, logits)?,
            _ => 0.0,
        };
        for term in self.terms(card, logits)? {
            match self.measure() {
                Measure::Logit => slopes[term.index] += term.weight,
                Measure::LogProb => term.add_slope(z, term.weight, &mut slopes),
                Measure::Prob => term.add_slope(z, term.weight * term.log_prob(z).exp(), &mut slopes),
                Measure::Product => term.add_slope(z, term.weight * product, &mut slopes),
            }
        }
        Ok(slopes)
    }

    fn measure(&self) -> Measure {
        match (self.scale.unwrap_or(Scale::Logit), &self.quantity) {
            (_, Quantity::Loss(_)) | (Scale::LogProb, _) => Measure::LogProb,
            (Scale::Logit, _) => Measure::Logit,
            (Scale::Prob, Quantity::Answer(_)) => Measure::Product,
            (Scale::Prob, _) => Measure::Prob,
        }
    }

    /// The outputs that F is made of, each with its weight and what it is normalised over.
    pub(super) fn terms(&self, card: &Card, logits: &Logits) -> Result<Vec<Term>> {
        let terms = card.task.terms(card, self, logits)?;
        if !matches!(self.measure(), Measure::Logit) && !card.task.gives_probabilities() {
            return Err(Error::Request(format!(
                "target '{self}': this model gives numbers, not probabilities"
            )));
        }
        match terms.iter().find(|term| term.index >= logits.data.len()) {
            Some(_) => Err(Error::Request(format!(
                "target '{self}': outside the output of shape {:?}",
                logits.shape
            ))),
            None => Ok(terms),
        }
    }

    /// The index of a choice of this target, once resolved.
    pub fn index(&self, choice: &Choice) -> Result<usize> {
        choice.index.ok_or_else(|| self.unresolved())
    }

    /// That this target cannot be read yet.
    pub fn unresolved(&self) -> Error {
        Error::Request(format!("target '{self}' must be resolved against a prediction first"))
    }

    /// The flat indices that a unit target sums over.
    fn selected(&self, shape: &[usize], at: &[Option<usize>]) -> Result<Vec<usize>> {
        if at.len() != shape.len() {
            let axes = shape.len();
            return Err(Error::Request(format!(
                "target '{self}': the site has {axes} axes, {} are given",
                at.len()
            )));
        }
        let mut flat = vec![0];
        for (&len, &index) in shape.iter().zip(at) {
            let picked = match index {
                Some(index) if index >= len => {
                    return Err(Error::Request(format!(
                        "target '{self}': {index} is outside an axis of {len}"
                    )));
                }
                Some(index) => index..index + 1,
                None => 0..len,
            };
            flat = flat.iter().flat_map(|base| picked.clone().map(move |i| base * len + i)).collect();
        }
        Ok(flat)
    }
}

enum Measure {
    Logit,
    LogProb,
    Prob,
    /// The probability of two independent choices together.
    Product,
}

/// What turns a logit into a probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Norm {
    /// A softmax over these logits.
    Over {
        /// The first of them.
        first: usize,
        /// How many places lie from each of them to the next.
        stride: usize,
        /// How many logits compete.
        count: usize,
    },
    /// A sigmoid: the label applies.
    On,
    /// One minus a sigmoid: the label does not apply.
    Off,
}

/// One output that F is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term {
    index: usize,
    weight: f64,
    norm: Norm,
}

impl Term {
    /// The output with this flat index, times a weight.
    pub fn new(index: usize, weight: f64, norm: Norm) -> Self {
        Self { index, weight, norm }
    }

    /// One output of those at a token, \[T, C\], among which it competes.
    pub fn at(position: usize, index: usize, logits: &Logits) -> Self {
        let count = logits.shape.last().copied().unwrap_or(0);
        // A token without an output is refused where the terms are checked.
        let first = logits.at(position).map_or(logits.data.len(), |at| at.start);
        Self::new(first + index, 1.0, Norm::Over { first, stride: 1, count })
    }

    /// The same with its weight multiplied.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self { weight: self.weight * factor, ..self }
    }

    pub(super) fn index(&self) -> usize {
        self.index
    }

    pub(super) fn weight(&self) -> f64 {
        self.weight
    }

    pub(super) fn norm(&self) -> Norm {
        self.norm
    }

    pub(super) fn log_prob(&self, z: &[f64]) -> f64 {
        let own = z[self.index];
        match self.norm {
            Norm::Over { first, stride, count } => {
                own - log_sum_exp(z.iter().skip(first).step_by(stride).take(count))
            }
            Norm::On => log_sigmoid(own),
            Norm::Off => log_sigmoid(-own),
        }
    }

    /// Adds factor · ∂ log p/∂z.
    fn add_slope(&self, z: &[f64], factor: f64, slopes: &mut [f64]) {
        match self.norm {
            Norm::Over { first, stride, count } => {
                let total = log_sum_exp(z.iter().skip(first).step_by(stride).take(count));
                for i in (0..count).map(|i| first + i * stride) {
                    slopes[i] -= factor * (z[i] - total).exp();
                }
                slopes[self.index] += factor;
            }
            Norm::On => slopes[self.index] += factor * log_sigmoid(-z[self.index]).exp(),
            Norm::Off => slopes[self.index] -= factor * log_sigmoid(z[self.index]).exp(),
        }
    }
}

impl Term {
    /// Adds factor · m, where ln p − ln p′ = m·(z − z′). With L_i the logarithmic mean of the two p_i, Σ L_i (ln p_i −
    /// ln p′_i) = Σ (p_i − p′_i) = 0, so the normaliser moves by Σ L_i (z_i − z′_i) / Σ L_i.
    fn add_slope_between(&self, z: &[f64], y: &[f64], factor: f64, slopes: &mut [f64]) {
        let i = self.index;
        match self.norm {
            Norm::Over { first, stride, count } => {
                let at = || (0..count).map(|i| first + i * stride);
                let log_prob = |index: usize, of: &[f64]| Self { index, ..*self }.log_prob(of);
                let mean = |i: usize| logarithmic_mean(log_prob(i, z).exp(), log_prob(i, y).exp());
                let total: f64 = at().map(mean).sum();
                at().for_each(|i| slopes[i] -= factor * mean(i) / total);
                slopes[i] += factor;
            }
            Norm::On | Norm::Off => {
                let moved = z[i] - y[i];
                if moved.abs() < 1e-9 {
                    self.add_slope(z, factor, slopes);
                } else {
                    slopes[i] += factor * (self.log_prob(z) - self.log_prob(y)) / moved;
                }
            }
        }
    }
}

/// (a − b) / (ln a − ln b), which is a where they are equal.
fn logarithmic_mean(a: f64, b: f64) -> f64 {
    let ratio = (a / b).ln();
    if ratio.abs() < 1e-6 || !ratio.is_finite() { 0.5 * (a + b) } else { (a - b) / ratio }
}

fn logits_of(pass: &dyn Pass, row: usize) -> Result<&Logits> {
    let rows = pass.logits().len();
    pass.logits().get(row).ok_or_else(|| Error::Request(format!("row {row} of a pass over {rows}")))
}

fn first(z: &[f64]) -> Result<f64> {
    z.first().copied().ok_or_else(|| Error::Request("the model gave no output".into()))
}

pub(super) fn log_sum_exp<'a>(values: impl Iterator<Item = &'a f64> + Clone) -> f64 {
    let top = values.clone().fold(f64::NEG_INFINITY, |top, &value| top.max(value));
    top + values.map(|value| (value - top).exp()).sum::<f64>().ln()
}

fn log_sigmoid(z: f64) -> f64 {
    z.min(0.0) - (-z.abs()).exp().ln_1p()
}

#[cfg(test)]
mod tests;
