//! From text to tokens that point at bytes of the text, over the `tokenizers` crate.
//!
//! 1. [`Tokenizer::open`] finds `tokenizer.json`, or the older `vocab.txt`, or `vocab.json` with `merges.txt`.
//! 2. [`Tokenizer::encode`] splits each field, cuts what exceeds the model's length and says so, then lets the
//!    post-processor add the special tokens.
//!
//! Offsets are the library's own, in bytes. Where a pre-tokenizer counts the space before a word as part of its token
//! (a Metaspace without a whitespace split before it), the span includes that space.

mod files;
mod length;
mod settings;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use words::{END, START};
pub use words::{MARKERS, TARGET_VOCABULARY_FILE, VOCABULARY_FILE, WordTokenizer, WordVocabulary};

use crate::config::Config;
use crate::fault::fault;
use exegete_core::{Encoded, Error, Example, Field, Result, Span, Token};
use files::FoundTokenizer;
use length::Cut;
use settings::TokenizerSettings;
use std::path::Path;
use tokenizers::tokenizer::{Encoding, Model, OffsetType, PostProcessor, PreTokenizer};

/// What every tokenizer does, whatever its tokens are.
pub trait Tokenize: Send + Sync {
    /// The tokens of an example with the bytes they came from, cut to at most this many.
    fn encode_within(&self, example: &Example, max_tokens: usize) -> Result<Encoded>;

    /// The longest input in tokens, special ones included.
    fn max_tokens(&self) -> usize;

    /// The number of a vocabulary string.
    fn token_id(&self, piece: &str) -> Option<u32>;

    /// The vocabulary string of a number.
    fn piece(&self, id: u32) -> Option<String>;

    /// The id of a word that the model may write.
    fn output_id(&self, piece: &str) -> Option<u32> {
        self.token_id(piece)
    }

    /// The word that the model may write under an id.
    fn output_piece(&self, id: u32) -> Option<String> {
        self.piece(id)
    }

    /// The token that stands for a hidden word, where there is one.
    fn mask_id(&self) -> Option<u32> {
        None
    }
}

/// What a model for one text says of a pair.
fn one_text() -> Error {
    Error::Input("this model reads one text, and a pair is given; leave the second text out".into())
}

impl Tokenize for Tokenizer {
    fn encode_within(&self, example: &Example, max_tokens: usize) -> Result<Encoded> {
        Self::encode_within(self, example, max_tokens)
    }

    fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    fn token_id(&self, piece: &str) -> Option<u32> {
        Self::token_id(self, piece)
    }

    fn piece(&self, id: u32) -> Option<String> {
        Self::piece(self, id)
    }

    fn mask_id(&self) -> Option<u32> {
        self.mask
    }
}

/// The tokenizer of one model.
#[derive(Debug)]
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    /// The file it came from, for messages.
    place: String,
    vocab_size: usize,
    /// Rows of the model's token-type matrix.
    kinds: usize,
    max_tokens: usize,
    /// Whether the model was made for one text, and a second says nothing to it.
    one_text: bool,
    cut: Cut,
    mask: Option<u32>,
    pad: Option<u32>,
    unk: Option<u32>,
}

impl Tokenizer {
    /// Opens the tokenizer of a model folder and checks that it fits the model.
    pub fn open(dir: &Path, config: &Config) -> Result<Self> {
        let settings = TokenizerSettings::read(dir)?;
        Self::new(files::open(dir, &settings)?, &settings, config)
    }

    /// A tokenizer from the text of a `tokenizer.json`, which messages call `place`.
    pub(crate) fn from_json(place: &str, text: &str, config: &Config) -> Result<Self> {
        let found = FoundTokenizer { inner: files::whole(place, text)?, place: place.to_owned() };
        Self::new(found, &TokenizerSettings::default(), config)
    }

