//! Small models: recurrent, convolutional and attentive networks over words, in folders like any other.
//!
//! 1. [`SmallConfig`] is the folder's `config.json`, with `kind` where Hugging Face has `model_type`; `vocab.txt` has its words.
//! 2. `network` reads top to bottom: word vectors → an encoder (`states`) → attention (`pooling`) → a head;
//!    `atae`, `han` and `seq2seq` are networks of their own.
//! 3. [`SmallStart`] is a model before its training: a config, a vocabulary, perhaps [`WordVectors`], a seed.

mod atae;
mod config;
mod decoder;
mod han;
mod network;
mod pooling;
mod seq2seq;
mod size;
mod start;
mod states;
mod stepped;
mod task;
mod vectors;

pub use config::{KINDS, SmallAttention, SmallConfig, SmallEncoder, SmallHead};
pub(crate) use start::FirstValues;
pub use start::SmallStart;
pub use task::{SEQUENCE_TO_SEQUENCE, SequenceToSequence};
pub use vectors::WordVectors;

use crate::blueprint::{Built, Limits};
use crate::config::Rates;
use crate::tokenizer::{TARGET_VOCABULARY_FILE, VOCABULARY_FILE, WordTokenizer, WordVocabulary};
use crate::weights::Weights;
use exegete_core::task::CLASSIFICATION;
use exegete_core::{Result, Task};
use exegete_engine::Scalar;
use std::path::Path;
use std::sync::Arc;

/// A recurrent layer reads texts of any length; this bounds what one text may cost.
const MAX_TOKENS: usize = 1 << 16;

/// What a small model is built from, beside its parameters.
#[derive(Debug, Clone)]
pub(crate) struct Small {
    pub(crate) config: SmallConfig,
    pub(crate) vocabulary: Arc<WordVocabulary>,
    /// The words of what it writes, where it writes.
    pub(crate) target: Option<Arc<WordVocabulary>>,
}

impl Small {
    pub(crate) fn read(dir: &Path, place: &str, config: String) -> Result<Self> {
        let config = SmallConfig::parse(place, config)?;
        let read = |file| WordVocabulary::read(dir, file).map(Arc::new);
        let target = config.writes().then(|| read(TARGET_VOCABULARY_FILE)).transpose()?;
        Ok(Self { config, vocabulary: read(VOCABULARY_FILE)?, target })
    }

    /// The same model for other classes.
    pub(crate) fn with_labels(&self, labels: &[String]) -> Result<Self> {
        let config = SmallConfig::parse("config.json", self.config.with_labels(labels)?)?;
        Ok(Self { config, ..self.clone() })
    }

    pub(crate) fn tokenizer(&self) -> WordTokenizer {
        let (lowercase, fields) = (self.config.lowercase, self.config.fields());
        let (vocabulary, sentences) = (self.vocabulary.clone(), self.config.kind == "han");
        let imposed = self.config.attention == SmallAttention::Imposed;
        let target = self.target.clone();
        WordTokenizer { vocabulary, target, lowercase, fields, sentences, imposed, max_tokens: MAX_TOKENS }
    }

    pub(crate) fn limits(&self) -> Limits {
        let (vocabulary, kinds) = (self.vocabulary.len(), self.config.fields());
        let target = self.target.as_ref().map(|words| words.len());
        Limits { tokens: MAX_TOKENS, vocabulary, target, kinds }
    }

    /// The words of what it writes.
    pub(crate) fn written(&self) -> &WordVocabulary {
        self.target.as_ref().unwrap_or(&self.vocabulary)
    }

    pub(crate) fn task(&self) -> &'static dyn Task {
        if self.config.writes() { &SEQUENCE_TO_SEQUENCE } else { &CLASSIFICATION }
    }

    pub(crate) fn sizes(&self) -> Vec<(&'static str, usize)> {
        let c = &self.config;
        let recurrent = matches!(c.encoder, SmallEncoder::Recurrent(_));
        let own = recurrent.then_some([("layers", c.layers), ("directions", c.directions)]);
        let rest = [("embedding", c.embedding), ("hidden", c.width()), ("vocabulary", self.vocabulary.len())];
        let target = self.target.as_ref().map(|words| ("target_vocabulary", words.len()));
        own.into_iter().flatten().chain(rest).chain(target).collect()
    }

    /// Its own rates, or one rate wherever its kind drops anything; where it does not, before the encoder and the head.
    pub(crate) fn dropout(&self, rate: Option<f64>) -> Rates {
        let (own, Some(rate)) = (self.config.dropout, rate) else { return self.config.dropout };
        if own == Rates::default() {
            return Rates { embedding: rate, head: rate, ..own };
        }
        let there = |own: f64| if own > 0.0 { rate } else { 0.0 };
        Rates {
            embedding: there(own.embedding),
            attention_out: there(own.attention_out),
            feed_forward: there(own.feed_forward),
            head: there(own.head),
            ..own
        }
    }

    pub(crate) fn build<T: Scalar>(&self, w: &mut Weights<'_, T>, task: &dyn Task) -> Result<Built<T>> {
        Ok(match self.config.kind.as_str() {
            "atae" => {
                let network = atae::Atae::load(w, self, task)?;
                Built { word: network.word.clone(), network: Box::new(network), warning: None }
            }
            "han" => {
                let network = han::Han::load(w, self, task)?;
                Built { word: network.word.clone(), network: Box::new(network), warning: None }
            }
            "seq2seq" => {
                let network = seq2seq::Seq2seq::load(w, self, task)?;
                Built { word: network.word.clone(), network: Box::new(network), warning: None }
            }
            _ => {
                let network = network::Classifier::load(w, self, task)?;
                Built { word: network.word().clone(), network: Box::new(network), warning: None }
            }
        })
    }
}
