//! RoBERTa (Liu et al. 2019), XLM-RoBERTa (Conneau et al. 2020) and CamemBERT: BERT's layers, positions counted from
//! the padding token on, and a classifier with its own dense layer.

use crate::blocks::{BERT_LAYER, Embeddings, Stack};
use crate::config::Config;
use crate::encoder::{Encoder, sites};
use crate::heads::{Head, HeadNames, MaskNames};
use crate::weights::Weights;
use exegete_core::{Result, Task};
use exegete_engine::{Scalar, Unary};

pub(super) fn build<T: Scalar>(w: &mut Weights<'_, T>, c: &Config, task: &dyn Task) -> Result<Encoder<T>> {
    let root = w.prefix("roberta.", "embeddings.word_embeddings.weight");
    let embeddings = Embeddings::load(w, &format!("{root}embeddings"), c)?;
    let stack = Stack::load(w, c, &BERT_LAYER, |n| format!("{root}encoder.layer.{n}"))?;
    let names = HeadNames {
        dense: "classifier.dense".into(),
        dense_activation: Unary::Tanh,
        out: "classifier.out_proj",
        pooler: Some(format!("{root}pooler.dense")),
        mask: MaskNames {
            dense: "lm_head.dense",
            activation: Unary::Gelu,
            norm: "lm_head.layer_norm",
            decoder: "lm_head.decoder",
            bias: "lm_head.bias",
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