    fn new(found: FoundTokenizer, settings: &TokenizerSettings, config: &Config) -> Result<Self> {
        let FoundTokenizer { inner, place } = found;
        let token = |names: &[&str]| names.iter().find_map(|name| inner.token_to_id(name));
        let question = config.task().is_ok_and(|task| task.needs_pair());
        let tokenizer = Self {
            mask: token(&[&settings.mask, "[MASK]", "<mask>"]),
            pad: token(&[&settings.pad, "[PAD]", "<pad>"]),
            unk: token(&[&settings.unk, "[UNK]", "<unk>"]),
            vocab_size: config.vocab_size,
            kinds: config.type_vocab_size,
            max_tokens: config.max_tokens().min(settings.max_tokens),
            one_text: config.text_fields == Some(1),
            cut: if question { Cut::Second } else { Cut::Longest },
            inner,
            place,
        };
        tokenizer.check_vocabulary()?;
        Ok(tokenizer)
    }

    /// The tokens of an example with the bytes they came from.
    pub fn encode(&self, example: &Example) -> Result<Encoded> {
        self.encode_within(example, self.max_tokens)
    }

    /// The same, cut to fewer tokens than the model reads.
    pub fn encode_within(&self, example: &Example, max_tokens: usize) -> Result<Encoded> {
        example.check_unweighted()?;
        let pair = match example.fields.len() {
            1 => false,
            2 if self.one_text => return Err(one_text()),
            2 => true,
            0 => return Err(Error::Input("there is no text".into())),
            n => {
                return Err(Error::Input(format!(
                    "an example of {n} fields; a model reads one text or a pair"
                )));
            }
        };
        let split = |(kind, field): (u32, &Field)| self.split(field, kind, pair);
        let mut parts: Vec<Encoding> = (0..).zip(&example.fields).map(split).collect::<Result<_>>()?;
        let truncated = self.truncate(&mut parts, max_tokens.min(self.max_tokens))?;
        let second = if pair { parts.pop() } else { None };
        let first = parts.pop().unwrap_or_default();
        let whole = self.inner.post_process(first, second, true).map_err(|e| self.failed(&e))?;
        Ok(Encoded {
            tokens: self.tokens(&whole, &example.fields)?,
            fields: example.fields.clone(),
            truncated,
        })
    }

    /// The longest input in tokens, special ones included.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// The number of a vocabulary string.
    pub fn token_id(&self, piece: &str) -> Option<u32> {
        self.inner.token_to_id(piece)
    }

    /// The vocabulary string of a number.
    pub fn piece(&self, id: u32) -> Option<String> {
        self.inner.id_to_token(id)
    }

    /// The token that stands for a hidden word.
    pub fn mask_id(&self) -> Option<u32> {
        self.mask
    }

    /// The token that fills up batches elsewhere.
    pub fn pad_id(&self) -> Option<u32> {
        self.pad
    }

    /// The token that stands for words outside the vocabulary.
    pub fn unk_id(&self) -> Option<u32> {
        self.unk
    }

    /// One field without special tokens.
    ///
    /// These are the library's own steps, taken apart because its truncation would come after a post-processing that
    /// builds every overflowing window, in a pair every pair of windows.
    fn split(&self, field: &Field, kind: u32, pair: bool) -> Result<Encoding> {
        let added = self.inner.get_added_vocabulary();
        let mut text = added.extract_and_normalize(self.inner.get_normalizer(), &field.text);
        if let Some(splitter) = self.inner.get_pre_tokenizer() {
            splitter.pre_tokenize(&mut text).map_err(|e| self.failed(&e))?;
        }
        let model = self.inner.get_model();
        text.tokenize(|word| model.tokenize(word.get())).map_err(|e| self.failed(&e))?;
        let encoding = text.into_encoding(None, kind, OffsetType::Byte).map_err(|e| self.failed(&e))?;
        if encoding.is_empty() {
            let name = if pair { &field.name } else { "text" };
            return Err(Error::Input(format!("the {name} is empty")));
        }
        Ok(encoding)
    }

