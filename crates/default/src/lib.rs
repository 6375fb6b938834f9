//! The default model of exegete, a small BERT for English sentiment: the files of its folder as bytes. They have a crate of
//! their own because they alone come near the size that a registry takes; `exegete-models` opens them.

/// Sizes and task, as a Hugging Face `config.json`.
pub const CONFIG: &str = include_str!("../config.json");

/// The word pieces, as a `tokenizer.json` of the tokenizers library.
pub const TOKENIZER: &str = include_str!("../tokenizer.json");

/// The weights in the safetensors format; codes of four and five bits, as `exegete-models` packs them.
pub const WEIGHTS: &[u8] = include_bytes!("../model.safetensors");
