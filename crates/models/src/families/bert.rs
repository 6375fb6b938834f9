//! BERT: Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers".

use super::{BERT_DROPOUT, BERT_SPELLING, Family, Layout, Projection};
use crate::blocks::BERT_LAYER;
use crate::heads::{HeadNames, MaskNames};
use exegete_engine::Unary;

pub(super) const FAMILY: Family = Family {
    types: &[("bert", "Bert")],
    spelling: BERT_SPELLING,
    dropout: BERT_DROPOUT,
    layout: Layout {
        root: "bert.",
        embeddings: "{root}embeddings",
        projection: Projection::Never,
        layer: "{root}encoder.layer.{n}",
        layer_names: BERT_LAYER,
        head: HeadNames {
            dense: "{root}pooler.dense",
            dense_activation: Unary::Tanh,
            out: "classifier",
            pooler: Some("{root}pooler.dense"),
            mask: MaskNames {
                dense: "cls.predictions.transform.dense",
                activation: None,
                norm: "cls.predictions.transform.LayerNorm",
                decoder: "cls.predictions.decoder",
                bias: "cls.predictions.bias",
            },
        },
    },
};
