//! The three shapes in which a tokenizer is stored.

use super::settings::TokenizerSettings;
use crate::fault::{fault, read_text};
use exegete_core::{Error, Result};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::path::Path;
use tokenizers::models::bpe::BPE;
use tokenizers::models::unigram::Unigram;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::processors::bert::BertProcessing;
use tokenizers::processors::roberta::RobertaProcessing;
use tokenizers::{
    AddedToken, ModelWrapper, NormalizerWrapper, PostProcessorWrapper, PreTokenizerWrapper, Tokenizer,
};

/// A tokenizer and the file it came from.
pub(super) struct FoundTokenizer {
    pub(super) inner: Tokenizer,
    pub(super) place: String,
}

/// Opens whichever files are there, the newest shape first.
pub(super) fn open(dir: &Path, settings: &TokenizerSettings) -> Result<FoundTokenizer> {
    let has = |name: &str| dir.join(name).exists();
    let (name, inner) = if has("tokenizer.json") {
        let path = dir.join("tokenizer.json");
        ("tokenizer.json", whole(&path.display().to_string(), &read_text(&path)?)?)
    } else if has("vocab.txt") {
        ("vocab.txt", word_piece(dir, settings)?)
    } else if has("vocab.json") && has("merges.txt") {
        ("vocab.json", byte_level(dir, settings)?)
    } else {
        return Err(none(dir));
    };
    Ok(FoundTokenizer { inner, place: dir.join(name).display().to_string() })
}

fn none(dir: &Path) -> Error {
    let place = dir.display();
    let models = ["spiece.model", "sentencepiece.bpe.model", "sentencepiece.model", "spm.model"];
    match models.iter().find(|name| dir.join(name).exists()) {
        Some(found) => fault(
            &place,
            format!(
                "the tokenizer is only there as '{found}', which is not read; convert it with: python -c \"from \
                 transformers import AutoTokenizer as A; A.from_pretrained('{place}').save_pretrained('{place}')\""
            ),
        ),
        None => fault(
            place,
            "holds no tokenizer: looked for tokenizer.json, vocab.txt, and vocab.json with merges.txt",
        ),
    }
}

/// `tokenizer.json` without its decoder, truncation and padding, which are not ours to use.
///
/// The model is kept as raw text: the library's own reader copies it twice through a generic value to learn its type,
/// which is most of the time it takes to open a tokenizer.
#[derive(Deserialize)]
struct File<'a> {
    #[serde(default)]
    added_tokens: Vec<Added>,
    normalizer: Option<NormalizerWrapper>,
    pre_tokenizer: Option<PreTokenizerWrapper>,
    post_processor: Option<PostProcessorWrapper>,
    #[serde(borrow)]
    model: &'a RawValue,
}

#[derive(Deserialize)]
struct Added {
    id: u32,
    #[serde(flatten)]
    token: AddedToken,
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    name: Option<String>,
}

pub(super) fn whole(place: &str, text: &str) -> Result<Tokenizer> {
    let broken =
        |e: &dyn std::fmt::Display| fault(place, format!("is no valid tokenizer ({e}); download it again"));
    let file: File<'_> = serde_json::from_str(text).map_err(|e| broken(&e))?;
    let mut tokenizer = Tokenizer::new(model(file.model).map_err(|e| broken(&e))?);
    tokenizer.with_normalizer(file.normalizer).map_err(|e| broken(&e))?;
    tokenizer.with_pre_tokenizer(file.pre_tokenizer);
    tokenizer.with_post_processor(file.post_processor);
    tokenizer
        .add_tokens(file.added_tokens.iter().map(|added| added.token.clone()))
        .map_err(|e| broken(&e))?;
    for Added { id, token } in &file.added_tokens {
        // The library numbers added tokens itself and only logs a difference, which would shift every embedding.
        if !token.content.is_empty() && tokenizer.token_to_id(&token.content) != Some(*id) {
            let what =
                format!("added token '{}' says number {id}, which the vocabulary contradicts", token.content);
            return Err(fault(place, what));
        }
    }
    Ok(tokenizer)
}

fn model(raw: &RawValue) -> serde_json::Result<ModelWrapper> {
    let text = raw.get();
    let kind: Kind = serde_json::from_str(text)?;
    match kind.name.as_deref() {
        Some("WordPiece") => serde_json::from_str::<WordPiece>(text).map(Into::into),
        Some("BPE") => serde_json::from_str::<BPE>(text).map(Into::into),
        Some("Unigram") => serde_json::from_str::<Unigram>(text).map(Into::into),
        _ => serde_json::from_str(text),
    }
}

