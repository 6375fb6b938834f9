//! What the `config.json` of a small model says: `kind` in the place of Hugging Face's `model_type`.

use crate::config::{Fields, Rates};
use crate::fault::fault;
use exegete_core::task::Widths;
use exegete_core::{Error, Result};
use exegete_engine::RecurrentCell;
use serde_json::{Map, Value, json};

/// What turns word vectors into states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SmallEncoder {
    /// The states are the word vectors.
    None,
    /// tanh(W e + b) of each word by itself.
    Average,
    /// Convolutions of several widths with a rectifier, side by side.
    Convolution {
        /// How many words each reads.
        widths: Vec<usize>,
        /// How many features each finds.
        channels: usize,
    },
    /// A recurrent layer, or several.
    Recurrent(RecurrentCell),
}

/// How states become one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmallAttention {
    /// Scores v·tanh(W h + b), with a query v·tanh(W h + b + U q + c).
    Additive,
    /// Scores v·h/√m, with a query q·h/√m.
    Dot,
    /// The same weight for every word.
    Uniform,
    /// No weights: the last states of a recurrent layer, else the mean over words.
    None,
    /// No weights: the largest value over words, rectified.
    Max,
    /// Scores v·tanh(W \[s; h\] + b) from a decoder's state before its step.
    Bahdanau,
    /// Scores s·W h from a decoder's state after its step.
    Luong,
    /// The weights that every text brings along.
    Imposed,
}

/// What the model reads and how it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmallHead {
    /// One text, a linear layer.
    Text,
    /// Two texts, the second as the query of the attention.
    Pair,
    /// One text, from which another is written.
    Sequence,
    /// A story and a question; answers that do not occur in the story are ruled out.
    EntityQa,
}

/// A checked config of a small model.
#[derive(Debug, Clone, PartialEq)]
pub struct SmallConfig {
    /// The kind of model, one of [`KINDS`].
    pub kind: String,
    /// What makes states of words.
    pub encoder: SmallEncoder,
    /// What weighs the states.
    pub attention: SmallAttention,
    /// What it reads and answers.
    pub head: SmallHead,
    /// 1 or 2, for recurrent encoders.
    pub directions: usize,
    /// How many recurrent layers lie one above the other.
    pub layers: usize,
    /// H of one direction; the width of `average`.
    pub hidden: usize,
    /// d, the width of word vectors.
    pub embedding: usize,
    /// a, the width inside additive attention.
    pub attention_hidden: usize,
    /// Whether words are looked up in lower case.
    pub lowercase: bool,
    /// Class names in the order of the logits.
    pub labels: Vec<String>,
    /// The rates of dropout while training, shares from 0 to 1.
    pub dropout: Rates,
    /// The file as it was read, for the fingerprint.
    pub source: String,
}

/// Every kind that can be opened.
pub const KINDS: [&str; 11] =
    ["none", "average", "cnn", "rnn", "gru", "lstm", "kim", "flan", "atae", "han", "seq2seq"];
/// No small model has more layers, or convolutions that are wider.
const MOST_LAYERS: usize = 64;

impl SmallConfig {
    /// Whether a config is that of a small model.
    pub(crate) fn is(fields: &Fields) -> bool {
        fields.get("kind").is_some() && fields.get("model_type").is_none()
    }

    /// Checks the text of a `config.json`, which messages call `place`.
    pub fn parse(place: &str, text: impl Into<String>) -> Result<Self> {
        let source = text.into();
        let fields = Fields::parse(place, &source)?;
        let kind = choice(&fields, "kind", &KINDS.map(|kind| (kind, kind)), None)?;
        let encoder = encoder(&fields, kind)?;
        let own = match kind {
            "atae" => SmallHead::Pair,
            "seq2seq" => SmallHead::Sequence,
            _ => SmallHead::Text,
        };
        let head = choice(&fields, "head", &HEADS, Some(own))?;
        let [embedding, hidden, directions] = match kind {
            "flan" | "han" => [200, 50, 2],
            "atae" => [300, 300, 1],
            "seq2seq" => [64, 128, 2],
            _ => [300, 128, 2],
        };
        let mut config = Self {
            attention: match kind {
                "kim" => {
                    choice(&fields, "attention", &[("none", SmallAttention::Max)], Some(SmallAttention::Max))?
                }
                // Last states of single sentences would be a third way of reading them that no paper has.
                "han" => choice(&fields, "attention", &ATTENTIONS[..3], Some(SmallAttention::Additive))?,
                "atae" => choice(&fields, "attention", &ATTENTIONS[..1], Some(SmallAttention::Additive))?,
                "seq2seq" => choice(&fields, "attention", &WRITING, Some(SmallAttention::Bahdanau))?,
                _ => choice(&fields, "attention", &ATTENTIONS, Some(SmallAttention::Additive))?,
            },
            directions: fields.size_or(&["directions"], directions)?,
            layers: fields.size_or(&["layers"], 1)?,
            hidden: fields.size_or(&["hidden"], hidden)?,
            embedding: fields.size_or(&["embedding"], embedding)?,
            attention_hidden: 0,
            lowercase: fields.flag_or("lowercase", true)?,
            labels: if kind == "seq2seq" && fields.get("labels").is_none() {
                Vec::new()
            } else {
                labels(&fields)?
            },
            dropout: dropout(kind, &encoder),
            kind: kind.to_owned(),
            encoder,
            head,
            source: String::new(),
        };
        let own = match kind {
            "flan" | "atae" | "han" => config.width(),
            "seq2seq" => config.hidden,
            _ => config.width() / 2,
        };
        config.attention_hidden = fields.size_or(&["attention_hidden"], own.max(1))?;
        config.check(place)?;
        Ok(Self { source, ..config })
    }