    /// Cuts the parts so that they fit together with the special tokens; true when something was lost.
    fn truncate(&self, parts: &mut [Encoding], max: usize) -> Result<bool> {
        let pair = parts.len() == 2;
        let added = self.inner.get_post_processor().map_or(0, |p| p.added_tokens(pair));
        let room = max.saturating_sub(added);
        if room < parts.len() {
            let count = parts.len();
            return Err(fault(
                &self.place,
                format!("{added} of {max} tokens are special, which leaves no room for {count} texts"),
            ));
        }
        let lengths: Vec<usize> = parts.iter().map(Encoding::len).collect();
        let kept = self.cut.lengths(&lengths, room)?;
        for (part, &length) in parts.iter_mut().zip(&kept) {
            if length < part.len() {
                *part = head(part, length);
            }
        }
        Ok(kept != lengths)
    }

    fn tokens(&self, encoding: &Encoding, fields: &[Field]) -> Result<Vec<Token>> {
        let places = encoding.get_sequence_ids();
        let special = encoding.get_special_tokens_mask();
        let token = |at: usize| {
            let id = encoding.get_ids()[at];
            let field = places[at].filter(|&f| special[at] == 0 && f < fields.len());
            let span = field.map(|field| span(field, &fields[field].text, encoding.get_offsets()[at]));
            let piece = self.inner.id_to_token(id).unwrap_or_else(|| encoding.get_tokens()[at].clone());
            Ok(Token {
                id: self.check_id(id)?,
                type_id: self.kind(encoding.get_type_ids()[at])?,
                piece,
                span,
                special: span.is_none(),
                weight: None,
            })
        };
        (0..encoding.len()).map(token).collect()
    }

    /// Families without token types ignore what the post-processor says, as transformers does.
    fn kind(&self, kind: u32) -> Result<u32> {
        match self.kinds {
            0 | 1 => Ok(0),
            kinds if (kind as usize) < kinds => Ok(kind),
            kinds => Err(fault(&self.place, format!("gives token type {kind}, the model has only {kinds}"))),
        }
    }

    fn check_id(&self, id: u32) -> Result<u32> {
        if (id as usize) < self.vocab_size { Ok(id) } else { Err(self.too_large(id)) }
    }

    /// The count and the added tokens show nearly every mismatch at once; `encode` checks each number as well, which
    /// covers vocabularies with holes without walking through 250,000 entries here.
    fn check_vocabulary(&self) -> Result<()> {
        let largest = self.inner.get_added_vocabulary().get_added_tokens_decoder().keys().max().copied();
        let count = self.inner.get_vocab_size(true);
        let last = u32::try_from(count.saturating_sub(1)).unwrap_or(u32::MAX);
        let largest = largest.unwrap_or(0).max(last);
        if (largest as usize) < self.vocab_size { Ok(()) } else { Err(self.too_large(largest)) }
    }

    fn too_large(&self, id: u32) -> Error {
        let size = self.vocab_size;
        let what = format!(
            "token number {id} is beyond the model's vocabulary of {size}; does this tokenizer belong to the model?"
        );
        fault(&self.place, what)
    }

    fn failed(&self, error: &tokenizers::Error) -> Error {
        fault(&self.place, format!("cannot split the text: {error}"))
    }
}

/// The first tokens of an encoding. The library's own `truncate` also builds every window that overflows.
fn head(part: &Encoding, length: usize) -> Encoding {
    Encoding::new(
        part.get_ids()[..length].to_vec(),
        part.get_type_ids()[..length].to_vec(),
        part.get_tokens()[..length].to_vec(),
        part.get_word_ids()[..length].to_vec(),
        part.get_offsets()[..length].to_vec(),
        part.get_special_tokens_mask()[..length].to_vec(),
        part.get_attention_mask()[..length].to_vec(),
        Vec::new(),
        Default::default(),
    )
}

/// A byte-level token can be part of a character; its span is then the whole character.
fn span(field: usize, text: &str, (start, end): (usize, usize)) -> Span {
    let mut start = start.min(text.len());
    let mut end = end.clamp(start, text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    while !text.is_char_boundary(end) {
        end += 1;
    }
    Span { field, start, end }
}
