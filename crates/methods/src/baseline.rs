//! What a text is compared with, and the special tokens that stand for nothing.

use exegete_core::{Array, Change, Edit, Encoded, Error, Example, Open, Pick, Result, Row, Token};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// What a text is compared with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Baseline {
    /// Every word vector is zero, those of special tokens included.
    #[default]
    Zero,
    /// The word vectors of the text's own tokens are zero; special tokens keep theirs.
    ZeroContent,
    /// Every token of the text becomes the padding token; special tokens, positions and types stay.
    Pad,
    /// Every token of the text becomes the mask token.
    Mask,
    /// Every word vector is the mean of the vocabulary's.
    Mean,
    /// The tokens of another text, cut or padded to the same length.
    Text(String),
}

impl fmt::Display for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero => f.write_str("zero"),
            Self::ZeroContent => f.write_str("zero-content"),
            Self::Pad => f.write_str("pad"),
            Self::Mask => f.write_str("mask"),
            Self::Mean => f.write_str("mean"),
            Self::Text(text) => write!(f, "text:{text}"),
        }
    }
}

impl FromStr for Baseline {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "zero" => Ok(Self::Zero),
            "zero-content" => Ok(Self::ZeroContent),
            "pad" => Ok(Self::Pad),
            "mask" => Ok(Self::Mask),
            "mean" => Ok(Self::Mean),
            _ => match text.strip_prefix("text:") {
                Some(text) => Ok(Self::Text(text.to_owned())),
                None => Err(Error::Request(format!(
                    "'{text}' is no baseline; one of zero, zero-content, pad, mask, mean, text:…"
                ))),
            },
        }
    }
}

impl Baseline {
    /// The row to compare with: as many tokens as the text.
    pub fn row(&self, open: &dyn Open, encoded: &Arc<Encoded>) -> Result<Row> {
        match self {
            Self::Zero => {
                Ok(Row::new(encoded.clone()).edit(Edit::whole(open.sites().words()?, Change::Zero)))
            }
            Self::ZeroContent => {
                let content = (0..encoded.len()).filter(|&at| !encoded.tokens[at].special).collect();
                let (site, at) = (open.sites().words()?, vec![Pick::Only(content)]);
                Ok(Row::new(encoded.clone()).edit(Edit { site, at, change: Change::Zero }))
            }
            Self::Pad => Ok(Row::new(replaced(encoded, &special(open, &PAD)?))),
            Self::Mask => Ok(Row::new(replaced(encoded, &special(open, &MASK)?))),
            Self::Mean => {
                let words = open.word_embeddings().ok_or_else(|| {
                    Error::Unsupported("this model has no word vectors to take the mean of".into())
                })?;
                let site = open.sites().words()?;
                let tokens = open.sites().get(site)?.shape(encoded).first().copied().unwrap_or(0);
                let edit = Edit::whole(site, Change::Set(mean(&words, tokens)?));
                Ok(Row::new(encoded.clone()).edit(edit))
            }
            Self::Text(text) => {
                let other = open.encode(&Example::text(text.clone()))?;
                let pad = special(open, &PAD)?;
                let mut others = other.tokens.into_iter().filter(|token| !token.special);
                let mut encoded = Encoded::clone(encoded);
                for token in encoded.tokens.iter_mut().filter(|token| !token.special) {
                    let Token { id, piece, .. } = others.next().unwrap_or_else(|| pad.clone());
                    (token.id, token.piece) = (id, piece);
                }
                Ok(Row::new(encoded))
            }
        }
    }
}

/// What families call the padding token.
pub const PAD: [&str; 2] = ["[PAD]", "<pad>"];
/// What families call the mask token.
pub const MASK: [&str; 2] = ["[MASK]", "<mask>"];
/// What families call the unknown token.
pub const UNKNOWN: [&str; 2] = ["[UNK]", "<unk>"];

/// A special token of the model's vocabulary by its usual names.
pub fn special(open: &dyn Open, names: &[&str]) -> Result<Token> {
    let found = names.iter().find_map(|name| Some((name, open.token_id(name)?)));
    let (name, id) =
        found.ok_or_else(|| Error::Unsupported(format!("this model's vocabulary has no {}", names[0])))?;
    Ok(Token { id, type_id: 0, piece: (*name).to_owned(), span: None, special: false, weight: None })
}

fn replaced(encoded: &Encoded, by: &Token) -> Encoded {
    let mut encoded = encoded.clone();
    for token in encoded.tokens.iter_mut().filter(|token| !token.special) {
        (token.id, token.piece) = (by.id, by.piece.clone());
    }
    encoded
}

/// The mean of all word vectors, once a token.
fn mean(words: &Array, tokens: usize) -> Result<Array> {
    let width = words.shape.last().copied().unwrap_or(0).max(1);
    let mut sums = vec![0.0f64; width];
    for row in words.data.chunks_exact(width) {
        sums.iter_mut().zip(row).for_each(|(sum, &x)| *sum += f64::from(x));
    }
    let count = (words.len() / width).max(1) as f64;
    let mean: Vec<f32> = sums.iter().map(|sum| (sum / count) as f32).collect();
    Array::new([tokens, width], mean.repeat(tokens))
}
