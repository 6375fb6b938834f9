use super::stages::{Stages, Values, add, product, replace, sum, transposed};
use exegete_core::{Array, Axis, Result, Role, Site, SiteInfo, Sites};
use std::sync::Arc;

/// The classifier's sites.
fn sites() -> Sites {
    let units = |n| vec![Axis::Token, Axis::Unit(n)];
    let place = |name, part: &str, role, axes: Vec<Axis>| SiteInfo::new(Site::named(name), part, role, axes);
    Sites::new(vec![
        place("embed.word", "embed", Role::Words, units(2)).cut(),
        place("embed", "embed", Role::Embedding, units(2)).cut(),
        place("layer.0.ffn.inner", "layer.0", Role::Inner, units(3)),
        place("layer.0.out", "layer.0", Role::LayerOutput, units(2)).cut(),
        place("pooled", "head", Role::Inner, vec![Axis::Unit(2)]).carrying_all(),
        place("logits", "head", Role::Outputs, vec![Axis::Class(2)]).carrying_all(),
    ])
}

/// The parameters of the classifier.
#[derive(Debug, Clone)]
pub(super) struct Parameters {
    sites: Sites,
    word: Vec<f64>,   // E  [5, 2]
    inner: Vec<f64>,  // W₁ [2, 3]
    offset: Vec<f64>, // b₁ [3]
    outer: Vec<f64>,  // W₂ [3, 2]
    head: Vec<f64>,   // U  [2, 2]
    bias: Vec<f64>,   // c  [2]
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            sites: sites(),
            word: vec![0.5, -0.25, 1.0, 0.5, -1.0, 0.75, 0.25, -1.5, -0.5, -0.75],
            inner: vec![1.0, -1.0, 0.5, 0.0, 1.0, 1.0],
            offset: vec![0.25, -0.5, 0.125],
            outer: vec![1.0, 0.0, 0.0, 1.0, -1.0, 1.0],
            head: vec![1.0, -1.0, 0.5, 2.0],
            bias: vec![0.125, -0.125],
        }
    }
}

impl Stages for Parameters {
    fn sites(&self) -> &Sites {
        &self.sites
    }

    fn count(&self) -> usize {
        let all = [&self.word, &self.inner, &self.offset, &self.outer, &self.head, &self.bias];
        all.iter().map(|p| p.len()).sum()
    }

    fn words(&self) -> Array {
        Array { shape: vec![self.word.len() / 2, 2], data: self.word.iter().map(|&x| x as f32).collect() }
    }

    fn replaced(&self, overrides: &[(String, Array)]) -> Result<Arc<dyn Stages>> {
        let mut moved = self.clone();
        for (name, value) in overrides {
            let own = match name.as_str() {
                "word.weight" => Some(&mut moved.word),
                "inner.weight" => Some(&mut moved.inner),
                "inner.bias" => Some(&mut moved.offset),
                "outer.weight" => Some(&mut moved.outer),
                "head.weight" => Some(&mut moved.head),
                "head.bias" => Some(&mut moved.bias),
                _ => None,
            };
            replace(own, name, value)?;
        }
        Ok(Arc::new(moved))
    }

    fn stage(&self, stage: usize, ids: &[u32], values: &Values) -> Vec<f64> {
        match stage {
            0 => ids.iter().flat_map(|&id| self.word[2 * id as usize..][..2].to_vec()).collect(),
            1 => values[0].iter().enumerate().map(|(i, x)| x + position(i)).collect(),
            2 => self.before_relu(&values[1]).into_iter().map(|x| x.max(0.0)).collect(),
            3 => sum(&values[1], &product(&values[2], &self.outer, 3, 2)),
            4 => over_tokens(&values[3]),
            _ => sum(&product(&values[4], &self.head, 2, 2), &self.bias),
        }
    }

    fn tangent(&self, stage: usize, values: &Values, moves: &Values) -> Vec<f64> {
        match stage {
            0 => vec![0.0; values[0].len()],
            1 => moves[0].clone(),
            2 => self.through_relu(&values[1], &product(&moves[1], &self.inner, 2, 3)),
            3 => sum(&moves[1], &product(&moves[2], &self.outer, 3, 2)),
            4 => over_tokens(&moves[3]),
            _ => product(&moves[4], &self.head, 2, 2),
        }
    }

    fn pull(&self, stage: usize, values: &Values, cotangent: &[f64], pulled: &mut Values) {
        match stage {
            0 => {}
            1 => add(&mut pulled[0], cotangent),
            2 => {
                let before = self.through_relu(&values[1], cotangent);
                add(&mut pulled[1], &product(&before, &transposed(&self.inner, 2, 3), 3, 2));
            }
            3 => {
                add(&mut pulled[1], cotangent);
                add(&mut pulled[2], &product(cotangent, &transposed(&self.outer, 3, 2), 2, 3));
            }
            4 => add(&mut pulled[3], &cotangent.repeat(values[3].len() / 2)),
            _ => add(&mut pulled[4], &product(cotangent, &transposed(&self.head, 2, 2), 2, 2)),
        }
    }
}

impl Parameters {
    fn before_relu(&self, embed: &[f64]) -> Vec<f64> {
        let products = product(embed, &self.inner, 2, 3);
        products.iter().enumerate().map(|(i, x)| x + self.offset[i % 3]).collect()
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