/// BERT's vocabulary, one piece a line, with what `BertTokenizer` builds around it.
fn word_piece(dir: &Path, settings: &TokenizerSettings) -> Result<Tokenizer> {
    let path = dir.join("vocab.txt");
    let place = path.display();
    let failed =
        |e: tokenizers::Error| fault(&place, format!("is no valid vocabulary ({e}); download it again"));
    let names = Names::new(settings, ["[CLS]", "[SEP]", "[UNK]", "[PAD]", "[MASK]"]);
    let vocab = WordPiece::read_bytes(read_text(&path)?.as_bytes()).map_err(failed)?;
    let model = WordPiece::builder().vocab(vocab).unk_token(names.unk.clone()).build().map_err(failed)?;
    let mut tokenizer = Tokenizer::new(model);
    let &TokenizerSettings { lower_case, strip_accents, chinese_chars, .. } = settings;
    let normalizer = BertNormalizer::new(true, chinese_chars, strip_accents, lower_case);
    tokenizer.with_normalizer(Some(normalizer)).map_err(failed)?;
    tokenizer.with_pre_tokenizer(Some(BertPreTokenizer));
    let (cls, sep) = names.ends(&tokenizer, &path)?;
    tokenizer.with_post_processor(Some(BertProcessing::new(sep, cls)));
    let special = names.present(&tokenizer, false);
    add(tokenizer, dir, special)
}

/// RoBERTa's byte-level vocabulary and merges, with what `RobertaTokenizer` builds around them.
fn byte_level(dir: &Path, settings: &TokenizerSettings) -> Result<Tokenizer> {
    let (vocab_path, merges_path) = (dir.join("vocab.json"), dir.join("merges.txt"));
    let place = vocab_path.display();
    let failed = |e: tokenizers::Error| {
        fault(&place, format!("cannot be used with merges.txt ({e}); download both again"))
    };
    let names = Names::new(settings, ["<s>", "</s>", "<unk>", "<pad>", "<mask>"]);
    let read = BPE::read_file(&vocab_path.to_string_lossy(), &merges_path.to_string_lossy());
    let (vocab, merges) = read.map_err(failed)?;
    let mut tokenizer =
        Tokenizer::new(BPE::builder().vocab_and_merges(vocab, merges).build().map_err(failed)?);
    let prefix = settings.prefix_space;
    tokenizer.with_pre_tokenizer(Some(ByteLevel::new(prefix, true, true)));
    let (cls, sep) = names.ends(&tokenizer, &vocab_path)?;
    let processor = RobertaProcessing::new(sep, cls).trim_offsets(true).add_prefix_space(prefix);
    tokenizer.with_post_processor(Some(processor));
    let special = names.present(&tokenizer, true);
    add(tokenizer, dir, special)
}

/// The special tokens of an older tokenizer, by the settings or else by the family's habit.
struct Names {
    cls: String,
    sep: String,
    unk: String,
    pad: String,
    mask: String,
}

impl Names {
    fn new(settings: &TokenizerSettings, [cls, sep, unk, pad, mask]: [&str; 5]) -> Self {
        let or =
            |given: &String, habit: &str| if given.is_empty() { habit.to_owned() } else { given.clone() };
        Self {
            cls: or(&settings.cls, cls),
            sep: or(&settings.sep, sep),
            unk: or(&settings.unk, unk),
            pad: or(&settings.pad, pad),
            mask: or(&settings.mask, mask),
        }
    }

    /// The tokens before and after a text, with their numbers.
    fn ends(&self, tokenizer: &Tokenizer, path: &Path) -> Result<((String, u32), (String, u32))> {
        let numbered = |name: &str| {
            let missing =
                || fault(path.display(), format!("lacks the special token '{name}'; is it the model's own?"));
            tokenizer.token_to_id(name).map(|id| (name.to_owned(), id)).ok_or_else(missing)
        };
        Ok((numbered(&self.cls)?, numbered(&self.sep)?))
    }

    /// Those in the vocabulary; the mask of byte-level tokenizers swallows the space before it.
    fn present(&self, tokenizer: &Tokenizer, mask_strips: bool) -> Vec<AddedToken> {
        let known = |name: &&String| tokenizer.token_to_id(name).is_some();
        let names = [&self.cls, &self.sep, &self.unk, &self.pad, &self.mask];
        let token =
            |name: &String| AddedToken::from(name.clone(), true).lstrip(mask_strips && *name == self.mask);
        names.into_iter().filter(known).map(token).collect()
    }
}

/// Adds the special tokens and those of `added_tokens.json`.
fn add(mut tokenizer: Tokenizer, dir: &Path, special: Vec<AddedToken>) -> Result<Tokenizer> {
    let path = dir.join("added_tokens.json");
    let broken =
        |e: &dyn std::fmt::Display| fault(path.display(), format!("cannot be used ({e}); download it again"));
    tokenizer.add_special_tokens(special).map_err(|e| broken(&e))?;
    if !path.exists() {
        return Ok(tokenizer);
    }
    let listed: BTreeMap<String, u32> = serde_json::from_str(&read_text(&path)?).map_err(|e| broken(&e))?;
    let by_number: BTreeMap<u32, String> = listed.into_iter().map(|(name, id)| (id, name)).collect();
    for (id, name) in by_number {
        if tokenizer.token_to_id(&name).is_none() {
            tokenizer.add_tokens([AddedToken::from(name.clone(), false)]).map_err(|e| broken(&e))?;
        }
        if tokenizer.token_to_id(&name) != Some(id) {
            return Err(broken(&format!("'{name}' says number {id}, which the vocabulary contradicts")));
        }
    }
    Ok(tokenizer)
}