    /// m, the width of a state.
    pub fn width(&self) -> usize {
        match &self.encoder {
            SmallEncoder::None => self.embedding,
            SmallEncoder::Average => self.hidden,
            SmallEncoder::Convolution { widths, channels } => widths.len() * channels,
            SmallEncoder::Recurrent(_) => self.directions * self.hidden,
        }
    }

    /// Whether it writes a text and does not choose a class.
    pub fn writes(&self) -> bool {
        self.head == SmallHead::Sequence
    }

    /// How many texts it reads.
    pub fn fields(&self) -> usize {
        if self.head == SmallHead::Text { 1 } else { 2 }
    }

    /// The sizes that an output's width follows from.
    pub(crate) fn widths(&self, vocabulary: usize) -> Widths {
        Widths { labels: self.labels.len(), hidden: self.width(), vocabulary }
    }

    /// The text of a config that says all of this, whatever its defaults were.
    pub fn complete(&self) -> String {
        let attention = ATTENTIONS
            .iter()
            .chain(&WRITING)
            .find(|(_, how)| *how == self.attention)
            .map_or("none", |(name, _)| name);
        let head = HEADS.iter().find(|(_, head)| *head == self.head).map(|(name, _)| *name);
        let (encoder, convolution) = match &self.encoder {
            SmallEncoder::None => ("none", None),
            SmallEncoder::Average => ("average", None),
            SmallEncoder::Convolution { widths, channels } => (
                if ["cnn", "kim"].contains(&&*self.kind) { &*self.kind } else { "conv" },
                Some((widths, channels)),
            ),
            SmallEncoder::Recurrent(RecurrentCell::Tanh) => ("rnn", None),
            SmallEncoder::Recurrent(RecurrentCell::Gru) => ("gru", None),
            SmallEncoder::Recurrent(RecurrentCell::Lstm) => ("lstm", None),
        };
        let mut fields = json!({
            "kind": self.kind, "encoder": encoder, "attention": attention, "head": head,
            "directions": self.directions, "layers": self.layers, "hidden": self.hidden, "embedding": self.embedding,
            "attention_hidden": self.attention_hidden, "lowercase": self.lowercase, "labels": self.labels,
        });
        if let (Some((widths, channels)), Some(map)) = (convolution, fields.as_object_mut()) {
            map.insert("widths".into(), json!(widths));
            map.insert("channels".into(), json!(channels));
        }
        format!("{fields:#}")
    }

    /// The text of the same config with other classes.
    pub(crate) fn with_labels(&self, labels: &[String]) -> Result<String> {
        let broken = |e: serde_json::Error| Error::Model(format!("config.json: is no JSON object: {e}"));
        let mut map: Map<String, Value> = serde_json::from_str(&self.source).map_err(broken)?;
        map.insert("labels".into(), json!(labels));
        serde_json::to_string_pretty(&map).map_err(broken)
    }

    fn check(&self, place: &str) -> Result<()> {
        let recurrent = matches!(self.encoder, SmallEncoder::Recurrent(_));
        let atae = self.kind == "atae";
        let (sequence, two_ways) = (self.kind == "seq2seq", self.directions == 2);
        let wrong = [
            (self.directions > 2, "'directions' must be 1 or 2"),
            (self.layers > MOST_LAYERS, "'layers' is absurdly large"),
            (!recurrent && self.layers > 1, "'layers' above 1 are for recurrent kinds"),
            (self.kind == "kim" && self.head != SmallHead::Text, "'kim' reads one text, 'head' must be text"),
            (self.kind == "han" && self.head != SmallHead::Text, "'han' reads one text, 'head' must be text"),
            (atae && self.head != SmallHead::Pair, "'atae' reads a text and an aspect, 'head' must be pair"),
            (atae && self.directions != 1, "'atae' reads in one direction, 'directions' must be 1"),
            (sequence != self.writes(), "'head' is sequence for 'seq2seq' and for no other kind"),
            (sequence && !two_ways, "'seq2seq' reads in both directions, 'directions' must be 2"),
            (sequence && self.layers != 1, "'seq2seq' has one layer, 'layers' must be 1"),
            (
                sequence && !self.labels.is_empty(),
                "'seq2seq' writes words and has no classes; leave out 'labels'",
            ),
            (!sequence && self.labels.len() < 2, "'labels' must name at least two classes"),
        ];
        match wrong.iter().find(|(wrong, _)| *wrong) {
            Some((_, what)) => Err(fault(place, what)),
            None => Ok(()),
        }
    }
}

