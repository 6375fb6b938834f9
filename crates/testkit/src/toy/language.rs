use super::parameters::Parameters;
use super::stages::{Stages, Values, add, product, sum, transposed};
use exegete_core::{Axis, Role, Site, SiteInfo, Sites};
use std::sync::Arc;

/// The arithmetic of the language model.
#[derive(Debug, Clone)]
pub(super) struct Language {
    sites: Sites,
    parameters: Parameters,
}

impl Default for Language {
    fn default() -> Self {
        let units = |n| vec![Axis::Token, Axis::Neuron(n)];
        let sites = Sites::new(vec![
            SiteInfo::new(Site::named("embed.word"), "embed", Role::Words, units(2)).cut(),
            SiteInfo::new(Site::named("layer.0.out"), "layer.0", Role::LayerOutput, units(2)).cut(),
            SiteInfo::new(Site::named("logits"), "head", Role::Outputs, [Axis::Token, Axis::Class(5)])
                .carrying_all(),
        ]);
        let head = [0.0, 0.5, 0.0, -1.0, 2.0, -0.5, -0.5, 0.0, -1.0, 1.0];
        let parameters = Parameters::new(&[
            ("head", "head.weight", &[2, 5], &head),                     // U
            ("head", "head.bias", &[5], &[-0.5, 0.25, 0.5, 0.0, 0.125]), // c
        ]);
        Self { sites, parameters }
    }
}

impl Stages for Language {
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
            1 => running_means(&values[0]),
            _ => product(&values[1], self.parameters.of("head.weight"), 2, 5)
                .chunks(5)
                .flat_map(|z| sum(z, self.parameters.of("head.bias")))
                .collect(),
        }
    }

    fn tangent(&self, stage: usize, values: &Values, moves: &Values) -> Vec<f64> {
        match stage {
            0 => vec![0.0; values[0].len()],
            1 => running_means(&moves[0]),
            _ => product(&moves[1], self.parameters.of("head.weight"), 2, 5),
        }
    }

    fn pull(&self, stage: usize, _: &Values, cotangent: &[f64], pulled: &mut Values) {
        match stage {
            0 => {}
            1 => {
                // Token t is part of every mean from its own on.
                for (t, own) in cotangent.chunks(2).enumerate() {
                    let share: Vec<f64> = own.iter().map(|c| c / (t + 1) as f64).collect();
                    pulled[0].chunks_mut(2).take(t + 1).for_each(|x| add(x, &share));
                }
            }
            _ => add(
                &mut pulled[1],
                &product(cotangent, &transposed(self.parameters.of("head.weight"), 2, 5), 5, 2),
            ),
        }
    }
}

/// The mean of each token's vector and all before it.
fn running_means(x: &[f64]) -> Vec<f64> {
    let mut total = vec![0.0; 2];
    let mean = |(t, x): (usize, &[f64])| -> Vec<f64> {
        add(&mut total, x);
        total.iter().map(|sum| sum / (t + 1) as f64).collect()
    };
    x.chunks(2).enumerate().flat_map(mean).collect()
}
