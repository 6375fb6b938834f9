//! What a `config.json` says, as far as an encoder needs it: sizes, activation, task and labels.
//!
//! The families spell the same things differently (DistilBERT's `dim` is everyone's `hidden_size`) and older files leave
//! out what transformers has as a default. Both are settled here, so that a family's file reads plain fields.

mod family;
mod fields;
mod task;
#[cfg(test)]
mod tests;

use crate::families::Family;
use crate::fault::{fault, read_text};
use exegete_core::Result;
pub(crate) use fields::Fields;
use std::path::Path;

/// No encoder in existence comes near; a larger size is a damaged or hostile file.
const MAX_SIZE: usize = 1_000_000;

/// The pointwise function between the two feed-forward products.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// The exact GELU: x·Φ(x).
    Gelu,
    /// The tanh approximation of it.
    GeluTanh,
    /// The rectifier: max(x, 0).
    Relu,
    /// The hyperbolic tangent: tanh(x).
    Tanh,
    /// The sigmoid-weighted unit: x·sigmoid(x).
    Silu,
}

impl Activation {
    /// By the name that transformers uses.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "gelu" | "gelu_python" => Some(Self::Gelu),
            "gelu_new" | "gelu_pytorch_tanh" | "gelu_fast" | "gelu_accurate" => Some(Self::GeluTanh),
            "relu" => Some(Self::Relu),
            "tanh" => Some(Self::Tanh),
            "silu" | "swish" => Some(Self::Silu),
            _ => None,
        }
    }
}

/// The share of elements that training drops at each place; all 0 for inference.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Rates {
    /// After the embeddings' norm.
    pub embedding: f64,
    /// The rate for attention probabilities, in [0, 1).
    pub attention: f64,
    /// After the attention's output projection.
    pub attention_out: f64,
    /// After the feed-forward block.
    pub feed_forward: f64,
    /// Before the dense layer of a classifier's head.
    pub head_in: f64,
    /// After the dense layer of a classifier's head.
    pub head: f64,
}

/// What the config of a trained folder calls the number of texts that it was trained on together; no other tool's has it.
pub(crate) const TEXT_FIELDS: &str = "text_fields";

/// A `config.json` that has been checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// One of those that [`known`](crate::families::known) lists.
    pub model_type: String,
    /// The family that the type belongs to.
    pub family: &'static Family,
    /// The class that saved the weights, where the file says.
    pub architecture: Option<String>,
    /// H, the width of a token's vector.
    pub hidden_size: usize,
    /// Width of the word vectors before a projection; H for families without one.
    pub embedding_size: usize,
    /// L, how many layers there are.
    pub num_hidden_layers: usize,
    /// N, how many attention heads a layer has; it divides H.
    pub num_attention_heads: usize,
    /// Width inside the feed-forward block.
    pub intermediate_size: usize,
    /// V, how many tokens are known.
    pub vocab_size: usize,
    /// Rows of the position matrix.
    pub max_position_embeddings: usize,
    /// Rows of the token-type matrix; 0 for families without one.
    pub type_vocab_size: usize,
    /// ε of every layer norm.
    pub layer_norm_eps: f64,
    /// The activation of the feed-forward block.
    pub hidden_act: Activation,
    /// The padding token; RoBERTa counts positions from the one after it.
    pub pad_token_id: usize,
    /// How many sets of layer weights there are: L for most families; ALBERT shares them.
    pub num_hidden_groups: usize,
    /// Whether a masked-LM decoder is the word matrix when the checkpoint has no decoder of its own.
    pub tie_word_embeddings: bool,
    /// The rates of dropout while training, shares from 0 to 1.
    pub dropout: Rates,
    /// `regression`, `single_label_classification`, `multi_label_classification`, where the file says.
    pub problem_type: Option<String>,
    /// How many texts it reads together, where the file says.
    pub text_fields: Option<usize>,
    labels: Vec<String>,
    /// The file's path, for messages.
    place: String,
    /// The file as it was read, for the fingerprint.
    pub source: String,
}

/// The `config.json` of a folder: its path for messages, and its text.
pub(crate) fn read_config(dir: &Path) -> Result<(String, String)> {
    let path = dir.join("config.json");
    if !dir.is_dir() {
        return Err(fault(
            dir.display(),
            "there is no such folder; give the path of a Hugging Face model folder",
        ));
    }
    if !path.exists() {
        return Err(fault(
            dir.display(),
            "holds no config.json; give the path of a Hugging Face model folder",
        ));
    }
    Ok((path.display().to_string(), read_text(&path)?))
}

