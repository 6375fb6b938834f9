use super::parameters::Parameters;
use super::stages::{Stages, Values, add, product, sum, transposed};
use exegete_core::{Axis, Role, Site, SiteInfo, Sites};
use std::sync::Arc;

/// The arithmetic of the gated cell: places that no transformer has, and no heads.
#[derive(Debug, Clone)]
pub(super) struct Recurrent {
    sites: Sites,
    parameters: Parameters,
}

impl Default for Recurrent {
    fn default() -> Self {
        let units = || vec![Axis::Token, Axis::Neuron(2)];
        let sites = Sites::new(vec![
            SiteInfo::new(Site::named("embed.word"), "embed", Role::Words, units()).cut(),
            SiteInfo::new(Site::named("enc.0.z"), "enc.0", Role::Inner, units()),
            SiteInfo::new(Site::named("enc.0.n"), "enc.0", Role::Inner, units()),
            SiteInfo::new(Site::named("enc.out"), "enc.0", Role::LayerOutput, units()).cut(),
            SiteInfo::new(Site::named("logits"), "head", Role::Outputs, [Axis::Class(2)]).carrying_all(),
        ]);
        let parameters = Parameters::new(&[
            ("layer.0", "gate.weight", &[2, 2], &[0.5, -1.0, 1.0, 0.25]), // Wz
            ("layer.0", "candidate.weight", &[2, 2], &[1.0, -0.5, 0.75, 1.0]), // Wn
            ("head", "head.weight", &[2, 2], &[-1.0, 1.5, 0.5, 1.0]),     // U
            ("head", "head.bias", &[2], &[0.125, -0.125]),                // c
        ]);
        Self { sites, parameters }
    }
}

impl Recurrent {
    /// hₜ = zₜ ⊙ hₜ₋₁ + (1 − zₜ) ⊙ nₜ, from h₀ = 0.
    fn hidden(z: &[f64], n: &[f64]) -> Vec<f64> {
        let (mut before, mut all) = (vec![0.0; 2], Vec::with_capacity(z.len()));
        for (z, n) in z.chunks(2).zip(n.chunks(2)) {
            before = (0..2).map(|i| z[i] * before[i] + (1.0 - z[i]) * n[i]).collect();
            all.extend_from_slice(&before);
        }
        all
    }

    /// The last token's part.
    fn last(values: &[f64]) -> &[f64] {
        &values[values.len().saturating_sub(2)..]
    }
}

impl Stages for Recurrent {
    fn sites(&self) -> &Sites {
        &self.sites
    }

    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn with(&self, parameters: Parameters) -> Arc<dyn Stages> {
        Arc::new(Self { parameters, ..self.clone() })
    }

    fn stage(&self, stage: usize, ids: &[u32], values: &Values) -> Vec<f64> {
        match stage {
            0 => self.parameters.words(ids),
            1 => product(&values[0], self.parameters.of("gate.weight"), 2, 2)
                .into_iter()
                .map(|x| 1.0 / (1.0 + (-x).exp()))
                .collect(),
            2 => product(&values[0], self.parameters.of("candidate.weight"), 2, 2)
                .into_iter()
                .map(f64::tanh)
                .collect(),
            3 => Self::hidden(&values[1], &values[2]),
            _ => sum(
                &product(Self::last(&values[3]), self.parameters.of("head.weight"), 2, 2),
                self.parameters.of("head.bias"),
            ),
        }
    }

    fn tangent(&self, stage: usize, values: &Values, moves: &Values) -> Vec<f64> {
        match stage {
            0 => vec![0.0; values[0].len()],
            1 => slope(
                &self.stage(1, &[], values),
                &product(&moves[0], self.parameters.of("gate.weight"), 2, 2),
                |z| z * (1.0 - z),
            ),
            2 => slope(
                &self.stage(2, &[], values),
                &product(&moves[0], self.parameters.of("candidate.weight"), 2, 2),
                |n| 1.0 - n * n,
            ),
            3 => {
                let hidden = Self::hidden(&values[1], &values[2]);
                let (mut before, mut all) = (vec![0.0; 2], Vec::with_capacity(hidden.len()));
                for t in 0..hidden.len() / 2 {
                    let at = |i: usize| {
                        let k = 2 * t + i;
                        let behind = if t > 0 { hidden[k - 2] } else { 0.0 };
                        values[1][k] * before[i]
                            + moves[1][k] * (behind - values[2][k])
                            + (1.0 - values[1][k]) * moves[2][k]
                    };
                    before = vec![at(0), at(1)];
                    all.extend_from_slice(&before);
                }
                all
            }
            _ => product(Self::last(&moves[3]), self.parameters.of("head.weight"), 2, 2),
        }
    }

    fn pull(&self, stage: usize, values: &Values, cotangent: &[f64], pulled: &mut Values) {
        match stage {
            0 => {}
            1 => {
                let before = slope(&self.stage(1, &[], values), cotangent, |z| z * (1.0 - z));
                add(
                    &mut pulled[0],
                    &product(&before, &transposed(self.parameters.of("gate.weight"), 2, 2), 2, 2),
                );
            }
            2 => {
                let before = slope(&self.stage(2, &[], values), cotangent, |n| 1.0 - n * n);
                add(
                    &mut pulled[0],
                    &product(&before, &transposed(self.parameters.of("candidate.weight"), 2, 2), 2, 2),
                );
            }
            3 => {
                // An edit of the hidden states acts on what is read, not on the recurrence that made them.
                let hidden = Self::hidden(&values[1], &values[2]);
                let mut carried = [0.0; 2];
                for k in (0..cotangent.len()).rev() {
                    let total = cotangent[k] + carried[k % 2];
                    let behind = if k >= 2 { hidden[k - 2] } else { 0.0 };
                    pulled[1][k] += total * (behind - values[2][k]);
                    pulled[2][k] += total * (1.0 - values[1][k]);
                    carried[k % 2] = total * values[1][k];
                }
            }
            _ => {
                let last = pulled[3].len() - 2;
                add(
                    &mut pulled[3][last..],
                    &product(cotangent, &transposed(self.parameters.of("head.weight"), 2, 2), 2, 2),
                );
            }
        }
    }
}

/// A derivative that is a function of the value itself, times what comes along.
fn slope(values: &[f64], along: &[f64], derivative: impl Fn(f64) -> f64) -> Vec<f64> {
    values.iter().zip(along).map(|(&value, along)| derivative(value) * along).collect()
}
