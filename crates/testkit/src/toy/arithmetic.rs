use super::parameters::Parameters;
use super::stages::{Stages, Values, add, product, sum, transposed};
use exegete_core::{Axis, Role, Site, SiteInfo, Sites};
use std::sync::Arc;

/// The classifier's sites.
fn sites() -> Sites {
    let units = |n| vec![Axis::Token, Axis::Neuron(n)];
    let place = |name, part: &str, role, axes: Vec<Axis>| SiteInfo::new(Site::named(name), part, role, axes);
    Sites::new(vec![
        place("embed.word", "embed", Role::Words, units(2)).cut(),
        place("embed", "embed", Role::Embedding, units(2)).cut(),
        place("layer.0.ffn.inner", "layer.0", Role::Inner, units(3)),
        place("layer.0.out", "layer.0", Role::LayerOutput, units(2)).cut(),
        place("pooled", "head", Role::Inner, vec![Axis::Neuron(2)]).carrying_all(),
        place("logits", "head", Role::Outputs, vec![Axis::Class(2)]).carrying_all(),
    ])
}

/// The arithmetic of the classifier.
#[derive(Debug, Clone)]
pub(super) struct Classifier {
    sites: Sites,
    parameters: Parameters,
}

impl Default for Classifier {
    fn default() -> Self {
        let parameters = Parameters::new(&[
            ("layer.0", "inner.weight", &[2, 3], &[1.0, -1.0, 0.5, 0.0, 1.0, 1.0]), // W₁
            ("layer.0", "inner.bias", &[3], &[0.25, -0.5, 0.125]),                  // b₁
            ("layer.0", "outer.weight", &[3, 2], &[1.0, 0.0, 0.0, 1.0, -1.0, 1.0]), // W₂
            ("head", "head.weight", &[2, 2], &[1.0, -1.0, 0.5, 2.0]),               // U
            ("head", "head.bias", &[2], &[0.125, -0.125]),                          // c
        ]);
        Self { sites: sites(), parameters }
    }
}

impl Stages for Classifier {
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
            1 => values[0].iter().enumerate().map(|(i, x)| x + position(i)).collect(),
            2 => self.before_relu(&values[1]).into_iter().map(|x| x.max(0.0)).collect(),
            3 => sum(&values[1], &product(&values[2], self.parameters.of("outer.weight"), 3, 2)),
            4 => over_tokens(&values[3]),
            _ => sum(
                &product(&values[4], self.parameters.of("head.weight"), 2, 2),
                self.parameters.of("head.bias"),
            ),
        }
    }

    fn tangent(&self, stage: usize, values: &Values, moves: &Values) -> Vec<f64> {
        match stage {
            0 => vec![0.0; values[0].len()],
            1 => moves[0].clone(),
            2 => self.through_relu(&values[1], &product(&moves[1], self.parameters.of("inner.weight"), 2, 3)),
            3 => sum(&moves[1], &product(&moves[2], self.parameters.of("outer.weight"), 3, 2)),
            4 => over_tokens(&moves[3]),
            _ => product(&moves[4], self.parameters.of("head.weight"), 2, 2),
        }
    }

    fn pull(&self, stage: usize, values: &Values, cotangent: &[f64], pulled: &mut Values) {
        match stage {
            0 => {}
            1 => add(&mut pulled[0], cotangent),
            2 => {
                let before = self.through_relu(&values[1], cotangent);
                add(
                    &mut pulled[1],
                    &product(&before, &transposed(self.parameters.of("inner.weight"), 2, 3), 3, 2),
                );
            }
            3 => {
                add(&mut pulled[1], cotangent);
                add(
                    &mut pulled[2],
                    &product(cotangent, &transposed(self.parameters.of("outer.weight"), 3, 2), 2, 3),
                );
            }
            4 => add(&mut pulled[3], &cotangent.repeat(values[3].len() / 2)),
            _ => add(
                &mut pulled[4],
                &product(cotangent, &transposed(self.parameters.of("head.weight"), 2, 2), 2, 2),
            ),
        }
    }
}

impl Classifier {
    fn before_relu(&self, embed: &[f64]) -> Vec<f64> {
        let products = product(embed, self.parameters.of("inner.weight"), 2, 3);
        products.iter().enumerate().map(|(i, x)| x + self.parameters.of("inner.bias")[i % 3]).collect()
    }

    fn through_relu(&self, embed: &[f64], along: &[f64]) -> Vec<f64> {
        self.before_relu(embed)
            .iter()
            .zip(along)
            .map(|(x, along)| if *x > 0.0 { *along } else { 0.0 })
            .collect()
    }
}

/// A quarter a token, in the second unit only.
fn position(i: usize) -> f64 {
    if i % 2 == 1 { (i / 2) as f64 / 4.0 } else { 0.0 }
}

fn over_tokens(values: &[f64]) -> Vec<f64> {
    (0..2).map(|unit| values.iter().skip(unit).step_by(2).sum()).collect()
}
