//! BERT: Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers".

use crate::blocks::{BERT_LAYER, Embeddings, Stack, unary};
use crate::config::Config;
use crate::encoder::{Encoder, sites};
use crate::heads::{Head, HeadNames, MaskNames};
use crate::weights::Weights;
use exegete_core::{Result, Task};
use exegete_engine::{Scalar, Unary};

pub(super) fn build<T: Scalar>(w: &mut Weights<'_, T>, c: &Config, task: &dyn Task) -> Result<Encoder<T>> {
    let root = w.prefix("bert.", "embeddings.word_embeddings.weight");
    let embeddings = Embeddings::load(w, &format!("{root}embeddings"), c)?;
    let stack = Stack::load(w, c, &BERT_LAYER, |n| format!("{root}encoder.layer.{n}"))?;
    let names = HeadNames {
        dense: format!("{root}pooler.dense"),
        dense_activation: Unary::Tanh,
        out: "classifier",
        pooler: Some(format!("{root}pooler.dense")),
        mask: MaskNames {
            dense: "cls.predictions.transform.dense",
            activation: unary(c.hidden_act),
            norm: "cls.predictions.transform.LayerNorm",
            decoder: "cls.predictions.decoder",
            bias: "cls.predictions.bias",
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