const HEADS: [(&str, SmallHead); 4] = [
    ("text", SmallHead::Text),
    ("pair", SmallHead::Pair),
    ("entity_qa", SmallHead::EntityQa),
    ("sequence", SmallHead::Sequence),
];
const ATTENTIONS: [(&str, SmallAttention); 5] = [
    ("additive", SmallAttention::Additive),
    ("dot", SmallAttention::Dot),
    ("uniform", SmallAttention::Uniform),
    ("none", SmallAttention::None),
    ("imposed", SmallAttention::Imposed),
];
/// How a text that is written attends to its source.
const WRITING: [(&str, SmallAttention); 4] = [
    ("bahdanau", SmallAttention::Bahdanau),
    ("luong", SmallAttention::Luong),
    ("uniform", SmallAttention::Uniform),
    ("none", SmallAttention::None),
];

/// A field of few words, one of which it must be.
fn choice<C: Clone>(fields: &Fields, key: &str, known: &[(&str, C)], default: Option<C>) -> Result<C> {
    let names = || known.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    match (fields.text(key)?, default) {
        (Some(given), _) => {
            let found = known.iter().find(|(name, _)| *name == given);
            let unknown = || fault(fields.place(), format!("'{key}' is '{given}'; known are {}", names()));
            found.map(|(_, value)| value.clone()).ok_or_else(unknown)
        }
        (None, Some(default)) => Ok(default),
        (None, None) => Err(fault(fields.place(), format!("'{key}' is missing; known are {}", names()))),
    }
}

/// What a kind encodes with; only `flan` and `han` have a choice.
fn encoder(fields: &Fields, kind: &str) -> Result<SmallEncoder> {
    let name = match kind {
        "atae" => "lstm",
        "seq2seq" => "gru",
        "flan" | "han" => {
            choice(fields, "encoder", &["gru", "conv", "none"].map(|name| (name, name)), Some("gru"))?
        }
        kind => kind,
    };
    if let Some(given) = fields.text("encoder")?.filter(|given| given != name) {
        let what = format!("'encoder' is '{given}', but the kind '{kind}' has no choice; leave it out");
        return Err(fault(fields.place(), what));
    }
    let convolution = |widths: &[usize], channels| {
        let channels = fields.size_or(&["channels"], channels)?;
        Ok(SmallEncoder::Convolution { widths: widths_of(fields, widths)?, channels })
    };
    match name {
        "none" => Ok(SmallEncoder::None),
        "average" => Ok(SmallEncoder::Average),
        "cnn" => convolution(&[1, 3, 5, 7], 32),
        "kim" => convolution(&[3, 4, 5], 100),
        "conv" => convolution(&[3, 5], 50),
        "rnn" => Ok(SmallEncoder::Recurrent(RecurrentCell::Tanh)),
        "gru" => Ok(SmallEncoder::Recurrent(RecurrentCell::Gru)),
        _ => Ok(SmallEncoder::Recurrent(RecurrentCell::Lstm)),
    }
}

fn widths_of(fields: &Fields, default: &[usize]) -> Result<Vec<usize>> {
    let Some(given) = fields.get("widths") else { return Ok(default.to_vec()) };
    let width =
        |value: &Value| value.as_u64().map(|width| width as usize).filter(|w| (1..=MOST_LAYERS).contains(w));
    let list: Option<Vec<usize>> = given.as_array().and_then(|list| list.iter().map(width).collect());
    let rising = |list: &Vec<usize>| !list.is_empty() && list.windows(2).all(|pair| pair[0] < pair[1]);
    list.filter(rising).ok_or_else(|| fields.wrong("widths", "rising whole numbers from 1 to 64", given))
}

