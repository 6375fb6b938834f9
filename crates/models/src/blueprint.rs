//! What a folder describes: the one place where kinds of network are told apart. Everything that opens, runs, trains and saves
//! asks here.

use crate::config::{Config, Fields, Rates, read_config};
use crate::encoder::Network;
use crate::families;
use crate::small::Small;
use crate::tokenizer::{Tokenize, Tokenizer};
use crate::weights::{Param, Weights};
use exegete_core::{Result, Task};
use exegete_engine::Scalar;
use std::path::Path;
use std::sync::Arc;

/// From what a network is built, beside its parameters.
#[derive(Debug, Clone)]
pub(crate) enum Blueprint {
    /// A transformer encoder with a Hugging Face config.
    Encoder(Config),
    /// A small model with a vocabulary of words.
    Small(Small),
}

/// A network with what the rest of the crate must know of it.
pub(crate) struct Built<T> {
    pub(crate) network: Box<dyn Network<T>>,
    /// The matrix that word vectors are rows of.
    pub(crate) word: Param<T>,
    /// Something that the user should know.
    pub(crate) warning: Option<&'static str>,
}

/// What rows a network can read.
pub(crate) struct Limits {
    pub(crate) tokens: usize,
    pub(crate) vocabulary: usize,
    /// How many words there are to write, which tokens of type 1 are then of.
    pub(crate) target: Option<usize>,
    /// How many token types there are.
    pub(crate) kinds: usize,
}

impl Blueprint {
    /// Reads what a folder describes.
    pub(crate) fn read(dir: &Path) -> Result<Self> {
        let (place, text) = read_config(dir)?;
        if Fields::parse(&place, &text).is_ok_and(|fields| crate::small::SmallConfig::is(&fields)) {
            return Ok(Self::Small(Small::read(dir, &place, text)?));
        }
        Ok(Self::Encoder(Config::parse_at(&place, text)?))
    }

    /// The tokenizer of its folder.
    pub(crate) fn tokenizer(&self, dir: &Path) -> Result<Arc<dyn Tokenize>> {
        Ok(match self {
            Self::Encoder(config) => Arc::new(Tokenizer::open(dir, config)?),
            Self::Small(small) => Arc::new(small.tokenizer()),
        })
    }

    /// The tokenizer that a `tokenizer.json` describes; small models have none and keep their own.
    pub(crate) fn tokenizer_from_json(&self, place: &str, text: &str) -> Result<Arc<dyn Tokenize>> {
        Ok(match self {
            Self::Encoder(config) => Arc::new(Tokenizer::from_json(place, text, config)?),
            Self::Small(small) => Arc::new(small.tokenizer()),
        })
    }

    pub(crate) fn task(&self) -> Result<&'static dyn Task> {
        match self {
            Self::Encoder(config) => config.task(),
            Self::Small(small) => Ok(small.task()),
        }
    }

    /// Class names in the order of the logits.
    pub(crate) fn labels(&self) -> &[String] {
        match self {
            Self::Encoder(config) => config.labels(),
            Self::Small(small) => &small.config.labels,
        }
    }

    /// What cards call the architecture.
    pub(crate) fn family(&self) -> &str {
        match self {
            Self::Encoder(config) => &config.model_type,
            Self::Small(small) => &small.config.kind,
        }
    }

    /// The text of the config.
    pub(crate) fn source(&self) -> &str {
        match self {
            Self::Encoder(config) => &config.source,
            Self::Small(small) => &small.config.source,
        }
    }

    pub(crate) fn limits(&self) -> Limits {
        match self {
            Self::Encoder(c) => {
                let kinds = c.type_vocab_size.max(1);
                Limits { tokens: c.max_tokens(), vocabulary: c.vocab_size, target: None, kinds }
            }
            Self::Small(small) => small.limits(),
        }
    }

    /// The sizes that cards show.
    pub(crate) fn sizes(&self) -> Vec<(&'static str, usize)> {
        match self {
            Self::Encoder(c) => vec![
                ("layers", c.num_hidden_layers),
                ("hidden", c.hidden_size),
                ("heads", c.num_attention_heads),
            ],
            Self::Small(small) => small.sizes(),
        }
    }

    /// Dropout while training: its own, or one rate at every place that drops anything.
    pub(crate) fn dropout(&self, rate: Option<f64>) -> Rates {
        match self {
            Self::Encoder(c) => rate.map_or(c.dropout, |rate| c.uniform_dropout(rate)),
            Self::Small(small) => small.dropout(rate),
        }
    }

    /// The network with its weights.
    pub(crate) fn build<T: Scalar>(&self, w: &mut Weights<'_, T>, task: &dyn Task) -> Result<Built<T>> {
        match self {
            Self::Encoder(config) => {
                let network = families::build(w, config, task)?;
                let bare = network.head.pooler_is_missing();
                let warning =
                    bare.then_some("there is no pooler; the pooled vector is the first token's state");
                Ok(Built { word: network.embeddings.word.clone(), network: Box::new(network), warning })
            }
            Self::Small(small) => small.build(w, task),
        }
    }
}
