//! What `tokenizer_config.json` and `special_tokens_map.json` say beside the vocabulary. Both may be missing.

use crate::config::Fields;
use crate::fault::read_text;
use exegete_core::Result;
use serde_json::Value;
use std::path::Path;

/// How a tokenizer is set, with transformers' defaults filled in; token names are empty where no file gives one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TokenizerSettings {
    pub(super) lower_case: bool,
    /// None follows `lower_case`, as BERT does.
    pub(super) strip_accents: Option<bool>,
    pub(super) chinese_chars: bool,
    pub(super) prefix_space: bool,
    /// Unlimited where the file gives none, or transformers' 1e30.
    pub(super) max_tokens: usize,
    pub(super) mask: String,
    pub(super) pad: String,
    pub(super) unk: String,
    pub(super) cls: String,
    pub(super) sep: String,
}

impl TokenizerSettings {
    pub(super) fn read(dir: &Path) -> Result<Self> {
        let config = optional(&dir.join("tokenizer_config.json"))?;
        let map = optional(&dir.join("special_tokens_map.json"))?;
        let token = |key: &str| {
            let named = |fields: &Fields| fields.get(key).and_then(token_name);
            named(&config).or_else(|| named(&map)).unwrap_or_default()
        };
        let accents = config.get("strip_accents").is_some();
        Ok(Self {
            lower_case: config.flag_or("do_lower_case", true)?,
            strip_accents: if accents { Some(config.flag_or("strip_accents", false)?) } else { None },
            chinese_chars: config.flag_or("tokenize_chinese_chars", true)?,
            prefix_space: config.flag_or("add_prefix_space", false)?,
            max_tokens: max_tokens(&config),
            mask: token("mask_token"),
            pad: token("pad_token"),
            unk: token("unk_token"),
            cls: token("cls_token"),
            sep: token("sep_token"),
        })
    }
}

impl Default for TokenizerSettings {
    /// What transformers assumes where no file says anything.
    fn default() -> Self {
        Self {
            lower_case: true,
            strip_accents: None,
            chinese_chars: true,
            prefix_space: false,
            max_tokens: usize::MAX,
            mask: String::new(),
            pad: String::new(),
            unk: String::new(),
            cls: String::new(),
            sep: String::new(),
        }
    }
}

fn optional(path: &Path) -> Result<Fields> {
    if path.exists() {
        Fields::parse(&path.display().to_string(), &read_text(path)?)
    } else {
        Fields::parse("", "{}")
    }
}

/// A token is written as a text or as an object with its `content`.
fn token_name(value: &Value) -> Option<String> {
    value.as_str().or_else(|| value.get("content")?.as_str()).map(str::to_owned)
}

/// Zero and less are as senseless as 1e30.
fn max_tokens(config: &Fields) -> usize {
    let given = config.get("model_max_length").and_then(Value::as_f64).filter(|&n| n >= 1.0);
    given.map_or(usize::MAX, |n| n as usize)
}
