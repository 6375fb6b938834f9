//! Other weights that give the same answer: S. Jain and B. C. Wallace, *Attention is not explanation*, 2019.
//!
//! k distributions α⁽ⁱ⁾ = softmax(z⁽ⁱ⁾) are moved by Adam with AMSGrad to make, per text,
//! L = −Σ_i JSD(α⁽ⁱ⁾, α) − 1/(k(k−1)) Σ_{i<j} JSD(α⁽ⁱ⁾, α⁽ʲ⁾) + 500 Σ_i max(0, TVD(p⁽ⁱ⁾, p) − ε) small. Of all iterates, start
//! and end included, the one farthest from α among those with TVD ≤ ε is kept. The definition is that of the paper's text;
//! its code divides by k² and looks at the last iterate only.

use super::Adversary;
use super::distance::total_variation;
use super::head::Reweighed;
use exegete_core::{Result, normal};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// How the search is done; the default is the published one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search {
    /// k, how many distributions are moved together.
    pub count: usize,
    /// How often they are moved.
    pub steps: usize,
    /// The learning rate of Adam.
    pub rate: f64,
    /// ε, how far the answer may move.
    pub epsilon: f64,
    /// What a move beyond that costs.
    pub penalty: f64,
    /// The standard deviation of the first z.
    pub spread: f64,
}

impl Search {
    /// The published search; with a second text an answer may move farther.
    pub fn published(pair: bool) -> Self {
        let epsilon = if pair { 0.05 } else { 0.01 };
        Self { count: 5, steps: 500, rate: 0.01, epsilon, penalty: 500.0, spread: 3.0 }
    }
}

/// Looks for the weights farthest from α that keep the answer.
pub fn search(
    head: &dyn Reweighed,
    alpha: &[f64],
    own: &[f64],
    settings: &Search,
    random: &mut ChaCha8Rng,
) -> Result<Adversary> {
    let draw = |_| settings.spread * normal([1.0 - random.random::<f64>(), random.random()]);
    let start = (0..settings.count * alpha.len()).map(draw).collect();
    search_from(head, alpha, own, settings, start, &mut |_| {})
}

/// The same from known z, one list after another; `tell` hears L before every step and after the last.
pub fn search_from(
    head: &dyn Reweighed,
    alpha: &[f64],
    own: &[f64],
    settings: &Search,
    start: Vec<f64>,
    tell: &mut dyn FnMut(f64),
) -> Result<Adversary> {
    let mut moving = Moving::new(alpha, own, settings, start);
    let mut adam = Adam::new(moving.z.len(), settings.rate);
    for step in 0..=settings.steps {
        tell(moving.look(head)?);
        moving.keep();
        if step < settings.steps {
            moving.pull_to_scores();
            adam.step(&mut moving.z, &moving.slopes);
        }
    }
    Ok(moving.best)
}

/// Distributions on the way.
struct Moving<'a> {
    alpha: &'a [f64],
    /// ln α, with 0 where α is 0: it is multiplied by α.
    log_alpha: Vec<f64>,
    own: &'a [f64],
    settings: &'a Search,
    /// Scores, k lists of n.
    z: Vec<f64>,
    /// Their softmax and its logarithm, likewise.
    weights: Vec<f64>,
    logs: Vec<f64>,
    /// ∂L/∂weights, after [`Self::pull_to_scores`] ∂L/∂z.
    slopes: Vec<f64>,
    /// What the model says, k lists of C.
    outputs: Vec<f64>,
    /// JSD to α and TVD to the own answer, of each.
    distances: Vec<(f64, f64)>,
    best: Adversary,
}

impl<'a> Moving<'a> {
    fn new(alpha: &'a [f64], own: &'a [f64], settings: &'a Search, z: Vec<f64>) -> Self {
        let size = z.len();
        let count = size / alpha.len();
        Self {
            log_alpha: alpha.iter().map(|a| if *a > 0.0 { a.ln() } else { 0.0 }).collect(),
            outputs: vec![0.0; count * own.len()],
            distances: vec![(0.0, 0.0); count],
            weights: vec![0.0; size],
            logs: vec![0.0; size],
            slopes: vec![0.0; size],
            best: Adversary::default(),
            alpha,
            own,
            settings,
            z,
        }
    }

    /// Computes L and ∂L/∂weights where the search stands.
    fn look(&mut self, head: &dyn Reweighed) -> Result<f64> {
        let (n, count) = (self.alpha.len(), self.distances.len());
        for i in 0..count {
            let range = i * n..(i + 1) * n;
            log_softmax(&self.z[range.clone()], &mut self.weights[range.clone()], &mut self.logs[range]);
        }
        self.slopes.fill(0.0);
        let Search { epsilon, penalty, .. } = *self.settings;
        let own = self.own;
        let push = move |p: &[f64], slopes: &mut [f64]| {
            slopes.iter_mut().zip(p.iter().zip(own)).for_each(|(slope, (p, own))| {
                *slope = 0.5
                    * penalty
                    * if p > own {
                        1.0
                    } else if p < own {
                        -1.0
                    } else {
                        0.0
                    };
            });
            total_variation(p, own) > epsilon
        };
        head.pull(&self.weights, &mut self.outputs, &mut self.slopes, &push)?;
        Ok(self.away_from_alpha() + self.away_from_each_other())
    }

