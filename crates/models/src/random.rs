use crate::assemble::{Assembly, assemble};
use crate::blueprint::Blueprint;
use crate::config::Config;
use crate::opened::Opened;
use crate::weights::{TensorSource, Wanted, matrix};
use crate::{LoadOptions, Precision};
use exegete_core::{Model, Result, normal};
use exegete_engine::{Real, Scalar, Tensor};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

/// The sizes of a BERT with random weights, for benchmarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BertSize {
    /// L, how many layers there are.
    pub layers: usize,
    /// H, the width of a token's vector.
    pub hidden: usize,
    /// N, how many heads a layer has.
    pub heads: usize,
    /// Width inside the feed-forward block.
    pub inner: usize,
    /// V, how many tokens are known.
    pub vocabulary: usize,
}

impl Default for BertSize {
    /// The sizes of BERT-base.
    fn default() -> Self {
        Self { layers: 12, hidden: 768, heads: 12, inner: 3072, vocabulary: 30522 }
    }
}

/// A BERT classifier of two classes with random weights and no tokenizer.
pub fn random_bert(size: &BertSize, options: &LoadOptions) -> Result<Arc<dyn Model>> {
    Ok(match options.precision {
        Precision::F32 => Arc::new(build::<f32>(size, options.threads)?),
        Precision::F64 => Arc::new(build::<f64>(size, options.threads)?),
    })
}

fn build<T: Real>(size: &BertSize, threads: usize) -> Result<Opened<T>> {
    let blueprint = Blueprint::Encoder(Config::parse(format!(
        r#"{{"model_type": "bert", "architectures": ["BertForSequenceClassification"], "hidden_size": {},
            "num_hidden_layers": {}, "num_attention_heads": {}, "intermediate_size": {}, "vocab_size": {},
            "max_position_embeddings": 512, "type_vocab_size": 2, "hidden_act": "gelu", "layer_norm_eps": 1e-12}}"#,
        size.hidden, size.layers, size.heads, size.inner, size.vocabulary
    ))?);
    let (name, place) = ("random BERT".to_owned(), "random BERT".to_owned());
    let fingerprint = "random".to_owned();
    assemble(&Random, Assembly { name, place, blueprint, tokenizer: None, fingerprint, threads })
}

/// Every parameter there is, with initial values that depend on nothing but its name.
struct Random;

impl<T: Scalar> TensorSource<T> for Random {
    fn find(&self, &Wanted { name, shape, .. }: &Wanted<'_>) -> Result<Option<Tensor<T>>> {
        Ok(Some(initial(name, shape, 0, 0.02)))
    }

    fn contains(&self, _: &str) -> bool {
        true
    }
}

/// A parameter before any training, as transformers would start it: norms at one, biases at zero, the rest normal.
pub(crate) fn initial<T: Scalar>(name: &str, shape: &[usize], seed: u64, deviation: f64) -> Tensor<T> {
    let (rows, cols) = matrix(shape);
    // What has one axis is a bias, which every folder calls so, or the scale of a norm, whatever a family calls that.
    if shape.len() == 1 {
        let value = T::from_f64(if name.ends_with(".bias") { 0.0 } else { 1.0 });
        return Tensor::new(rows, cols, vec![value; rows * cols]);
    }
    let mut uniform = uniforms(name, seed);
    let mut drawn = || normal([uniform(), uniform()]);
    Tensor::new(rows, cols, (0..rows * cols).map(|_| T::from_f64(deviation * drawn())).collect())
}

/// Numbers between 0 and 1 that depend on a parameter's name and the seed alone.
pub(crate) fn uniforms(name: &str, seed: u64) -> impl FnMut() -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(seed_of(name, seed));
    move || (f64::from(rng.next_u32()) + 0.5) / (f64::from(u32::MAX) + 1.0)
}

/// The seed of one parameter's numbers; every start depends on it, so it stays as it is.
fn seed_of(name: &str, seed: u64) -> u64 {
    name.bytes().fold(seed, |seed, byte| seed.wrapping_mul(31).wrapping_add(byte.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Sums of letters times powers of 31 can agree; those of names that models have do not.
    #[test]
    fn parameters_have_numbers_of_their_own() {
        let size = BertSize { layers: 48, hidden: 4, heads: 2, inner: 4, vocabulary: 8 };
        let model = random_bert(&size, &LoadOptions::default()).unwrap();
        let bert = model.learner().unwrap().parameters().into_iter().map(|(name, _)| name);
        let recurrent = ["ih", "hh"].into_iter().flat_map(|part| {
            let layer =
                move |n: usize| ["", "_reverse"].map(|end| format!("encoder.weight_{part}_l{n}{end}"));
            (0..9).flat_map(layer)
        });
        let names: Vec<String> = bert.chain(recurrent).collect();
        assert!(names.len() > 700, "{}", names.len());
        for seed in [0, 7] {
            let seeds: BTreeSet<u64> = names.iter().map(|name| seed_of(name, seed)).collect();
            assert_eq!(seeds.len(), names.len(), "seed {seed}");
        }
        // As in any such sum: the test would see it.
        assert_eq!(seed_of("Aa", 0), seed_of("BB", 0));
    }
}
