//! One file a family, and nothing in it but data: how it writes its config, what it assumes where the config is silent,
//! and what it calls its parameters. A new family is one such file and one entry in [`FAMILIES`].

mod albert;
mod bert;
mod distilbert;
mod electra;
mod roberta;

use crate::blocks::{Embeddings, Layer, LayerNames, Linear, Stack};
use crate::config::Config;
use crate::encoder::{Encoder, sites};
use crate::heads::{Head, HeadNames};
use crate::weights::Weights;
use exegete_core::{GroupKind, Result, Task};
use exegete_engine::Scalar;
use std::sync::Arc;

/// Every family, in the order in which messages name their types.
pub static FAMILIES: &[&Family] =
    &[&bert::FAMILY, &roberta::FAMILY, &distilbert::FAMILY, &electra::FAMILY, &albert::FAMILY];

/// What makes a family of encoders; models of one family differ in their sizes only.
#[derive(Debug, PartialEq)]
pub struct Family {
    /// The values of `model_type` that mean it, each with what the names of its transformers classes begin with.
    pub types: &'static [(&'static str, &'static str)],
    /// How its config spells things, and what holds where the config is silent.
    pub spelling: ConfigKeys,
    /// What it drops while training.
    pub dropout: DropoutKeys,
    /// What it calls its parameters.
    pub layout: Layout,
}

/// How a family's `config.json` spells the fields that not all families have in common, with transformers' defaults.
#[derive(Debug, PartialEq)]
pub struct ConfigKeys {
    /// H; where there are several keys, the first that is there counts.
    pub hidden: &'static [&'static str],
    /// L, how many layers there are.
    pub layers: &'static [&'static str],
    /// N, how many heads a layer has.
    pub heads: &'static [&'static str],
    /// Width inside the feed-forward block.
    pub inner: &'static [&'static str],
    /// The key of the feed-forward block's activation, and the activation where it is silent.
    pub activation: (&'static str, &'static str),
    /// The key of the layer norms' ε, none where the family has no such key, and ε where it is silent.
    pub epsilon: (Option<&'static str>, f64),
    /// The padding token where the config is silent.
    pub pad: usize,
    /// Whether positions are counted from the one after the padding token's on, and not from 0.
    pub positions_after_pad: bool,
    /// How many token types there are where the config is silent; none for families that tell none apart.
    pub token_types: Option<usize>,
    /// The width of word vectors where the config is silent, for families that project them to H.
    pub word_width: Option<usize>,
    /// How many sets of weights the layers share; none for families whose layers have weights of their own.
    pub sharing: Option<Sharing>,
}

/// The keys of a config that say how layers share their weights.
#[derive(Debug, PartialEq)]
pub struct Sharing {
    /// How many sets of weights there are, 1 where the config is silent.
    pub groups: &'static str,
    /// How many layers a set holds; anything but 1 is refused.
    pub inner: &'static str,
}

