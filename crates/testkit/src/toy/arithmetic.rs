use exegete_core::{Array, Axis, Error, Result, Role, Site, SiteInfo, Sites};

/// The toy's sites; a stage is an index into these.
pub(super) const SITES: [Site; 6] = [
    Site::named("embed.word"),
    Site::named("embed"),
    Site::named("layer.0.ffn.inner"),
    Site::named("layer.0.out"),
    Site::named("pooled"),
    LOGITS,
];

pub(super) const LOGITS: Site = Site::named("logits");

/// The same as the model lists them.
pub(super) fn sites() -> Sites {
    let units = |n| vec![Axis::Token, Axis::Unit(n)];
    let [words, embed, inner, out, pooled, logits] = SITES;
    Sites::new(vec![
        SiteInfo::new(words, "embed", Role::Words, units(2)).cut(),
        SiteInfo::new(embed, "embed", Role::Embedding, units(2)).cut(),
        SiteInfo::new(inner, "layer.0", Role::Inner, units(3)),
        SiteInfo::new(out, "layer.0", Role::LayerOutput, units(2)).cut(),
        SiteInfo::new(pooled, "head", Role::Inner, [Axis::Unit(2)]).carrying_all(),
        SiteInfo::new(logits, "head", Role::Outputs, [Axis::Class(2)]).carrying_all(),
    ])
}

/// One value a stage.
pub(super) type Values = [Vec<f64>; 6];

#[derive(Debug, Clone)]
pub(super) struct Parameters {
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
            word: vec![0.5, -0.25, 1.0, 0.5, -1.0, 0.75, 0.25, -1.5, -0.5, -0.75],
            inner: vec![1.0, -1.0, 0.5, 0.0, 1.0, 1.0],
            offset: vec![0.25, -0.5, 0.125],
            outer: vec![1.0, 0.0, 0.0, 1.0, -1.0, 1.0],
            head: vec![1.0, -1.0, 0.5, 2.0],
            bias: vec![0.125, -0.125],
        }
    }
}

impl Parameters {
    pub(super) fn count(&self) -> usize {
        [&self.word, &self.inner, &self.offset, &self.outer, &self.head, &self.bias]
            .iter()
            .map(|p| p.len())
            .sum()
    }

    /// E
    pub(super) fn words(&self) -> Array {
        Array { shape: vec![self.word.len() / 2, 2], data: self.word.iter().map(|&x| x as f32).collect() }
    }

    pub(super) fn replace(&mut self, name: &str, value: &Array) -> Result<()> {
        let own = match name {
            "word.weight" => &mut self.word,
            "inner.weight" => &mut self.inner,
            "inner.bias" => &mut self.offset,
            "outer.weight" => &mut self.outer,
            "head.weight" => &mut self.head,
            "head.bias" => &mut self.bias,
            _ => return Err(Error::Request(format!("there is no parameter '{name}'"))),
        };
        if own.len() != value.len() {
            return Err(Error::Request(format!("'{name}' has {} elements, not {}", own.len(), value.len())));
        }
        *own = value.data.iter().map(|&x| f64::from(x)).collect();
        Ok(())
    }

    /// The value of a stage from those before it.
    pub(super) fn stage(&self, stage: usize, ids: &[u32], values: &Values) -> Vec<f64> {
        match stage {
            0 => ids.iter().flat_map(|&id| self.word[2 * id as usize..][..2].to_vec()).collect(),
            1 => values[0].iter().enumerate().map(|(i, x)| x + position(i)).collect(),
            2 => self.before_relu(&values[1]).into_iter().map(|x| x.max(0.0)).collect(),
            3 => sum(&values[1], &product(&values[2], &self.outer, 3, 2)),
            4 => over_tokens(&values[3]),
            _ => sum(&product(&values[4], &self.head, 2, 2), &self.bias),
        }
    }

    /// How a stage moves when those before it move.
    pub(super) fn tangent(&self, stage: usize, values: &Values, moves: &Values) -> Vec<f64> {
        match stage {
            0 => vec![0.0; values[0].len()],
            1 => moves[0].clone(),
            2 => self.through_relu(&values[1], &product(&moves[1], &self.inner, 2, 3)),
            3 => sum(&moves[1], &product(&moves[2], &self.outer, 3, 2)),
            4 => over_tokens(&moves[3]),
            _ => product(&moves[4], &self.head, 2, 2),
        }
    }

    /// Adds what a stage's cotangent gives to those before it.
    pub(super) fn pull(&self, stage: usize, values: &Values, cotangent: &[f64], pulled: &mut Values) {
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

/// `[n, k]` times `[k, m]`.
fn product(left: &[f64], right: &[f64], k: usize, m: usize) -> Vec<f64> {
    let row = |row: &[f64]| -> Vec<f64> {
        (0..m).map(|j| row.iter().enumerate().map(|(i, x)| x * right[i * m + j]).sum()).collect()
    };
    left.chunks(k).flat_map(row).collect()
}

fn transposed(matrix: &[f64], k: usize, m: usize) -> Vec<f64> {
    (0..m).flat_map(|j| (0..k).map(move |i| matrix[i * m + j])).collect()
}

fn over_tokens(values: &[f64]) -> Vec<f64> {
    (0..2).map(|unit| values.iter().skip(unit).step_by(2).sum()).collect()
}

fn sum(one: &[f64], other: &[f64]) -> Vec<f64> {
    one.iter().zip(other).map(|(a, b)| a + b).collect()
}

fn add(into: &mut [f64], more: &[f64]) {
    into.iter_mut().zip(more).for_each(|(a, b)| *a += b);
}
