//! ELECTRA: Clark et al. 2020, "ELECTRA: Pre-training Text Encoders as Discriminators Rather Than Generators".
//! BERT's layers behind narrower word vectors, and no pooler.

use super::{BERT_DROPOUT, BERT_SPELLING, ConfigKeys, DropoutKeys, Family, Layout, Projection};
use crate::blocks::BERT_LAYER;
use crate::heads::{HeadNames, MaskNames};
use exegete_engine::Unary;

pub(super) const FAMILY: Family = Family {
    types: &[("electra", "Electra")],
    spelling: ConfigKeys { word_width: Some(128), ..BERT_SPELLING },
    dropout: DropoutKeys { head_in: true, ..BERT_DROPOUT },
    layout: Layout {
        root: "electra.",
        embeddings: "{root}embeddings",
        projection: Projection::WhereNarrower("{root}embeddings_project"),
        layer: "{root}encoder.layer.{n}",
        layer_names: BERT_LAYER,
        head: HeadNames {
            dense: "classifier.dense",
            dense_activation: Unary::Gelu,
            out: "classifier.out_proj",
            pooler: None,
            mask: MaskNames {
                dense: "generator_predictions.dense",
                activation: Some(Unary::Gelu),
                norm: "generator_predictions.LayerNorm",
                decoder: "generator_lm_head",
                bias: "generator_lm_head.bias",
            },
        },
    },
};