/// The keys of a family's dropout rates with the rates where the config is silent, and the places that not all drop at.
#[derive(Debug, PartialEq)]
pub struct DropoutKeys {
    /// The rate of embeddings and of the blocks' outputs.
    pub hidden: (&'static str, f64),
    /// The rate of attention probabilities.
    pub attention: (&'static str, f64),
    /// The rate of a classifier's head; that of `hidden` where there is no default of its own.
    pub head: (&'static str, Option<f64>),
    /// Whether it drops after the attention's output projection.
    pub attention_out: bool,
    /// Whether it drops after the feed-forward block.
    pub feed_forward: bool,
    /// Whether it drops before the dense layer of a classifier's head.
    pub head_in: bool,
}

/// The paths of a family's parameters. `{root}` stands for the prefix of the encoder's own ones.
#[derive(Debug, PartialEq)]
pub struct Layout {
    /// The prefix of the encoder's own parameters in models with a head; bare encoders are usually without.
    pub root: &'static str,
    /// What word, position and type vectors and their norm lie below.
    pub embeddings: &'static str,
    /// From the width of the word vectors to H.
    pub projection: Projection,
    /// What a layer's parameters lie below; `{n}` stands for its number, or its group's where layers share weights.
    pub layer: &'static str,
    /// The parts of a layer.
    pub layer_names: LayerNames,
    /// The parts of the heads.
    pub head: HeadNames,
}

/// When word vectors are projected to H, and by what.
#[derive(Debug, PartialEq)]
pub enum Projection {
    /// Word vectors are as wide as the layers.
    Never,
    /// By the matrix at this path, where the widths differ.
    WhereNarrower(&'static str),
    /// By the matrix at this path, even where the widths agree.
    Always(&'static str),
}

/// What most families call the fields of their config, and assume where it is silent: BERT's.
const BERT_SPELLING: ConfigKeys = ConfigKeys {
    hidden: &["hidden_size"],
    layers: &["num_hidden_layers"],
    heads: &["num_attention_heads"],
    inner: &["intermediate_size"],
    activation: ("hidden_act", "gelu"),
    epsilon: (Some("layer_norm_eps"), 1e-12),
    pad: 0,
    positions_after_pad: false,
    token_types: Some(2),
    word_width: None,
    sharing: None,
};

/// The names and rates of dropout that most families kept from BERT.
const BERT_DROPOUT: DropoutKeys = DropoutKeys {
    hidden: ("hidden_dropout_prob", 0.1),
    attention: ("attention_probs_dropout_prob", 0.1),
    head: ("classifier_dropout", None),
    attention_out: true,
    feed_forward: true,
    head_in: false,
};

/// The family of a `model_type`.
pub fn of(model_type: &str) -> Option<&'static Family> {
    FAMILIES.iter().copied().find(|family| family.class(model_type).is_some())
}

/// Every `model_type` that can be opened.
pub fn known() -> Vec<&'static str> {
    FAMILIES.iter().flat_map(|family| family.types).map(|(name, _)| *name).collect()
}

impl Family {
    /// What the names of the transformers classes of a `model_type` begin with.
    pub fn class(&self, model_type: &str) -> Option<&'static str> {
        self.types.iter().find(|(name, _)| *name == model_type).map(|(_, class)| *class)
    }
}

impl Projection {
    fn path(&self, c: &Config) -> Option<&'static str> {
        match *self {
            Self::Never => None,
            Self::WhereNarrower(path) => (c.embedding_size != c.hidden_size).then_some(path),
            Self::Always(path) => Some(path),
        }
    }
}

/// The network of a config's family, with its weights.
pub fn build<T: Scalar>(w: &mut Weights<'_, T>, c: &Config, task: &dyn Task) -> Result<Encoder<T>> {
    let layout = &c.family.layout;
    w.find_root(layout.root, &format!("{}.word_embeddings.weight", layout.embeddings));
    w.group_of(GroupKind::Embeddings, "embeddings");
    let path = w.path(layout.embeddings);
    let embeddings = Embeddings::load(w, &path, c)?;
    let path = layout.projection.path(c).map(|path| w.path(path));
    let projection = path.map(|path| Linear::load(w, &path, c.embedding_size, c.hidden_size)).transpose()?;
    let (kind, name) = match c.family.spelling.sharing {
        Some(_) => (GroupKind::Shared, "layers"),
        None => (GroupKind::Part, "layer"),
    };
    let sets = (0..c.num_hidden_groups).map(|n| {
        w.group_of(kind, format!("{name}.{n}"));
        let path = w.path(layout.layer).replace("{n}", &n.to_string());
        Layer::load(w, &path, &layout.layer_names, c).map(Arc::new)
    });
    let sets = sets.collect::<Result<Vec<_>>>()?;
    let stack = Stack((0..c.num_hidden_layers).map(|n| sets[c.group(n)].clone()).collect());
    w.head();
    let head = Head::load(w, &layout.head, &embeddings.word, task, c)?;
    Ok(Encoder { embeddings, projection, stack, head, sites: sites(c, task), inner: c.intermediate_size })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// A family whose file is there but not in the list would be dead code.
    #[test]
    fn every_family_file_is_in_the_list() {
        let list = include_str!("mod.rs");
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/families");
        let mut files = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let stem = name.trim_end_matches(".rs");
            if stem != "mod" {
                files += 1;
                assert!(list.contains(&format!("&{stem}::FAMILY")), "{stem} is not in the list");
            }
        }
        assert_eq!(files, FAMILIES.len());
    }

    #[test]
    fn every_type_has_one_family_and_a_class_of_its_own() {
        let classes: BTreeSet<&str> = known().iter().filter_map(|name| of(name)?.class(name)).collect();
        assert_eq!(classes.len(), known().len());
        assert_eq!(known().into_iter().collect::<BTreeSet<_>>().len(), known().len());
        assert_eq!(of("xlm-roberta").unwrap().class("xlm-roberta"), Some("XLMRoberta"));
        assert!(of("gpt2").is_none());
    }
}
