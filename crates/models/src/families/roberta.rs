//! RoBERTa (Liu et al. 2019), XLM-RoBERTa (Conneau et al. 2020) and CamemBERT: BERT's layers, positions counted from
//! the padding token on, and a classifier with its own dense layer.

use super::{BERT_DROPOUT, BERT_SPELLING, ConfigKeys, DropoutKeys, Family, Layout, Projection};
use crate::blocks::BERT_LAYER;
use crate::heads::{HeadNames, MaskNames};
use exegete_engine::Unary;

pub(super) const FAMILY: Family = Family {
    types: &[("roberta", "Roberta"), ("xlm-roberta", "XLMRoberta"), ("camembert", "Camembert")],
    spelling: ConfigKeys { pad: 1, positions_after_pad: true, ..BERT_SPELLING },
    dropout: DropoutKeys { head_in: true, ..BERT_DROPOUT },
    layout: Layout {
        root: "roberta.",
        embeddings: "{root}embeddings",
        projection: Projection::Never,
        layer: "{root}encoder.layer.{n}",
        layer_names: BERT_LAYER,
        head: HeadNames {
            dense: "classifier.dense",
            dense_activation: Unary::Tanh,
            out: "classifier.out_proj",
            pooler: Some("{root}pooler.dense"),
            mask: MaskNames {
                dense: "lm_head.dense",
                activation: Some(Unary::Gelu),
                norm: "lm_head.layer_norm",
                decoder: "lm_head.decoder",
                bias: "lm_head.bias",
            },
        },
    },
};