fn labels(fields: &Fields) -> Result<Vec<String>> {
    let Some(given) = fields.get("labels") else {
        return Err(fault(fields.place(), "'labels' is missing; it is the list of class names"));
    };
    let name = |value: &Value| match value {
        Value::String(name) => Some(name.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let names: Option<Vec<String>> = given.as_array().and_then(|list| list.iter().map(name).collect());
    names.ok_or_else(|| fields.wrong("labels", "a list of names", given))
}

/// What the papers drop: Kim (2014) before the head, Serrano and Smith (2019) before the encoder and the head,
/// and what convolutions find.
fn dropout(kind: &str, encoder: &SmallEncoder) -> Rates {
    let inside = if matches!(encoder, SmallEncoder::Convolution { .. }) { 0.3 } else { 0.0 };
    match kind {
        "kim" => Rates { head: 0.5, ..Rates::default() },
        "flan" => Rates { embedding: 0.44, feed_forward: inside, head: 0.35, ..Rates::default() },
        // Between the levels it is what the attention over words gives that is dropped from.
        "han" => Rates {
            embedding: 0.44,
            attention_out: 0.22,
            feed_forward: inside,
            head: 0.25,
            ..Rates::default()
        },
        _ => Rates::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<SmallConfig> {
        SmallConfig::parse("config.json", text)
    }

    #[test]
    fn defaults_are_the_papers() {
        let width = |text: &str| {
            let config = parse(text).unwrap();
            (config.embedding, config.width(), config.attention_hidden)
        };
        assert_eq!(width(r#"{"kind": "lstm", "labels": ["a", "b"]}"#), (300, 256, 128));
        assert_eq!(
            width(r#"{"kind": "lstm", "labels": ["a", "b"], "directions": 1, "hidden": 7}"#),
            (300, 7, 3)
        );
        assert_eq!(width(r#"{"kind": "none", "labels": ["a", "b"]}"#), (300, 300, 150));
        assert_eq!(width(r#"{"kind": "average", "labels": ["a", "b"]}"#), (300, 128, 64));
        assert_eq!(width(r#"{"kind": "cnn", "labels": ["a", "b"]}"#), (300, 128, 64));
        assert_eq!(width(r#"{"kind": "kim", "labels": ["a", "b"]}"#), (300, 300, 150));
        assert_eq!(width(r#"{"kind": "atae", "labels": ["a", "b"]}"#), (300, 300, 300));
        assert_eq!(width(r#"{"kind": "seq2seq"}"#), (64, 256, 128));
        assert_eq!(parse(r#"{"kind": "seq2seq"}"#).unwrap().attention, SmallAttention::Bahdanau);
        assert_eq!(width(r#"{"kind": "flan", "labels": ["a", "b"]}"#), (200, 100, 100));
        assert_eq!(width(r#"{"kind": "han", "labels": ["a", "b"]}"#), (200, 100, 100));
        assert_eq!(width(r#"{"kind": "han", "encoder": "none", "labels": ["a", "b"]}"#), (200, 200, 200));
        assert_eq!(width(r#"{"kind": "flan", "encoder": "conv", "labels": ["a", "b"]}"#), (200, 100, 100));
    }

    #[test]
    fn errors_say_what_is_wrong() {
        let check = |text: &str, expected: &str| {
            let found = parse(text).unwrap_err().to_string();
            assert!(found.contains(expected) && !found.contains('\n'), "{found:?} does not say {expected:?}");
        };
        check(r#"{"kind": "tree", "labels": ["a", "b"]}"#, "'kind' is 'tree'; known are none, average");
        check(r#"{"kind": "lstm"}"#, "'labels' is missing");
        check(r#"{"kind": "lstm", "labels": ["a"]}"#, "at least two");
        check(r#"{"kind": "lstm", "labels": "ab"}"#, "a list of names");
        check(r#"{"kind": "lstm", "labels": ["a", "b"], "directions": 3}"#, "1 or 2");
        check(r#"{"kind": "lstm", "labels": ["a", "b"], "attention": "sharp"}"#, "'attention' is 'sharp'");
        check(r#"{"kind": "lstm", "labels": ["a", "b"], "encoder": "gru"}"#, "has no choice");
        check(r#"{"kind": "cnn", "labels": ["a", "b"], "layers": 2}"#, "recurrent");
        check(r#"{"kind": "cnn", "labels": ["a", "b"], "widths": [3, 3]}"#, "rising");
        check(r#"{"kind": "kim", "labels": ["a", "b"], "attention": "dot"}"#, "known are none");
        check(r#"{"kind": "gru", "labels": ["a", "b"], "hidden": 0}"#, "at least 1");
        check(r#"{"kind": "han", "labels": ["a", "b"], "head": "pair"}"#, "one text");
        check(r#"{"kind": "han", "labels": ["a", "b"], "attention": "none"}"#, "additive, dot, uniform");
        check(r#"{"kind": "atae", "labels": ["a", "b"], "head": "text"}"#, "a text and an aspect");
        check(r#"{"kind": "atae", "labels": ["a", "b"], "directions": 2}"#, "one direction");
        check(r#"{"kind": "atae", "labels": ["a", "b"], "attention": "dot"}"#, "known are additive");
    }
}
