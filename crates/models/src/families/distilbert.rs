//! DistilBERT: Sanh et al. 2019, "DistilBERT, a distilled version of BERT". Half the layers, no token types, no pooler.

use super::{BERT_SPELLING, ConfigKeys, DropoutKeys, Family, Layout, Projection};
use crate::blocks::LayerNames;
use crate::heads::{HeadNames, MaskNames};
use exegete_engine::Unary;

pub(super) const FAMILY: Family = Family {
    types: &[("distilbert", "DistilBert")],
    spelling: ConfigKeys {
        hidden: &["dim", "hidden_size"],
        layers: &["n_layers", "num_hidden_layers"],
        heads: &["n_heads", "num_attention_heads"],
        inner: &["hidden_dim", "intermediate_size"],
        activation: ("activation", "gelu"),
        // DistilBERT ignores the field that other families have.
        epsilon: (None, 1e-12),
        token_types: None,
        ..BERT_SPELLING
    },
    dropout: DropoutKeys {
        hidden: ("dropout", 0.1),
        attention: ("attention_dropout", 0.1),
        head: ("seq_classif_dropout", Some(0.2)),
        attention_out: false,
        feed_forward: true,
        head_in: false,
    },
    layout: Layout {
        root: "distilbert.",
        embeddings: "{root}embeddings",
        projection: Projection::Never,
        layer: "{root}transformer.layer.{n}",
        layer_names: LayerNames {
            query: "attention.q_lin",
            key: "attention.k_lin",
            value: "attention.v_lin",
            attention_out: "attention.out_lin",
            attention_norm: "sa_layer_norm",
            inner: "ffn.lin1",
            outer: "ffn.lin2",
            output_norm: "output_layer_norm",
        },
        head: HeadNames {
            dense: "pre_classifier",
            dense_activation: Unary::Relu,
            out: "classifier",
            pooler: None,
            mask: MaskNames {
                dense: "vocab_transform",
                activation: None,
                norm: "vocab_layer_norm",
                decoder: "vocab_projector",
                bias: "vocab_projector.bias",
            },
        },
    },
};
