//! The model that is part of the program: the README of `exegete-default` says what it is and how well it does.

use crate::assemble::{Assembly, assemble};
use crate::blueprint::Blueprint;
use crate::checkpoint::Checkpoint;
use crate::config::Config;
use crate::opened::Opened;
use crate::tokenizer::Tokenize;
use exegete_core::Result;
use exegete_default::{CONFIG, TOKENIZER, WEIGHTS};
use exegete_engine::Real;
use std::sync::Arc;

/// What the user calls it.
pub const DEFAULT: &str = "default";

/// The config of the default model.
pub(crate) fn config() -> Result<Config> {
    Config::parse(CONFIG)
}

/// Its tokenizer, for a head that may be another than its own.
pub(crate) fn tokenizer(blueprint: &Blueprint) -> Result<Arc<dyn Tokenize>> {
    blueprint.tokenizer_from_json("default model", TOKENIZER)
}

/// The files of its folder beside config and weights.
pub(crate) fn companions() -> Vec<(String, Vec<u8>)> {
    let settings = br#"{"tokenizer_class": "BertTokenizer", "do_lower_case": true, "model_max_length": 512}"#;
    let files = [("tokenizer.json", TOKENIZER.as_bytes()), ("tokenizer_config.json", settings)];
    files.map(|(name, bytes)| (name.to_owned(), bytes.to_vec())).to_vec()
}

/// The weights of the default model.
pub(crate) fn checkpoint() -> Result<Checkpoint> {
    Checkpoint::from_program("default model", WEIGHTS)
}

/// Opens the default model with this many threads.
pub(crate) fn open<T: Real>(threads: usize) -> Result<Opened<T>> {
    let blueprint = Blueprint::Encoder(config()?);
    let tokenizer = Some(tokenizer(&blueprint)?);
    let checkpoint = checkpoint()?;
    let fingerprint = checkpoint.fingerprint(blueprint.source().as_bytes());
    let (name, place) = (DEFAULT.to_owned(), "default model".to_owned());
    assemble(&checkpoint, Assembly { name, place, blueprint, tokenizer, fingerprint, threads })
}
