//! ALBERT: Lan et al. 2020, "ALBERT: A Lite BERT". Narrow word vectors, and layers that share their weights in groups.

use crate::blocks::{Embeddings, Layer, LayerNames, Linear, Stack, unary};
use crate::config::Config;
use crate::encoder::{Encoder, sites};
use crate::heads::{Head, HeadNames, MaskNames};
use crate::weights::Weights;
use exegete_core::{Result, Task};
use exegete_engine::{Scalar, Unary};
use std::sync::Arc;

const LAYER: LayerNames = LayerNames {
    query: "attention.query",
    key: "attention.key",
    value: "attention.value",
    attention_out: "attention.dense",
    attention_norm: "attention.LayerNorm",
    inner: "ffn",
    outer: "ffn_output",
    output_norm: "full_layer_layer_norm",
};

pub(super) fn build<T: Scalar>(w: &mut Weights<'_, T>, c: &Config, task: &dyn Task) -> Result<Encoder<T>> {
    let root = w.prefix("albert.", "embeddings.word_embeddings.weight");
    let embeddings = Embeddings::load(w, &format!("{root}embeddings"), c)?;
    let mapping = format!("{root}encoder.embedding_hidden_mapping_in");
    let projection = Some(Linear::load(w, &mapping, c.embedding_size, c.hidden_size)?);
    let group = |w: &mut Weights<'_, T>, n: usize| {
        let path = format!("{root}encoder.albert_layer_groups.{n}.albert_layers.0");
        Layer::load(w, &path, &LAYER, c).map(Arc::new)
    };
    let groups = (0..c.num_hidden_groups).map(|n| group(w, n)).collect::<Result<Vec<_>>>()?;
    let layers = (0..c.num_hidden_layers).map(|n| groups[c.group(n)].clone()).collect();
    let names = HeadNames {
        dense: format!("{root}pooler"),
        dense_activation: Unary::Tanh,
        out: "classifier",
        pooler: Some(format!("{root}pooler")),
        mask: MaskNames {
            dense: "predictions.dense",
            activation: unary(c.hidden_act),
            norm: "predictions.LayerNorm",
            decoder: "predictions.decoder",
            bias: "predictions.bias",
        },
    };
    let head = Head::load(w, &names, &embeddings.word, task, c)?;
    Ok(Encoder {
        embeddings,
        projection,
        stack: Stack(layers),
        head,
        sites: sites(c, task),
        inner: c.intermediate_size,
    })
}
