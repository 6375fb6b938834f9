//! ALBERT: Lan et al. 2020, "ALBERT: A Lite BERT". Narrow word vectors, and layers that share their weights in groups.

use super::{BERT_SPELLING, ConfigKeys, DropoutKeys, Family, Layout, Projection, Sharing};
use crate::blocks::LayerNames;
use crate::heads::{HeadNames, MaskNames};
use exegete_engine::Unary;

pub(super) const FAMILY: Family = Family {
    types: &[("albert", "Albert")],
    spelling: ConfigKeys {
        activation: ("hidden_act", "gelu_new"),
        word_width: Some(128),
        sharing: Some(Sharing { groups: "num_hidden_groups", inner: "inner_group_num" }),
        ..BERT_SPELLING
    },
    dropout: DropoutKeys {
        hidden: ("hidden_dropout_prob", 0.0),
        attention: ("attention_probs_dropout_prob", 0.0),
        head: ("classifier_dropout_prob", Some(0.1)),
        attention_out: true,
        feed_forward: false,
        head_in: false,
    },
    layout: Layout {
        root: "albert.",
        embeddings: "{root}embeddings",
        projection: Projection::Always("{root}encoder.embedding_hidden_mapping_in"),
        layer: "{root}encoder.albert_layer_groups.{n}.albert_layers.0",
        layer_names: LayerNames {
            query: "attention.query",
            key: "attention.key",
            value: "attention.value",
            attention_out: "attention.dense",
            attention_norm: "attention.LayerNorm",
            inner: "ffn",
            outer: "ffn_output",
            output_norm: "full_layer_layer_norm",
        },
        head: HeadNames {
            dense: "{root}pooler",
            dense_activation: Unary::Tanh,
            out: "classifier",
            pooler: Some("{root}pooler"),
            mask: MaskNames {
                dense: "predictions.dense",
                activation: None,
                norm: "predictions.LayerNorm",
                decoder: "predictions.decoder",
                bias: "predictions.bias",
            },
        },
    },
};
