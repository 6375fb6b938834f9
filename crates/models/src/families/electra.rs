//! ELECTRA: Clark et al. 2020, "ELECTRA: Pre-training Text Encoders as Discriminators Rather Than Generators".
//! BERT's layers behind narrower word vectors, and no pooler.

use crate::blocks::{BERT_LAYER, Embeddings, Linear, Stack};
use crate::config::Config;
use crate::encoder::{Encoder, sites};
use crate::heads::{Head, HeadNames, MaskNames};
use crate::weights::Weights;
use exegete_core::{Result, Task};
use exegete_engine::{Scalar, Unary};

pub(super) fn build<T: Scalar>(w: &mut Weights<'_, T>, c: &Config, task: &dyn Task) -> Result<Encoder<T>> {
    let root = w.prefix("electra.", "embeddings.word_embeddings.weight");
    let embeddings = Embeddings::load(w, &format!("{root}embeddings"), c)?;
    let projection = match c.embedding_size == c.hidden_size {
        true => None,
        false => {
            let path = format!("{root}embeddings_project");
            Some(Linear::load(w, &path, c.embedding_size, c.hidden_size)?)
        }
    };
    let stack = Stack::load(w, c, &BERT_LAYER, |n| format!("{root}encoder.layer.{n}"))?;
    let names = HeadNames {
        dense: "classifier.dense".into(),
        dense_activation: Unary::Gelu,
        out: "classifier.out_proj",
        pooler: None,
        mask: MaskNames {
            dense: "generator_predictions.dense",
            activation: Unary::Gelu,
            norm: "generator_predictions.LayerNorm",
            decoder: "generator_lm_head",
            bias: "generator_lm_head.bias",
        },
    };
    let head = Head::load(w, &names, &embeddings.word, task, c)?;
    Ok(Encoder { embeddings, projection, stack, head, sites: sites(c, task), inner: c.intermediate_size })
}
