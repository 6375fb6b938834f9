use crate::config::Config;
use crate::encoder;
use crate::families;
use crate::opened::{Opened, Parts};
use crate::weights::{Source, Weights, matrix};
use crate::{Options, Precision};
use exegete_core::{Card, Model, Result, Task};
use exegete_engine::{Context, Real, Scalar, Tensor};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

/// The sizes of a BERT with random weights, for benchmarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BertSize {
    /// L
    pub layers: usize,
    /// H
    pub hidden: usize,
    /// N
    pub heads: usize,
    /// Width inside the feed-forward block
    pub inner: usize,
    /// V
    pub vocabulary: usize,
}

impl Default for BertSize {
    /// BERT-base.
    fn default() -> Self {
        Self { layers: 12, hidden: 768, heads: 12, inner: 3072, vocabulary: 30522 }
    }
}

/// A BERT classifier of two classes with random weights and no tokenizer.
pub fn random_bert(size: &BertSize, options: &Options) -> Result<Arc<dyn Model>> {
    Ok(match options.precision {
        Precision::F32 => Arc::new(build::<f32>(size, options.threads)?),
        Precision::F64 => Arc::new(build::<f64>(size, options.threads)?),
    })
}

fn build<T: Real>(size: &BertSize, threads: usize) -> Result<Opened<T>> {
    let config = Config::parse(format!(
        r#"{{"model_type": "bert", "architectures": ["BertForSequenceClassification"], "hidden_size": {},
            "num_hidden_layers": {}, "num_attention_heads": {}, "intermediate_size": {}, "vocab_size": {},
            "max_position_embeddings": 512, "type_vocab_size": 2, "hidden_act": "gelu", "layer_norm_eps": 1e-12}}"#,
        size.hidden, size.layers, size.heads, size.inner, size.vocabulary
    ))?;
    let task = Task::Classification;
    let mut weights = Weights::new(&Random as &dyn Source<T>);
    let network = families::build(&mut weights, &config, task)?;
    let params = weights.into_taken();
    let card = Card {
        name: "random BERT".into(),
        family: config.model_type.clone(),
        fingerprint: "random".into(),
        task,
        labels: config.labels().to_vec(),
        parameters: params.values().map(|p| p.shape.iter().product::<usize>()).sum(),
        max_tokens: config.max_tokens(),
        layers: config.num_hidden_layers,
        hidden: config.hidden_size,
        heads: config.num_attention_heads,
        warnings: Vec::new(),
    };
    let sites = encoder::sites(&config, task);
    let ctx = Context::new(threads);
    Ok(Opened::new(Parts { card, config, tokenizer: None, network, params, sites, ctx }))
}

/// Every parameter there is, with small random numbers that depend on nothing but its name.
struct Random;

impl<T: Scalar> Source<T> for Random {
    fn find(&self, name: &str, shape: &[usize]) -> Result<Option<Tensor<T>>> {
        let seed = name.bytes().fold(0u64, |seed, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let centre = if name.ends_with("LayerNorm.weight") { 1.0 } else { 0.0 };
        let (rows, cols) = matrix(shape);
        let mut number =
            || T::from_f64(centre + 0.07 * (f64::from(rng.next_u32()) / f64::from(u32::MAX) - 0.5));
        Ok(Some(Tensor::new(rows, cols, (0..rows * cols).map(|_| number()).collect())))
    }

    fn contains(&self, _: &str) -> bool {
        true
    }
}