    /// The first and the last term of L.
    fn away_from_alpha(&mut self) -> f64 {
        let (n, classes) = (self.alpha.len(), self.own.len());
        let Search { epsilon, penalty, .. } = *self.settings;
        let mut loss = 0.0;
        for (i, distances) in self.distances.iter_mut().enumerate() {
            let mut divergence = 0.0;
            for t in 0..n {
                let (w, log_w) = (self.weights[i * n + t], self.logs[i * n + t]);
                let log_mean = (0.5 * (w + self.alpha[t])).ln();
                divergence += w * (log_w - log_mean) + self.alpha[t] * (self.log_alpha[t] - log_mean);
                // ∂JSD(q, r)/∂q = ½ ln(q / mean): the means' own shares cancel.
                self.slopes[i * n + t] -= 0.5 * (log_w - log_mean);
            }
            let moved = total_variation(&self.outputs[i * classes..(i + 1) * classes], self.own);
            *distances = ((0.5 * divergence).max(0.0), moved);
            loss += penalty * (moved - epsilon).max(0.0) - distances.0;
        }
        loss
    }

    /// The second term of L.
    fn away_from_each_other(&mut self) -> f64 {
        let (n, count) = (self.alpha.len(), self.distances.len());
        let factor = 1.0 / (count * (count.max(2) - 1)) as f64;
        let mut loss = 0.0;
        for i in 0..count {
            for j in 0..i {
                for t in 0..n {
                    let (a, b) = (i * n + t, j * n + t);
                    let log_mean = (0.5 * (self.weights[a] + self.weights[b])).ln();
                    let (up, down) = (self.logs[a] - log_mean, self.logs[b] - log_mean);
                    loss -= 0.5 * factor * (self.weights[a] * up + self.weights[b] * down);
                    self.slopes[a] -= 0.5 * factor * up;
                    self.slopes[b] -= 0.5 * factor * down;
                }
            }
        }
        loss
    }

    /// Keeps the farthest weights that are admissible.
    fn keep(&mut self) {
        let n = self.alpha.len();
        for (i, &(jsd, tvd)) in self.distances.iter().enumerate() {
            if tvd <= self.settings.epsilon && (self.best.alpha.is_none() || jsd > self.best.jsd) {
                let alpha = Some(self.weights[i * n..(i + 1) * n].to_vec());
                self.best = Adversary { jsd, tvd: Some(tvd), alpha };
            }
        }
    }

    /// ∂L/∂z = α ⊙ (∂L/∂α − Σ α ∂L/∂α), in place.
    fn pull_to_scores(&mut self) {
        let n = self.alpha.len();
        for (slopes, weights) in self.slopes.chunks_mut(n).zip(self.weights.chunks(n)) {
            let mean: f64 = slopes.iter().zip(weights).map(|(g, w)| g * w).sum();
            slopes.iter_mut().zip(weights).for_each(|(g, w)| *g = w * (*g - mean));
        }
    }
}

fn log_softmax(z: &[f64], weights: &mut [f64], logs: &mut [f64]) {
    let top = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    weights.iter_mut().zip(z).for_each(|(w, z)| *w = (z - top).exp());
    let sum: f64 = weights.iter().sum();
    let log_sum = top + sum.ln();
    weights.iter_mut().for_each(|w| *w /= sum);
    logs.iter_mut().zip(z).for_each(|(log, z)| *log = z - log_sum);
}

/// Adam with AMSGrad: S. J. Reddi and others, *On the convergence of Adam and beyond*, 2018, as PyTorch has it.
struct Adam {
    rate: f64,
    steps: i32,
    mean: Vec<f64>,
    square: Vec<f64>,
    largest: Vec<f64>,
}

impl Adam {
    fn new(size: usize, rate: f64) -> Self {
        Self { rate, steps: 0, mean: vec![0.0; size], square: vec![0.0; size], largest: vec![0.0; size] }
    }

    fn step(&mut self, values: &mut [f64], slopes: &[f64]) {
        self.steps += 1;
        let rate = self.rate / (1.0 - 0.9f64.powi(self.steps));
        let scale = 1.0 / (1.0 - 0.999f64.powi(self.steps)).sqrt();
        for (i, (value, slope)) in values.iter_mut().zip(slopes).enumerate() {
            self.mean[i] = 0.9 * self.mean[i] + 0.1 * slope;
            self.square[i] = 0.999 * self.square[i] + 0.001 * slope * slope;
            self.largest[i] = self.largest[i].max(self.square[i]);
            *value -= rate * self.mean[i] / (scale * self.largest[i].sqrt() + 1e-8);
        }
    }
}