impl Config {
    /// Reads and checks the `config.json` of a folder.
    pub fn read(dir: &Path) -> Result<Self> {
        let (place, text) = read_config(dir)?;
        Self::parse_at(&place, text)
    }

    /// Checks the text of a `config.json`.
    pub fn parse(text: impl Into<String>) -> Result<Self> {
        Self::parse_at("config.json", text.into())
    }

    /// Class names in the order of the logits.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// One rate of dropout at every place where the family drops anything.
    pub fn uniform_dropout(&self, rate: f64) -> Rates {
        family::places(&self.family.dropout, rate, rate, rate)
    }

    /// The longest input in tokens, special ones included.
    pub fn max_tokens(&self) -> usize {
        self.max_position_embeddings.saturating_sub(self.first_position())
    }

    /// The row of the position matrix that the first token takes: RoBERTa leaves out those up to the padding token's.
    pub fn first_position(&self) -> usize {
        if self.family.spelling.positions_after_pad { self.pad_token_id + 1 } else { 0 }
    }

    /// Which set of layer weights a layer uses.
    pub fn group(&self, layer: usize) -> usize {
        // transformers computes int(layer / (L / groups)); in integers this is the same without rounding.
        layer * self.num_hidden_groups / self.num_hidden_layers
    }

    pub(crate) fn parse_at(place: &str, text: String) -> Result<Self> {
        let fields = Fields::parse(place, &text)?;
        let (model_type, family) = family::known_type(&fields)?;
        family::refuse(&fields)?;
        let spelling = &family.spelling;
        let hidden_size = fields.size(spelling.hidden)?;
        let num_hidden_layers = fields.size(spelling.layers)?;
        let num_attention_heads = fields.size(spelling.heads)?;
        let intermediate_size = fields.size(spelling.inner)?;
        let config = Self {
            architecture: fields.first_text("architectures")?,
            hidden_size,
            num_hidden_layers,
            num_attention_heads,
            intermediate_size,
            embedding_size: match spelling.word_width {
                Some(width) => fields.size_or(&["embedding_size"], width)?,
                None => hidden_size,
            },
            vocab_size: fields.size(&["vocab_size"])?,
            max_position_embeddings: fields.size(&["max_position_embeddings"])?,
            type_vocab_size: match spelling.token_types {
                Some(types) => fields.size_or(&["type_vocab_size"], types)?,
                None => 0,
            },
            layer_norm_eps: match spelling.epsilon {
                (Some(key), epsilon) => fields.number_or(key, epsilon)?,
                (None, epsilon) => epsilon,
            },
            hidden_act: family::activation(&fields, spelling.activation)?,
            pad_token_id: fields.whole_or("pad_token_id", spelling.pad)?,
            num_hidden_groups: match &spelling.sharing {
                Some(keys) => family::groups(&fields, keys, num_hidden_layers)?,
                None => num_hidden_layers,
            },
            tie_word_embeddings: fields.flag_or("tie_word_embeddings", true)?,
            dropout: family::dropout(&fields, &family.dropout)?,
            problem_type: fields.text("problem_type")?,
            text_fields: match fields.get(TEXT_FIELDS) {
                Some(_) => Some(fields.size(&[TEXT_FIELDS])?),
                None => None,
            },
            labels: task::labels(&fields)?,
            source: String::new(),
            place: place.to_owned(),
            model_type,
            family,
        };
        config.check(place)?;
        Ok(Self { source: text, ..config })
    }

    /// What no single field shows.
    fn check(&self, place: &str) -> Result<()> {
        let (hidden, heads) = (self.hidden_size, self.num_attention_heads);
        if !hidden.is_multiple_of(heads) {
            return Err(fault(
                place,
                format!("hidden size {hidden} is not divisible by {heads} attention heads"),
            ));
        }
        let (positions, first) = (self.max_position_embeddings, self.first_position());
        if positions <= first {
            let what =
                format!("max_position_embeddings {positions} leaves no room: positions start at {first}");
            return Err(fault(place, what));
        }
        let epsilon = self.layer_norm_eps;
        if !(epsilon > 0.0 && epsilon < 1.0) {
            return Err(fault(
                place,
                format!("layer_norm_eps is {epsilon}, expected a small positive number"),
            ));
        }
        Ok(())
    }
}
