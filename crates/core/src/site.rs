use crate::Error;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A named place in a model. Written `embed.word`, `layer.3.attn.probs`, `logits`.
///
/// The order is the order of computation, so that `a < b` means `b` may depend on `a`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Site {
    /// The looked-up word vectors.
    EmbedWord,
    /// After position, type and norm; before a projection where a family has one.
    Embed,
    /// A place inside a layer; layers count from 0.
    Layer(usize, Place),
    /// The vector the head reads, after its activation.
    Pooled,
    /// The model's output.
    Logits,
}

/// A place inside one encoder layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Queries.
    Query,
    /// Keys.
    Key,
    /// Values.
    Value,
    /// Attention scores after scaling, before the softmax.
    Scores,
    /// Attention probabilities.
    Probs,
    /// The context of each head.
    Head,
    /// After the output projection, before the residual.
    AttentionOut,
    /// After residual and norm.
    AttentionNorm,
    /// After the feed-forward activation.
    FeedForwardInner,
    /// Before the second residual.
    FeedForwardOut,
    /// The layer's output.
    Out,
}

impl Place {
    /// Every place, in the order of computation.
    pub const ALL: [Self; 11] = [
        Self::Query,
        Self::Key,
        Self::Value,
        Self::Scores,
        Self::Probs,
        Self::Head,
        Self::AttentionOut,
        Self::AttentionNorm,
        Self::FeedForwardInner,
        Self::FeedForwardOut,
        Self::Out,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Query => "attn.q",
            Self::Key => "attn.k",
            Self::Value => "attn.v",
            Self::Scores => "attn.scores",
            Self::Probs => "attn.probs",
            Self::Head => "attn.head",
            Self::AttentionOut => "attn.out",
            Self::AttentionNorm => "attn.norm",
            Self::FeedForwardInner => "ffn.inner",
            Self::FeedForwardOut => "ffn.out",
            Self::Out => "out",
        }
    }
}

impl Site {
    /// Whether a run can start here.
    pub fn is_cut(self) -> bool {
        matches!(self, Self::EmbedWord | Self::Embed | Self::Layer(_, Place::Out))
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmbedWord => f.write_str("embed.word"),
            Self::Embed => f.write_str("embed"),
            Self::Layer(n, place) => write!(f, "layer.{n}.{}", place.name()),
            Self::Pooled => f.write_str("pooled"),
            Self::Logits => f.write_str("logits"),
        }
    }
}

impl FromStr for Site {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let layer = || {
            let (number, place) = text.strip_prefix("layer.")?.split_once('.')?;
            let place = Place::ALL.into_iter().find(|p| p.name() == place)?;
            Some(Self::Layer(number.parse().ok()?, place))
        };
        match text {
            "embed.word" => Ok(Self::EmbedWord),
            "embed" => Ok(Self::Embed),
            "pooled" => Ok(Self::Pooled),
            "logits" => Ok(Self::Logits),
            _ => layer().ok_or_else(|| {
                Error::Request(format!(
                    "'{text}' is not a site; `exegete model sites` lists them, for example layer.3.out"
                ))
            }),
        }
    }
}

impl Serialize for Site {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Site {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// One axis of a site's per-row value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// One entry a token of the row; its length changes from row to row.
    Token,
    /// One entry an attention head.
    Head(usize),
    /// One entry a neuron or dimension.
    Unit(usize),
    /// One entry an output class.
    Class(usize),
}

impl Axis {
    /// Its length for a row of `tokens` tokens.
    pub fn len(self, tokens: usize) -> usize {
        match self {
            Self::Token => tokens,
            Self::Head(n) | Self::Unit(n) | Self::Class(n) => n,
        }
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token => f.write_str("token"),
            Self::Head(n) => write!(f, "head {n}"),
            Self::Unit(n) => write!(f, "unit {n}"),
            Self::Class(n) => write!(f, "class {n}"),
        }
    }
}

/// A site with its axes, as data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SiteInfo {
    /// The place.
    pub site: Site,
    /// The axes of one row's value, outermost first.
    pub axes: Vec<Axis>,
}

impl SiteInfo {
    /// The shape of a row of `tokens` tokens.
    pub fn shape(&self, tokens: usize) -> Vec<usize> {
        self.axes.iter().map(|axis| axis.len(tokens)).collect()
    }
}
