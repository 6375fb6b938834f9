//! DistilBERT: Sanh et al. 2019, "DistilBERT, a distilled version of BERT". Half the layers, no token types, no pooler.

use crate::blocks::{Embeddings, LayerNames, Stack, unary};
use crate::config::Config;
use crate::encoder::{Encoder, sites};
use crate::heads::{Head, HeadNames, MaskNames};
use crate::weights::Weights;
use exegete_core::{Result, Task};
use exegete_engine::{Scalar, Unary};

const LAYER: LayerNames = LayerNames {
    query: "attention.q_lin",
    key: "attention.k_lin",
    value: "attention.v_lin",
    attention_out: "attention.out_lin",
    attention_norm: "sa_layer_norm",
    inner: "ffn.lin1",
    outer: "ffn.lin2",
    output_norm: "output_layer_norm",
};

pub(super) fn build<T: Scalar>(w: &mut Weights<'_, T>, c: &Config, task: &dyn Task) -> Result<Encoder<T>> {
    let root = w.prefix("distilbert.", "embeddings.word_embeddings.weight");
    let embeddings = Embeddings::load(w, &format!("{root}embeddings"), c)?;
    let stack = Stack::load(w, c, &LAYER, |n| format!("{root}transformer.layer.{n}"))?;
    let names = HeadNames {
        dense: "pre_classifier".into(),
        dense_activation: Unary::Relu,
        out: "classifier",
        pooler: None,
        mask: MaskNames {
            dense: "vocab_transform",
            activation: unary(c.hidden_act),
            norm: "vocab_layer_norm",
            decoder: "vocab_projector",
            bias: "vocab_projector.bias",
        },
    };
    let head = Head::load(w, &names, &embeddings.word, task, c)?;
    Ok(Encoder {
        embeddings,
        projection: None,
        stack,
        head,
        sites: sites(c, task),
        inner: c.intermediate_size,
    })
}
